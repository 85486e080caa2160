"""The time line of a step, from traces made by hand: what runs when, for what, and who kept the device waiting."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.training.kernels import NORM, OPTIMIZER, category
from tests.bench.training.timeline import timeline
from tests.bench.training.trace import BACKWARD, DECODER, STEP, Span, enclosing, read_trace

HOST, AUTOGRAD = 1, 2


def span(cat: str, name: str, begin: float, length: float, thread: int = HOST, call: int | None = None) -> Any:
    arguments = {} if call is None else {"correlation": call}
    return {"ph": "X", "cat": cat, "name": name, "ts": begin, "dur": length, "tid": thread, "args": arguments}


def kernel(name: str, launched: float, begin: float, length: float, number: int, thread: int = HOST) -> list[Any]:
    """A kernel and the call that launched it, of 2 microseconds."""
    return [
        span("cuda_runtime", "cudaLaunchKernel", launched, 2, thread, number),
        span("kernel", name, begin, length, 7, number),
    ]


def step(begin: float, number: int) -> list[Any]:
    """A step of 1,000 microseconds: 500 of matmul, 100 of delta rule, 50 of an update; the device waits twice."""
    return [
        span("user_annotation", STEP, begin, 1000),
        span("user_annotation", DECODER, begin + 10, 300),
        span("cpu_op", "aten::mm", begin + 20, 20),
        *kernel("nvjet_tst_128x256_64x4", begin + 25, begin + 30, 500, number),
        span("cpu_op", "pgs::gated_delta_rule", begin + 50, 30),
        *kernel("main_kernel", begin + 60, begin + 530, 100, number + 1),  # its launch was early: no one is waited for
        span("cuda_runtime", "cudaStreamSynchronize", begin + 400, 240),
        span("user_annotation", BACKWARD, begin + 700, 250),
        span("user_annotation", OPTIMIZER, begin + 710, 30, AUTOGRAD),
        *kernel("lion_kernel", begin + 715, begin + 720, 50, number + 2, AUTOGRAD),
    ]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    events = [event for number in range(4) for event in step(1000 * number, 10 * number)]
    return timeline(read_trace(events))


def test_a_step_is_what_lies_between_the_first_kernels_of_two_steps(found: dict[str, Any]) -> None:
    assert found["steps"] == 2
    assert found["step_ms"] == pytest.approx(1.0)
    assert found["busy_ms"] == pytest.approx(0.65)
    assert found["kernels"] == 3
    assert found["launches"] == 3
    assert found["launch_calls_ms"] == pytest.approx(0.006)


def test_kernels_count_for_the_operator_or_mark_that_launched_them(found: dict[str, Any]) -> None:
    milliseconds = {kind: one["ms"] for kind, one in found["categories"].items()}
    assert milliseconds == pytest.approx({"matmul": 0.5, "delta rule": 0.1, "optimizer": 0.05})


def test_a_kernel_belongs_to_the_part_of_the_step_that_launched_it_on_whatever_thread(found: dict[str, Any]) -> None:
    assert set(found["phases"]) == {"forward", "backward"}
    assert set(found["phases"]["backward"]) == {"optimizer"}


def test_an_idle_device_is_the_hosts_fault_only_where_the_launch_came_after_the_queue_was_empty() -> None:
    early = [*kernel("a", 100, 110, 10, 1), *kernel("b", 104, 125, 10, 2)]  # 5 between kernels: b was asked for early
    late = kernel("c", 150, 160, 10, 3)  # the device was idle from 135, the launch came at 150
    marks = [span("user_annotation", STEP, begin, 100) for begin in (0, 100, 200)]
    ends = [*kernel("x", 0, 5, 10, 4), *kernel("y", 200, 210, 10, 5)]
    found = timeline(read_trace([*marks, *early, *late, *ends]))
    assert found["idle_ms"]["between kernels"] == pytest.approx(0.005)
    assert found["idle_ms"]["launched late"] == pytest.approx(0.025 + 0.040)
    assert (found["gaps"][0]["after"], found["gaps"][0]["before"]) == ("c", "y")


def test_a_kernel_whose_launch_was_not_seen_still_counts_as_work() -> None:
    marks = [span("user_annotation", STEP, begin, 100) for begin in (0, 100, 200)]
    kernels = [span("kernel", "a", begin + 10, 40, 7, number) for number, begin in enumerate((0, 100, 200))]
    found = timeline(read_trace([*marks, *kernels]))
    assert found["busy_ms"] == pytest.approx(0.04)
    assert found["of unknown launch"] == 1


def test_a_wait_of_the_host_is_listed_with_its_length(found: dict[str, Any]) -> None:
    [wait] = found["waits"]
    assert wait["call"] == "cudaStreamSynchronize"
    assert wait["ms"] == pytest.approx(0.24)
    assert wait["within"] == STEP


def test_operators_around_a_span_are_those_of_its_own_thread() -> None:
    outer, inner = Span("outer", 0, 100, HOST), Span("inner", 10, 50, HOST)
    elsewhere = Span("elsewhere", 0, 100, AUTOGRAD)
    asked = [Span("call", 20, 22, HOST), Span("call", 60, 62, HOST), inner]
    assert enclosing(asked, [outer, inner, elsewhere]) == [("outer", "inner"), ("outer",), ("outer",)]


@pytest.mark.parametrize(
    ("name", "operators", "expected"),
    [
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", (), "matmul"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", (), "matmul"),
        ("void pytorch_flash::flash_fwd_kernel<traits>", (), "attention"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", (), "attention"),
        ("chunk_gated_delta_rule_fwd_kernel_h_blockdim64", (), "delta rule"),
        ("main_kernel", ("CompiledFunction", "pgs::gated_delta_rule_backward"), "delta rule"),
        ("triton_poi_fused_mul_silu_3", ("Torch-Compiled Region: 0/0",), "fused elementwise"),
        ("Memcpy DtoH (Device -> Pageable)", ("aten::item",), "copies"),
        ("void at::native::reduce_kernel<512, 1>", (NORM, "aten::linalg_vector_norm"), "gradient norms"),
        ("void at::native::vectorized_elementwise_kernel<4>", (OPTIMIZER, "aten::mul"), "optimizer"),
        ("void at::native::vectorized_elementwise_kernel<4>", ("aten::mul",), "elementwise"),
    ],
)
def test_category(name: str, operators: tuple[str, ...], expected: str) -> None:
    assert category(name, operators) == expected
