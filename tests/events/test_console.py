import math

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
    for line in ("", "loading model", "step=", "step=x loss=1", "a step=5", "step=5 loss=abc"):
        assert parse_step(line) is None
