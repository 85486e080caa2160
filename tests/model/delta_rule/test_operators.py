"""The operators give the numbers of the definition, and are one operator each to whatever looks at them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from engine.model.delta_rule.check import gradient_error, recurrence
from engine.model.delta_rule.operators import causal_conv1d, gated_delta_rule

CPU = torch.device("cpu")
BORDERS = torch.tensor([0, 1, 66, 69, 133, 150], dtype=torch.int32)
LENGTH = 150


def rule_inputs(lines: int = 1, length: int = LENGTH, heads: int = 2, value_heads: int = 4) -> list[Tensor]:
    """Query, key, value, decay and beta in float64, all with gradients."""
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> Tensor:
        return torch.randn(lines, length, *shape, generator=generator, dtype=torch.float64)

    inputs = [draw(heads, 6), draw(heads, 6), draw(value_heads, 5), F.logsigmoid(draw(value_heads))]
    inputs.append(draw(value_heads).sigmoid())
    return [one.requires_grad_() for one in inputs]


def gradients(outputs: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    above = torch.randn(outputs.shape, generator=torch.Generator().manual_seed(2)).to(outputs)
    return list(torch.autograd.grad(outputs, inputs, above))


@pytest.mark.parametrize("borders", [None, BORDERS], ids=["whole line", "documents"])
@pytest.mark.parametrize("value_heads", [2, 4])
def test_outputs_and_gradients_are_those_of_the_token_by_token_loop(borders: Tensor | None, value_heads: int) -> None:
    inputs = rule_inputs(value_heads=value_heads)
    found, wanted = gated_delta_rule(*inputs, borders)[0], recurrence(*inputs, borders)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(gradients(found, inputs), gradients(wanted, inputs), rtol=1e-8, atol=1e-10)


def test_several_lines_are_several_documents() -> None:
    inputs = rule_inputs(lines=3, length=70)
    found = gated_delta_rule(*inputs)[0]
    wanted = torch.cat([recurrence(*(one[line : line + 1] for one in inputs), None) for line in range(3)])
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(gradients(found, inputs), gradients(wanted, inputs), rtol=1e-8, atol=1e-10)


def test_no_document_changes_a_bit_of_another() -> None:
    inputs = [one.detach() for one in rule_inputs()]
    before = gated_delta_rule(*inputs, BORDERS)[0]
    changed = [torch.cat([one[:, :66], one[:, 66:69] * 0.5, one[:, 69:]], dim=1) for one in inputs]
    after = gated_delta_rule(*changed, BORDERS)[0]
    assert torch.equal(before[:, :66], after[:, :66]) and torch.equal(before[:, 69:], after[:, 69:])
    assert not torch.equal(before[:, 66:69], after[:, 66:69])


def test_a_strong_decay_neither_overflows_nor_loses_the_gradient() -> None:
    inputs = rule_inputs()
    inputs[3] = (inputs[3] * 300).detach().requires_grad_()
    found, wanted = gated_delta_rule(*inputs, BORDERS)[0], recurrence(*inputs, BORDERS)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(gradients(found, inputs), gradients(wanted, inputs), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("dtype", "limit"), [(torch.float32, 1e-5), (torch.bfloat16, 1e-2)])
def test_the_error_that_the_check_finds_is_the_rounding_of_the_type(dtype: torch.dtype, limit: float) -> None:
    assert 0 < gradient_error(CPU, dtype) < limit


def convolved_by_torch(inputs: Tensor, weight: Tensor, borders: list[int]) -> Tensor:
    """The convolution of each document by itself."""
    width = weight.shape[1]
    parts = [
        F.conv1d(F.pad(inputs[:, start:stop].transpose(1, 2), (width - 1, 0)), weight[:, None], groups=len(weight))
        for start, stop in pairwise(borders)
    ]
    return F.silu(torch.cat(parts, dim=2)).transpose(1, 2)


@pytest.mark.parametrize("length", [1, 3, LENGTH])
def test_the_convolution_begins_anew_in_each_document(length: int) -> None:
    borders = torch.tensor([0, 1, length] if length == 3 else [0, length], dtype=torch.int32)
    borders = BORDERS if length == LENGTH else borders
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(1, length, 6, generator=generator, dtype=torch.float64).requires_grad_()
    weight = torch.randn(6, 4, generator=generator, dtype=torch.float64).requires_grad_()
    found = torch.cat(causal_conv1d(inputs, weight, 1, borders), dim=-1)
    wanted = convolved_by_torch(inputs, weight, borders.tolist())
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(gradients(found, [inputs, weight]), gradients(wanted, [inputs, weight]))


def test_the_convolution_of_several_lines() -> None:
    inputs = torch.randn(3, 9, 6, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(causal_conv1d, (inputs, weight, 2))
    found = torch.cat(causal_conv1d(inputs, weight, 2), dim=-1)
    torch.testing.assert_close(found, convolved_by_torch(inputs, weight, [0, 9]))


@pytest.mark.parametrize("length", [1, 9])
def test_queries_keys_and_values_have_memory_of_their_own(length: int) -> None:
    """As the rule's kernels take them, without a copy; a single row of a slice would count as contiguous too."""
    inputs, weight = torch.randn(1, length, 7), torch.randn(7, 4)
    found = causal_conv1d(inputs, weight, 2)
    assert [one.shape[-1] for one in found] == [2, 2, 3]
    assert all(one.is_contiguous() for one in found)
    assert len({one.untyped_storage().data_ptr() for one in found}) == 3


def test_what_nobody_uses_gives_the_convolution_no_gradient() -> None:
    inputs = torch.randn(1, 9, 7, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    whole = convolved_by_torch(inputs, weight, [0, 9])
    found, wanted = causal_conv1d(inputs, weight, 2)[1], whole[..., 2:4]
    torch.testing.assert_close(gradients(found, [inputs, weight]), gradients(wanted, [inputs, weight]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("borders", [None, torch.tensor([0, 3, 8], dtype=torch.int32)], ids=["line", "documents"])
def test_the_library_finds_nothing_wrong_with_the_operators(borders: Tensor | None) -> None:
    rule = [one.detach().float().requires_grad_() for one in rule_inputs(length=8)]
    torch.library.opcheck(gated_delta_rule, (*rule, borders))
    inputs, weight = torch.randn(1, 8, 6, requires_grad=True), torch.randn(6, 4, requires_grad=True)
    torch.library.opcheck(causal_conv1d, (inputs, weight, 1, borders))


@pytest.mark.parametrize(("device", "kept"), [("cpu", [(0,), (0,)]), ("cuda", [(2, 70, 4), (2, 70, 4, 64)])])
def test_a_trace_without_memory_sees_the_shapes_that_a_run_would(device: str, kept: list[tuple[int, ...]]) -> None:
    with FakeTensorMode():
        shapes = [(2, 6), (2, 6), (4, 5), (4,), (4,)]
        dtypes = [torch.bfloat16] * 3 + [torch.float32, torch.bfloat16]
        inputs = [torch.empty(2, 70, *shape, dtype=d, device=device) for shape, d in zip(shapes, dtypes, strict=True)]
        outputs, *others = gated_delta_rule(*inputs)
        found = torch.ops.pgs.gated_delta_rule_backward(outputs, *inputs, *others)
        mixed, weight = inputs[0].flatten(2).transpose(0, 1), inputs[0].new_empty(12, 4)
        convolved = causal_conv1d(mixed, weight, 5)
        of_mixed, of_weight = torch.ops.pgs.causal_conv1d_backward(*convolved, mixed, weight)
    assert (outputs.shape, outputs.dtype, outputs.device.type) == (inputs[2].shape, torch.bfloat16, device)
    assert [tuple(other.shape) for other in others] == kept
    assert [(one.shape, one.dtype) for one in found] == [(one.shape, one.dtype) for one in inputs]
    assert [one.shape for one in convolved] == [(70, 2, 5), (70, 2, 5), (70, 2, 2)]
    assert (of_mixed.shape, of_weight.shape) == (mixed.shape, weight.shape)
    assert all(one.is_contiguous() for one in (*convolved, of_mixed, of_weight))


class Seen(TorchDispatchMode):
    """Counts our operators and all others."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names[str(func)] += 1
        return func(*args, **(kwargs or {}))


def test_whoever_watches_sees_one_operator_forward_and_one_backward() -> None:
    inputs = [one.detach().float().requires_grad_() for one in rule_inputs()]
    with Seen() as seen:
        gated_delta_rule(*inputs, BORDERS)[0].backward(torch.ones(1, LENGTH, 4, 5))
    ours = {name: count for name, count in seen.names.items() if name.startswith("pgs")}
    assert ours == {"pgs.gated_delta_rule.default": 1, "pgs.gated_delta_rule_backward.default": 1}
    assert not any("mm" in name or "solve" in name for name in seen.names), "nothing of its inside shows"
