"""From when to when each stretch of memory of a recording is there: as it ran, and as a compiler would have it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.memory.estimate.layers.tape import Operation, Recording, Storage


@dataclass(frozen=True, slots=True)
class Life:
    """A storage is there while the operations from `born` to `last` run, both among them."""

    storage: int
    born: int
    last: int


@dataclass(frozen=True, slots=True)
class Lives:
    """All that is there at some time."""

    lives: tuple[Life, ...]
    boundary: int
    """How many operations the forward pass has."""
    end: int
    """How many there are in all."""


def as_it_ran(recording: Recording) -> Lives:
    """Every tensor that eager execution makes, until nobody holds it any more."""
    end = len(recording.operations)
    lives = [_as_held(number, storage, end) for number, storage in enumerate(recording.storages)]
    return Lives(tuple(lives), recording.boundary, end)


def as_compiled(recording: Recording) -> Lives:
    """What a compiler leaves of it.

    Operations that it fuses leave nothing in memory but what a kernel of another kind reads, a sum, or a result of the
    graph; what lies between is computed once more from there where it is wanted, in the backward pass too. So a tensor
    is there until its last reader or, where that leaves nothing itself, until the last reader of what comes of it. A
    fused operation writes over none of its inputs, and the products that make gradients of weights come behind it.
    Gradients that are made from the same tensor are made together.

    Until the end of the backward pass there are: the gradients of weights, which are handed out together; the gradient
    that comes in, which autograd holds; and the gradients that the sums over tokens read which make those of norms,
    since these sums come last.

    Held against the graphs that torch 2.13 makes (tests/memory/estimate/layers), against what compiled layers keep and
    what is there at a step's highest moment on an H200 (docs/performance/layers.json, and `allocations_gib` of
    h200.json).
    """
    end = len(recording.operations)
    graph = _Graph(recording)
    together = graph.gradients_made_together(recording.incoming)
    last = graph.last_reads(together)
    last[recording.output] = recording.boundary - 1
    summed = graph.gradients_summed(recording.vector_gradients, recording.incoming)
    for number in (*recording.gradients, recording.incoming, *summed):
        last[number] = end - 1
    for number, until in graph.read_by_products_of_weights(recording.gradients):
        last[number] = max(last[number], until)
    lives = []
    for number, storage in enumerate(recording.storages):
        if storage.is_inside:
            lives.append(_as_held(number, storage, end))
        elif number in graph.in_memory:
            born = together.get(number, storage.born)
            lives.append(Life(number, born, max(last[number], storage.born)))
    return Lives(tuple(lives), recording.boundary, end)


def _as_held(number: int, storage: Storage, end: int) -> Life:
    return Life(number, storage.born, (end if storage.died is None else storage.died) - 1)


class _Graph:
    """A recording after fusion."""

    def __init__(self, recording: Recording) -> None:
        self._operations = recording.operations
        self.in_memory = self._found_in_memory((*recording.gradients, recording.input, recording.output))
        self._born = {number: storage.born for number, storage in enumerate(recording.storages)}
        self._writer: dict[int, Operation] = {}
        """The operation that made each storage."""
        for operation in self._operations:
            for number in operation.writes:
                self._writer.setdefault(number, operation)

    def last_reads(self, made: Mapping[int, int]) -> dict[int, int]:
        """For each storage the last operation that wants it, directly or for something that is not in memory.

        `made` says of storages that come earlier than their own operation at which one they do.
        """
        last: dict[int, int] = defaultdict(lambda: -1)
        for position, operation in reversed(list(enumerate(self._operations))):
            new = set(operation.writes) - set(operation.reads)
            wanted = [made.get(number, position) if number in self.in_memory else last[number] for number in new]
            for number in operation.reads:
                last[number] = max(last[number], *wanted) if wanted else max(last[number], position)
        return last

    def gradients_summed(self, results: Iterable[int], incoming: int) -> set[int]:
        """What is in memory, comes of the `incoming` gradient, and is read by the last sums on the way to `results`."""
        found: set[int] = set()
        for number in results:
            for total in self._sums_behind(number):
                found.update(*map(self._sources, total.reads))
        return found & self._what_comes_of(incoming)

    def read_by_products_of_weights(self, gradients: Collection[int]) -> Iterator[tuple[int, int]]:
        """What such products read, and the last operation before the next kernel of another kind."""
        until = len(self._operations) - 1
        for position, operation in reversed(list(enumerate(self._operations))):
            if operation.is_fusible:
                continue
            if not set(operation.writes) <= set(gradients) or not operation.writes:
                until = position - 1
                continue
            for number in operation.reads:
                yield number, until

    def gradients_made_together(self, incoming: int) -> dict[int, int]:
        """Of gradients by fused operations: the operation that makes them, an earlier one than their own where that
        reads something that they are made from too, and all else that they are made from is there."""
        made: dict[int, int] = {}
        kernels: list[tuple[int, set[int]]] = []
        for number in sorted(self._what_comes_of(incoming) & self.in_memory):
            writer = self._writer[number]
            if not writer.is_fusible or writer.is_reduction:
                continue
            sources = set().union(*map(self._sources, writer.reads))
            own = self._born[number]
            ready = max((made.get(source, self._born.get(source, 0)) for source in sources), default=own)
            earlier = (at for at, read in kernels if ready < at < own and not read.isdisjoint(sources))
            made[number] = next(earlier, own)
            kernels.append((made[number], sources))
        return made

    def _what_comes_of(self, number: int) -> set[int]:
        found = {number}
        for operation in self._operations:
            if not found.isdisjoint(operation.reads):
                found.update(operation.writes)
        return found

    def _found_in_memory(self, results: Iterable[int]) -> set[int]:
        found = set(results)
        read = {number for operation in self._operations for number in operation.reads}
        for operation in self._operations:
            found.update(number for number in operation.writes if number not in read)  # for whoever is outside
            if not operation.is_fusible:
                found.update(operation.reads)
            if not operation.is_fusible or operation.is_reduction:
                found.update(operation.writes)
        return found

    def _sums_behind(self, number: int) -> Iterator[Operation]:
        writer = self._writer.get(number)
        if writer is None or not writer.is_fusible:
            return
        if writer.is_reduction:
            yield writer
            return
        for read in writer.reads:
            yield from self._sums_behind(read)

    def _sources(self, number: int) -> set[int]:
        """The storages in memory that this one is computed from, or itself."""
        if number in self.in_memory or number not in self._writer:
            return {number}
        return set().union(*map(self._sources, self._writer[number].reads))
