"""What one update holds in memory, refuses, and never waits for."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from engine.optim.movement import watched

NAMES = ["lion8bit", "adamw8bit", "lion", "adamw"]
WAITING = {"_local_scalar_dense", "nonzero", "item", "is_nonzero", "equal"}


class NeverWaits(TorchDispatchMode):
    """Fails at each operation that would make the host wait for a GPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert func._schema.name.split("::")[1] not in WAITING, func
        return func(*args, **(kwargs or {}))


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of storages made inside and still alive; `peak` is their most. Blind inside bitsandbytes."""

    def __init__(self, known: list[torch.Tensor]) -> None:
        super().__init__()
        self._known = {tensor.untyped_storage().data_ptr() for tensor in known}
        self._alive: dict[int, int] = {}
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_flatten(result)[0]:
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return result

    def _count(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if storage.data_ptr() not in self._known and key not in self._alive:
            self._alive[key] = storage.nbytes()
            weakref.finalize(storage, self._alive.pop, key, None)
        self.peak = max(self.peak, sum(self._alive.values()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("on_sphere", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_refused_update_leaves_every_bit(
    name: str, on_sphere: bool, dtype: torch.dtype, make: Any, gradient_of: Any
) -> None:
    start = (gradient_of(0, (48, 96)) + 0.01).to(dtype)
    optimizers = [make(start, optimizer=name, on_sphere=on_sphere, slice_size=1024) for _ in range(2)]
    bad = gradient_of(3, (48, 96))
    bad[5, 5:9] = torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0])
    for ours, optimizer in optimizers:
        is_checked = ours is optimizers[0][0]
        optimizer.allocate_state()
        if is_checked:
            optimizer.begin_step(1, 1e-4)
            optimizer.update(ours, bad, keep=torch.tensor(False))
            assert optimizer.movement().tolist() == [0.0, 0.0]
        for step in (2, 3):
            optimizer.begin_step(step, 1e-4)
            optimizer.update(ours, gradient_of(step, (48, 96)), keep=torch.tensor(True) if is_checked else None)
        if is_checked:
            optimizer.begin_step(4, 1e-4)
            optimizer.update(ours, bad, keep=torch.tensor(False))

    (ours, optimizer), (expected, other) = optimizers
    assert torch.equal(ours, expected)
    states = optimizer.state_dict()["state"][0], other.state_dict()["state"][0]
    assert states[0].keys() == states[1].keys()
    for key, value in states[1].items():
        assert torch.equal(torch.as_tensor(states[0][key]), torch.as_tensor(value)), key


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("on_sphere", [False, True])
def test_an_update_never_waits_for_the_device(name: str, on_sphere: bool, make: Any, gradient_of: Any) -> None:
    ours, optimizer = make(gradient_of(0, (48, 96)).bfloat16(), optimizer=name, on_sphere=on_sphere)
    keep = torch.tensor(True)
    with NeverWaits():
        for step in (1, 2):
            optimizer.update(ours, gradient_of(step, (48, 96)), keep=keep)
            optimizer.movement()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("on_sphere", [False, True])
def test_an_update_holds_slices_and_at_most_one_float32_matrix(
    name: str, on_sphere: bool, make: Any, gradient_of: Any
) -> None:
    size, slice_size = 2**21, 2**14
    ours, optimizer = make(gradient_of(0, (1024, 2048)).bfloat16(), optimizer=name, on_sphere=on_sphere)
    optimizer._slice_size = slice_size
    gradient = gradient_of(1, (1024, 2048), torch.bfloat16)
    optimizer.allocate_state()
    held = [ours, gradient, *(v for v in optimizer.state[ours].values() if isinstance(v, torch.Tensor))]
    optimizer.begin_step(1, 1e-4)
    with LiveBytes([*held, optimizer.movement()]) as live:
        optimizer.update(ours, gradient, keep=torch.tensor(True))

    slices = (live.peak - (4 * size if on_sphere else 0)) / (4 * slice_size)
    assert 0 < slices <= 8  # copies of weights, gradient and state, bits, rounding; the rules are only given slices


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kept", [None, True])
def test_a_step_in_parts_is_the_whole_and_counts_once(
    name: str, kept: bool | None, make: Any, gradient_of: Any
) -> None:
    start = gradient_of(0, (72, 96)).bfloat16()
    (whole, one), (parts, other) = (make(start, optimizer=name, stochastic_rounding=True) for _ in range(2))
    keep = None if kept is None else torch.tensor(kept)
    for step in (1, 2, 3):
        gradient = gradient_of(step, (72, 96))
        for optimizer in (one, other):
            optimizer.begin_step(step, 1e-3)
        one.update(whole, gradient, keep)
        for begin in range(0, gradient.numel(), 24 * 96):
            other.update(parts, gradient.view(-1)[begin : begin + 24 * 96].view(24, 96), keep, begin=begin)
        assert other.movement().tolist() == pytest.approx(one.movement().tolist(), rel=1e-9)
    assert torch.equal(whole, parts)
    states = one.state_dict()["state"][0], other.state_dict()["state"][0]
    for key, value in states[0].items():
        assert torch.equal(torch.as_tensor(states[1][key]), torch.as_tensor(value)), key


def test_how_tensors_are_moved_is_told(make: Any, gradient_of: Any) -> None:
    described = {name: make(gradient_of(0, (48, 96)), optimizer=name)[1].describe() for name in NAMES}
    assert described["lion8bit"] == "optimizer: torch and bitsandbytes, slice by slice"
    assert described["adamw"] == "optimizer: torch, slice by slice"


def test_all_state_is_there_before_the_first_step(make: Any, gradient_of: Any) -> None:
    for name in NAMES:
        ours, optimizer = make(gradient_of(0, (48, 96)), optimizer=name, on_sphere=True)
        optimizer.allocate_state()
        sizes = {key: value.shape for key, value in optimizer.state[ours].items() if isinstance(value, torch.Tensor)}
        optimizer.begin_step(1, 1e-4)
        optimizer.update(ours, gradient_of(1, (48, 96)))
        after = {key: value.shape for key, value in optimizer.state[ours].items() if isinstance(value, torch.Tensor)}
        assert sizes == after


def test_movement_of_a_step_outlives_the_next_and_is_one_with_random_rounding(make: Any, gradient_of: Any) -> None:
    ours, optimizer = make(gradient_of(0, (512, 512)).bfloat16(), optimizer="lion", stochastic_rounding=True)
    total = torch.zeros(2, dtype=torch.float64)
    for step in range(1, 101):
        optimizer.begin_step(step, 1e-5)
        assert optimizer.movement().tolist() == [0.0, 0.0]
        optimizer.update(ours, gradient_of(step, (512, 512)))
        total += optimizer.movement()
    last = optimizer.movement()
    value = last.tolist()
    optimizer.begin_step(101, 1e-5)
    assert last.tolist() == value
    assert float(total[0] / total[1]) == pytest.approx(1.0, abs=0.1)


def test_slices_are_watched_as_the_whole_is() -> None:
    whole = torch.arange(10_000)
    parts = [watched(whole[begin : begin + 768], begin, 10_000) for begin in range(0, 10_000, 768)]
    assert torch.equal(torch.cat(parts), watched(whole, 0, 10_000)) and len(watched(whole, 0, 10_000)) <= 4096
