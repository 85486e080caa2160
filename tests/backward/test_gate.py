"""A step waits for the device once, at the gate, and knows everything there that its verdict needs."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from engine.backward.cut import forward_to_cut
from engine.backward.gate import AtGate, go_to_gate
from engine.backward.norm import GradientNorms
from engine.backward.release import GradientRelease
from engine.config.schema import Train
from engine.data.feeding.batches import Batch
from engine.model.head import LossHead, loss_head
from engine.optim.build import build_optimizer
from engine.optim.hyperball import hyperball_matrices
from engine.optim.tensor_optimizer import TensorOptimizer

from .test_release import batch, small

READING_OPERATORS = {"aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::equal", "aten::item"}
READING_METHODS = ("tolist", "numpy", "cpu")


class Reads(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes what brings numbers from tensors to Python, with the part of the step in which it does."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.part = "before"
        self.found: list[tuple[str, str]] = []

    def note(self, what: str) -> None:
        self.found.append((self.part, what))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name().partition(".")[0]
        if name in READING_OPERATORS:
            self.note(name)
        return func(*args, **(kwargs or {}))


@contextmanager
def watching(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reads]:
    """Watch for reads by operator and by those methods that no operator shows on the CPU."""
    with monkeypatch.context() as patch, Reads() as reads:
        for name in READING_METHODS:
            honest: Callable[..., Any] = getattr(Tensor, name)

            def noted(tensor: Tensor, *arguments: Any, name: str = name, honest: Any = honest, **named: Any) -> Any:
                reads.note(name)
                return honest(tensor, *arguments, **named)

            patch.setattr(Tensor, name, noted)
        yield reads


class ReleaseSteps:
    """Steps with gradient release on a small model, as the loop takes them."""

    def __init__(self, family: str = "llama", tied: bool = True, **settings: Any) -> None:
        self.model = small(family, tied).to(torch.bfloat16)
        self.head: LossHead = loss_head(self.model, chunked=True, chunk_tokens=5)
        named = [(name, p) for name, p in self.model.named_parameters() if p.requires_grad]
        train = Train(learning_rate=1e-3, **settings)
        matrices = hyperball_matrices(self.model) if train.hyperball else ()
        self.optimizer: TensorOptimizer = build_optimizer(named, train, matrices)
        self.optimizer.allocate_state()
        self.norms = GradientNorms(named)
        self.release = GradientRelease(self.optimizer, named, self.norms)
        self.late: Tensor | None = None

    def take(self, step: int, data: Batch, enter: Callable[[str], None]) -> AtGate:
        """One step, like `Trainer.train_step`; `enter` is told which part begins."""
        enter("gate")
        at_gate = go_to_gate(self.head, [data], lambda part: None, self.late)
        assert at_gate.rest is not None
        enter("begin")
        self.norms.forget()
        self.optimizer.begin_step(step, 1e-3)
        enter("backward")
        in_body = {id(p) for p in self.model.get_decoder().parameters()}
        self.release.step_all(p for p in at_gate.rest.head_parameters if id(p) not in in_body)
        at_gate.rest.backward()
        self.release.step_rest()
        self.late = torch.cat([self.optimizer.movement(), self.norms.total().reshape(1)])
        return at_gate


LABELS = ("gate", "aten::nonzero")  # which tokens have loss: the labels are on the host
POSITIONS = ("gate", "aten::_local_scalar_dense")  # transformers asks position ids whether they are those of packs
FETCHED = ("gate", "tolist")
COUNTS = ("begin", "tolist")  # which updates of the step before were refused; the device is idle right after the gate


def reads_of_a_step(steps: ReleaseSteps, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The reads of a step that has another one before it."""
    data = batch()
    steps.take(1, data, lambda part: None)
    with watching(monkeypatch) as reads:
        steps.take(2, data, lambda part: setattr(reads, "part", part))
    return reads.found


@pytest.mark.parametrize("more", [{}, {"hyperball": True}], ids=["free", "sphere"])
@pytest.mark.parametrize(
    ("optimizer", "counts"), [("adamw", True), ("adamw8bit", True), ("lion", False), ("lion8bit", False)]
)
def test_a_step_with_release_waits_at_the_gate_and_never_in_the_backward_pass(
    optimizer: str, counts: bool, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = ReleaseSteps(optimizer=optimizer, stochastic_rounding=True, **more)
    reads = reads_of_a_step(steps, monkeypatch)
    assert [read for read in reads if read != POSITIONS] == [LABELS, FETCHED] + [COUNTS] * counts
    assert reads.index(FETCHED) > reads.index(LABELS), "what is read at the gate is read when all of it is queued"


@pytest.mark.parametrize(("family", "tied"), [("llama", False), ("qwen3_5_text", True)])
def test_a_model_reads_at_most_its_positions(family: str, tied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = reads_of_a_step(ReleaseSteps(family, tied, optimizer="lion8bit"), monkeypatch)
    assert reads in ([LABELS, FETCHED], [POSITIONS, LABELS, FETCHED])


def test_what_watches_for_reads_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    one = torch.ones(1)
    asks: list[Callable[[Tensor], object]] = [
        *(lambda t: float(t), lambda t: bool(t), lambda t: t.item(), lambda t: t.nonzero()),
        *(lambda t: t.tolist(), lambda t: t.numpy(), lambda t: t.cpu()),
    ]
    for ask in asks:
        with watching(monkeypatch) as reads:
            ask(one)
        assert len(reads.found) == 1, ask


def test_the_numbers_of_the_step_before_come_as_they_were() -> None:
    steps, data = ReleaseSteps(optimizer="lion"), batch()
    assert steps.take(1, data, lambda part: None).late == ()
    assert steps.late is not None
    before = tuple(steps.late.tolist())
    assert steps.take(2, data, lambda part: None).late == before
    assert tuple(steps.late.tolist()) != before


def test_loss_and_norm_at_the_gate_are_those_of_the_whole_step() -> None:
    model = small("llama", False)
    head, parts = loss_head(model, chunked=True, chunk_tokens=5), [batch(12), batch(7)]
    tokens = sum(part.loss_tokens for part in parts)
    at_gate = go_to_gate(head, parts, lambda part: None)
    with torch.no_grad():
        summed = sum(float(head.summed_loss(part.input_ids, part.labels)) for part in parts)
    assert at_gate.loss == pytest.approx(summed / tokens, rel=1e-6)
    squares = 0.0
    for part in parts:
        hidden = model.get_decoder()(input_ids=part.input_ids).last_hidden_state.detach().requires_grad_()
        logits = model.lm_head(hidden)[:, :-1].flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits, part.labels[:, 1:].flatten(), reduction="sum") / tokens
        (gradient,) = torch.autograd.grad(loss, hidden)
        squares += float(gradient.double().square().sum())
    assert at_gate.hidden_norm == pytest.approx(math.sqrt(squares), rel=1e-5)


@pytest.mark.parametrize("sums", [((10.0, 2), (9.0, 9)), ((9.0, 9), (10.0, 2)), ((19.0, 11),), ((0.0, 0), (19.0, 11))])
def test_the_loss_of_a_step_is_that_of_its_tokens_however_they_are_split(
    sums: tuple[tuple[float, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the mean of the micro-batches' means, by which few tokens would weigh as much as many."""
    head, data, told = loss_head(small("llama", True), chunked=True, chunk_tokens=5), batch(), iter(sums)

    def scripted(head: LossHead, one: Batch) -> Any:
        forward = forward_to_cut(head, one)
        return replace(forward, loss=forward.loss * 0 + next(told)[0])

    monkeypatch.setattr("engine.backward.gate.forward_to_cut", scripted)
    at_gate = go_to_gate(head, [replace(data, loss_tokens=tokens) for _, tokens in sums], lambda part: None)
    assert at_gate.loss == pytest.approx(19 / 11)


@pytest.mark.parametrize("place", [0, 1])
def test_a_micro_batch_without_loss_changes_neither_loss_nor_gradient(place: int) -> None:
    found = []
    for with_silent in (False, True):
        model, data = small("llama", True), batch()
        parts = [data]
        if with_silent:
            parts.insert(place, replace(data, labels=torch.full_like(data.labels, -100), loss_tokens=0))
        at_gate = go_to_gate(loss_head(model, chunked=True, chunk_tokens=5), parts, lambda part: None)
        assert at_gate.rest is not None
        at_gate.rest.backward()
        found.append((at_gate.loss, [parameter.grad for parameter in model.parameters()]))
    (loss, gradients), (same_loss, same_gradients) = found
    assert same_loss == pytest.approx(loss) and loss is not None and math.isfinite(loss)
    for one, other in zip(gradients, same_gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_at_the_gate_no_weight_of_the_body_has_moved_or_has_a_gradient() -> None:
    steps, data = ReleaseSteps(tied=False, optimizer="lion"), batch()
    before = {name: p.clone() for name, p in steps.model.named_parameters()}
    go_to_gate(steps.head, [data], lambda part: None)
    for name, parameter in steps.model.named_parameters():
        assert torch.equal(parameter, before[name]), name
        assert (parameter.grad is None) == (name != "lm_head.weight"), name


def test_a_step_without_loss_has_no_numbers_but_brings_those_of_the_one_before() -> None:
    head, data = loss_head(small("llama", True), chunked=True, chunk_tokens=5), batch()
    data.labels.fill_(-100)
    silent = Batch(**{name: getattr(data, name) for name in data.__slots__} | {"loss_tokens": 0})
    late = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert go_to_gate(head, [silent], lambda part: None, late) == AtGate(None, None, None, (1.0, 2.0))


def test_the_laps_of_each_micro_batch_are_told_in_order() -> None:
    laps: list[str] = []
    go_to_gate(loss_head(small("llama", True), chunked=True, chunk_tokens=5), [batch(), batch()], laps.append)
    assert laps == ["forward", "backward"] * 2
