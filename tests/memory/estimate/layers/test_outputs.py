"""What is remembered of operators is what they return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.memory.estimate.layers.outputs import Outputs

ATEN = torch.ops.aten
Arguments = Callable[[], tuple[Any, ...]]


def of(*shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


NEW: list[tuple[Any, Arguments]] = [
    (ATEN.mul.Tensor, lambda: (of(2, 3, 4), of(4, dtype=torch.float32))),
    (ATEN.mm.default, lambda: (of(2, 3), of(3, 5))),
    (ATEN.clone.default, lambda: (of(2, 3, 4).transpose(0, 1),)),
    (ATEN.native_layer_norm.default, lambda: (of(2, 3, 4), [4], None, None, 1e-5)),
    (ATEN.cat.default, lambda: ([of(2, 3), of(2, 3)], 1)),
    (ATEN.add.Tensor, lambda: (of(2, dtype=torch.int64), True)),
    (ATEN.add.Tensor, lambda: (of(2, dtype=torch.int64), 1.0)),
    (ATEN.add.Tensor, lambda: (of(2, dtype=torch.bool), 1)),
    (ATEN.add.Tensor, lambda: (of(2, dtype=torch.bool), True)),
]


def test_new_tensors_come_out_as_the_operator_makes_them() -> None:
    outputs = Outputs()
    for _ in range(2):
        for operator, arguments in NEW:
            assert seen(outputs.of(operator, arguments(), {})) == seen(operator(*arguments())), operator
    assert outputs.of(ATEN.mul.Tensor, (of(2), 2), {}) is not outputs.of(ATEN.mul.Tensor, (of(2), 2), {})


@pytest.mark.parametrize(
    ("operator", "more"),
    [(ATEN.view.default, ([6],)), (ATEN._unsafe_view.default, ([6],)), (ATEN.t.default, ()), (ATEN.mul_.Tensor, (2,))],
)
def test_what_lies_in_the_memory_of_an_input_still_does(operator: Any, more: tuple[Any, ...]) -> None:
    outputs = Outputs()
    for _ in range(3):
        tensor = of(2, 3)
        assert outputs.of(operator, (tensor, *more), {}).untyped_storage()._cdata == tensor.untyped_storage()._cdata


def test_tensors_with_numbers_are_computed() -> None:
    outputs = Outputs()
    for number in (1.0, 2.0):
        assert outputs.of(ATEN.mul.Tensor, (torch.tensor(number), 2), {}).item() == 2 * number
        assert outputs.of(ATEN.zeros.default, ([2],), {}).tolist() == [0, 0]


def test_a_type_that_nobody_names_is_the_one_of_now() -> None:
    outputs, before = Outputs(), torch.get_default_dtype()
    arguments = ([2], 1.0), {"device": torch.device("meta")}
    try:
        for dtype in (torch.float32, torch.bfloat16):
            torch.set_default_dtype(dtype)
            assert outputs.of(ATEN.full.default, *arguments).dtype == dtype
    finally:
        torch.set_default_dtype(before)


def seen(out: Tensor | tuple[Tensor, ...]) -> list[Any]:
    tensors = [out] if isinstance(out, Tensor) else out
    return [
        (one.shape, one.stride(), one.dtype, one.device, one.storage_offset(), one.untyped_storage().nbytes())
        for one in tensors
    ]
