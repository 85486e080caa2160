import json
import math

import pytest

from engine.events import (
    Advice,
    Alert,
    Audit,
    AuditFlag,
    BadLineError,
    Checkpoint,
    End,
    Estimate,
    Event,
    ModelInfo,
    Start,
    Step,
    StepMemory,
    StepTime,
    decode,
    encode,
)


def step(**changes: object) -> Step:
    fields: dict[str, object] = {
        "step": 7,
        "epoch": 0.5,
        "loss": 2.34,
        "lr": 4.5e-5,
        "grad_norm": 0.41,
        "dt": 1.2,
        "tokens": 900,
        "slots": 1024,
        "loss_tokens": 400,
        "tok_s": 750.0,
    }
    return Step(**{**fields, **changes})  # type: ignore[arg-type]


EVENTS: list[Event] = [
    Start(
        run="r",
        command="pgs train",
        config="quickstart",
        model=ModelInfo(name="m", params=5, trainable=3),
        device="cpu",
        total_steps=9,
    ),
    step(
        time=StepTime(data=0.1, forward=0.2),
        mem=StepMemory(peak=1.5),
        rows=(3, 1),
        skipped=True,
    ),
    step(loss=None, grad_norm=None),
    Estimate(peak=13.4, reserved=13.9, components={"weights": 7.8, "layer inputs": 0.6}, decides="backward"),
    Audit(
        flags=(
            AuditFlag(
                code="EMPTY_ANSWER",
                severity="info",
                count=2,
                message="two",
                first_rows=(1, 9),
            ),
        ),
        counts={"rows": 3},
    ),
    Alert(
        id="a1",
        state="open",
        code="SPIKE",
        severity="warning",
        meaning="see [/] café 漢",
        step=3,
        value=9.0,
        advice=(Advice(key="train.learning_rate", value=1e-5),),
    ),
    End(status="failed", reason="out of memory", exit_code=3, last_step=12),
]


def test_a_checkpoint_tells_its_kind_under_that_name() -> None:
    event = Checkpoint(step=3, path="checkpoints/step-3", seconds=0.1, bytes=9, checkpoint_kind="best")
    record = json.loads(encode(event, 1.0))
    assert (record["event"], record["kind"]) == ("checkpoint", "best")
    stamped = decode(json.dumps(record))
    assert stamped is not None and stamped.event == event


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_every_event_comes_back_as_it_was_written(event: Event) -> None:
    stamped = decode(encode(event, 12.5))
    assert stamped is not None
    assert (stamped.t, stamped.event) == (12.5, event)


@pytest.mark.parametrize(
    ("value", "name"),
    [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")],
)
def test_numbers_that_are_not_finite_travel_as_names_in_strict_json(value: float, name: str) -> None:
    line = encode(step(loss=value), 0.0)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    assert json.loads(line, parse_constant=refuse)["loss"] == name
    stamped = decode(line)
    assert stamped is not None and isinstance(stamped.event, Step) and stamped.event.loss is not None
    assert repr(stamped.event.loss) == repr(value)


def test_unknown_kinds_and_fields_are_skipped() -> None:
    assert decode('{"v": 2, "t": 1, "event": "hologram", "x": 1}') is None
    record = json.loads(encode(step(), 1.0)) | {
        "colour": "red",
        "time": {"data": 0.5, "warp": 1},
    }
    stamped = decode(json.dumps(record))
    assert stamped is not None and stamped.event == step(time=StepTime(data=0.5))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        '"x"',
        '{"t": 1}',
        '{"t": 1, "event": "step"}',
        '{"t": 1, "event": "step", "step": "7"}',
        "null",
        '{"t": "x", "event": "phase", "name": "training"}',
        '{"t": 1, "event": "phase", "name": 5}',
        '{"t": 1, "event": "audit", "counts": null}',
        '{"t": 1, "event": "audit", "counts": [1]}',
    ],
)
def test_what_is_no_event_is_refused_as_a_bad_line(line: str) -> None:
    with pytest.raises(BadLineError):
        decode(line)
