"""Runs that no engine would write, for tests of everything that folds events: any numbers in any order."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import strategies as st

from engine.events import (
    Ack,
    Alert,
    Audit,
    AuditFlag,
    Checkpoint,
    End,
    Eval,
    Event,
    Gpu,
    Host,
    ModelInfo,
    Phase,
    Resume,
    Stamped,
    Start,
    Step,
    StepMemory,
    StepTime,
)

ODD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 3.5e38, 5e-324, 0.0, -1.0]
FAR = [10**15, -(10**15), 2**53, 2**53 + 1, -(2**62), 2**63, -(2**63) - 1, 10**30, 10**400]

numbers = st.one_of(st.floats(0.1, 9.0), st.sampled_from(ODD))
maybe = st.one_of(st.none(), numbers)
near = st.integers(-3, 60)
whole = st.one_of(near, near, near, near, st.sampled_from(FAR))
rows = st.lists(st.integers(0, 9), max_size=3).map(tuple)


def steps(number: st.SearchStrategy[int] = whole) -> st.SearchStrategy[Step]:
    time = st.builds(StepTime, data=maybe, forward=maybe, backward=maybe, optimizer=maybe, gc=maybe)
    return st.builds(
        Step,
        step=number,
        epoch=numbers,
        loss=maybe,
        lr=numbers,
        grad_norm=maybe,
        dt=numbers,
        tokens=st.one_of(st.integers(0, 5000), st.sampled_from(FAR)),
        slots=st.integers(0, 5000),
        loss_tokens=st.integers(0, 5000),
        tok_s=numbers,
        time=time,
        mem=st.builds(StepMemory, allocated=maybe, reserved=maybe, peak=maybe),
        hidden_norm=maybe,
        moved=maybe,
        skipped=st.sampled_from([False, False, False, True]),
        rows=rows,
        rank=st.sampled_from([0, 0, 0, 0, 1, 2]),
    )


def runs_of_steps() -> st.SearchStrategy[list[Event]]:
    """Steps that go on one from another, which is what most of a log is."""

    def numbered(first: int, found: list[Step]) -> list[Event]:
        return [replace(one, step=first + place, rank=0, tokens=place) for place, one in enumerate(found)]

    return st.builds(numbered, near, st.lists(steps(st.just(0)), min_size=5, max_size=60))


def alerts() -> st.SearchStrategy[Alert]:
    return st.builds(
        Alert,
        id=st.sampled_from("abcd"),
        state=st.sampled_from(["open", "update", "closed"]),
        code=st.sampled_from(["SPIKE_SKIPPED", "NON_FINITE_LOSS", "STEP_SLOW", "OUT_OF_MEMORY", "x"]),
        severity=st.sampled_from(["info", "warning", "error", "critical"]),
        meaning=st.sampled_from(["", "m"]),
        step=st.one_of(st.none(), whole),
        metric=st.sampled_from([None, "loss", "grad_norm", "hidden_norm", "dt", "unheard of"]),
        value=maybe,
        baseline=maybe,
        count=whole,
        rows=rows,
    )


def others() -> st.SearchStrategy[Event]:
    """One event of any kind but a step."""
    flag = st.builds(
        AuditFlag,
        code=st.sampled_from("PQ"),
        severity=st.sampled_from(["info", "error"]),
        count=near,
        message=st.just(""),
    )
    model = ModelInfo(name="m", params=1, trainable=1)
    return st.one_of(
        alerts(),
        st.builds(
            Eval,
            step=whole,
            loss=numbers,
            name=st.sampled_from(["eval", "b"]),
            best=st.booleans(),
            seconds=numbers,
            tokens=whole,
        ),
        st.builds(Resume, from_step=whole, checkpoint=st.just("c")),
        st.builds(Checkpoint, step=whole, path=st.just("c"), seconds=numbers, bytes=near),
        st.builds(
            Gpu,
            index=st.sampled_from([0, 1, -1]),
            uuid=st.just("u"),
            utilisation=maybe,
            temperature=maybe,
            power=maybe,
            used_by_us=maybe,
            throttle=st.sampled_from([(), ("heat",)]),
        ),
        st.builds(Host, cpu=numbers, rss=numbers, disk_free=numbers),
        st.builds(Phase, name=st.sampled_from(["training", "paused"])),
        st.builds(Audit, flags=st.lists(flag, max_size=2).map(tuple)),
        st.builds(Ack, id=st.sampled_from("ab"), ok=st.booleans(), message=st.just("")),
        st.builds(
            Start,
            run=st.just("r"),
            command=st.just("c"),
            config=st.just("x"),
            model=st.just(model),
            device=st.sampled_from(["cuda", "cpu"]),
            total_steps=st.sampled_from([None, 50, -1, 10**400]),
        ),
        st.just(End(status="stopped", reason="", exit_code=0, last_step=1)),
    )


def logs() -> st.SearchStrategy[tuple[Stamped, ...]]:
    """What a log may hold, in order."""
    pieces = st.one_of(runs_of_steps(), steps().map(lambda one: [one]), others().map(lambda one: [one]))
    found = st.lists(pieces, max_size=12).map(lambda lists: [event for piece in lists for event in piece])
    times = st.one_of(st.floats(0.0, 10.0), st.sampled_from([math.nan, math.inf, -5.0, 1e300]))
    return st.tuples(found, st.lists(times, min_size=1, max_size=6)).map(_stamped)


def _stamped(drawn: tuple[list[Event], list[float]]) -> tuple[Stamped, ...]:
    events, waits = drawn
    t, stamped = 1e9, []
    for place, event in enumerate(events):
        wait = waits[place % len(waits)]
        usual = math.isfinite(wait) and abs(wait) < 100
        t = t + wait if usual else t
        stamped.append(Stamped(t if usual else wait, event))
    return tuple(stamped)
