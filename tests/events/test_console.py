import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.events.console import ConsoleStep, format_skipped, format_step, parse_step
from engine.events.types import Step

STEP = Step(
    step=50,
    epoch=0.1,
    loss=2.34,
    lr=4.5e-5,
    grad_norm=0.41,
    dt=1.2,
    tokens=7322,
    slots=8192,
    loss_tokens=3000,
    tok_s=6102.4,
)


def test_the_step_line_reads_as_in_a_plain_terminal() -> None:
    assert format_step(STEP) == "step=50  loss=2.34 lr=4.5e-05 tok/s=6102 grad_norm=0.41 dt=1.2s"
    assert format_step(STEP, eval_loss=1.92) == (
        "step=50  loss=2.34 lr=4.5e-05 tok/s=6102 grad_norm=0.41 dt=1.2s eval=1.92"
    )
    assert format_skipped(STEP, "loss", 1.7) == "SPIKE SKIPPED step=50 loss=2.34 grad_norm=0.41 usual_loss=1.7"
    assert format_skipped(STEP, "grad_norm", 0.2).endswith("usual_grad_norm=0.2")


def test_the_parser_reads_what_the_writer_wrote() -> None:
    expected = ConsoleStep(50, 2.34, 4.5e-5, 6102.0, 0.41, 1.2, 1.92)
    assert parse_step(format_step(STEP, eval_loss=1.92)) == expected
    skipped = parse_step(format_skipped(STEP, "loss", 1.7))
    assert skipped is not None and skipped.skipped and skipped.step == 50


def test_missing_and_not_finite_numbers_survive_the_line() -> None:
    odd = Step(
        step=3, epoch=0.0, loss=None, lr=0.0, grad_norm=math.inf, dt=0.5, tokens=1, slots=1, loss_tokens=0, tok_s=2.0
    )
    parsed = parse_step(format_step(odd))
    assert parsed is not None and parsed.loss is None and parsed.grad_norm == math.inf


def test_other_lines_are_no_steps() -> None:
    others = ("", "loading model", "step=", "step=x loss=1", "a step=5 loss=1", "best so far: step=5 loss=1", "step=5")
    for line in (*others, "step=5 saved a checkpoint", "step=99999999999999999999 loss=1", "global_step=5 loss=1"):
        assert parse_step(line) is None, line


def test_a_value_that_is_no_number_costs_that_value_alone() -> None:
    assert parse_step("step=5 loss=abc lr=1e-5") == ConsoleStep(5, lr=1e-5, unread=("loss",))
    assert parse_step("step=5 loss= lr=1e-5") == ConsoleStep(5, lr=1e-5)


def test_a_skipped_step_is_known_by_either_of_its_lines() -> None:
    assert parse_step("step=5 skipped: no token of its 4 rows has loss") == ConsoleStep(5, skipped=True)
    assert parse_step("SPIKE SKIPPED step=51 (loss=9.4)") == ConsoleStep(51, 9.4, skipped=True)


@pytest.mark.parametrize(
    "before",
    (
        "2026-11-30 14:14:41,123 INFO ",
        "2026-11-30T14:14:41Z trainer - INFO - ",
        "Nov 30 14:14:41 host trainer[12]: ",
        "INFO:trainer:",
        "[rank0]: ",
        "\x1b[32m",
        " 12%|##        | 10/80 ",
        "step=49 loss=2.0\r",
    ),
)
def test_what_a_logger_or_a_terminal_puts_before_the_line_is_no_part_of_it(before: str) -> None:
    assert parse_step(f"{before}step=50 loss=2.34\x1b[0m lr=4.5e-05") == ConsoleStep(50, 2.34, 4.5e-05)


def test_numbers_may_have_thousands_apart_totals_and_units() -> None:
    line = "step=1,240/6_000, loss=2.34, tok/s=6,102.5 dt=900ms eval_loss=1.9 epoch=0.5"
    assert parse_step(line) == ConsoleStep(1240, 2.34, None, 6102.5, None, 0.9, 1.9, total=6000, epoch=0.5)
    durations = {"1.2s": 1.2, "1m02s": 62.0, "2min": 120.0, "850us": 850e-6, "1.5": 1.5}
    assert {text: parse_step(f"step=1 dt={text}").dt for text in durations} == pytest.approx(durations)  # type: ignore[union-attr]
    assert parse_step("step=1 tok/s=6.1k") == ConsoleStep(1, tok_s=6100.0)


@given(st.text(max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    for line in (text, f"step=7 loss={text}", f"{text} step=7 loss=2"):
        parse_step(line)
