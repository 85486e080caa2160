"""What is known to go wrong, each as a plain console log: the judgement is that of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.monitoring.conftest import Monitor

LogOf = Callable[[Sequence[str]], Path]


def w(i: int) -> int:
    """A fixed stand-in for noise, -2 to 2."""
    return (7 * i) % 5 - 2


def lines(losses: Iterable[float], more: str = "lr=1e-05 tok/s=6102 dt=1.2s") -> list[str]:
    return [f"step={step}  loss={loss:.6g} {more}" for step, loss in enumerate(losses, 1)]


def found(document: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Code, first step and count of each incident."""
    return [(one["code"], one["step"], one["count"]) for one in document["incidents"]]


def test_a_spike_does_not_spoil_the_usual_for_the_next_one(monitor: Monitor, log_of: LogOf) -> None:
    losses = [{41: 6.5, 45: 5.0}.get(i, 1.20 + 0.02 * w(i)) for i in range(1, 81)]
    code, document = monitor(log_of(lines(losses)))
    assert found(document) == [("SPIKE_LOGGED", 41, 2)], "those that are near each other are one incident"
    assert code == 0 and not any(one["open"] for one in document["incidents"])


def test_perfectly_even_losses_and_a_jump_are_one_spike(monitor: Monitor, log_of: LogOf) -> None:
    _, document = monitor(log_of(lines([2.0] * 30 + [4.0] + [2.0] * 10)))
    assert found(document) == [("SPIKE_LOGGED", 31, 1)]


def test_a_steep_normal_start_is_no_incident_but_nan_is_one_from_the_first_step_on(
    monitor: Monitor, log_of: LogOf
) -> None:
    losses = [1.8 + 9 * math.exp(-i / 15) + 0.05 * w(i) for i in range(1, 61)]
    assert found(monitor(log_of(lines(losses)))[1]) == []
    assert found(monitor(log_of(lines([math.nan, *losses])))[1]) == [("NON_FINITE_LOSS", 1, 1)]


def test_near_zero_only_a_real_jump_is_a_spike(monitor: Monitor, log_of: LogOf) -> None:
    losses = [{30: 0.0006, 50: 0.4}.get(i, 0.00021 if i % 2 else 0.00019) for i in range(1, 61)]
    _, document = monitor(log_of(lines(losses)))
    assert found(document) == [("SPIKE_LOGGED", 50, 1)]


def test_nan_that_comes_goes_and_stays_is_two_incidents_the_second_critical(monitor: Monitor, log_of: LogOf) -> None:
    nan = math.nan
    code, document = monitor(log_of(lines([2.1, 2.0, nan, 1.9, 1.9, nan, nan, nan])))
    assert found(document) == [("NON_FINITE_LOSS", 3, 1), ("NON_FINITE_LOSS", 6, 3)]
    first, second = document["incidents"]
    assert not first["open"] and "1 step" in first["meaning"]
    assert second["open"] and second["severity"] == "critical" and second["last_step"] == 8
    assert second["advice"][0]["key"] == "train.learning_rate"
    assert code == 1 and document["health"] == "critical" and not document["healthy"]
    assert document["loss"] == "NaN" and document["usual"]["loss"] == 1.95


def test_a_slow_decline_is_not_flat_and_a_level_loss_is(monitor: Monitor, log_of: LogOf) -> None:
    declining = [2.5 - 0.004 * i + 0.03 * w(i) for i in range(1, 201)]
    assert "FLAT" not in [code for code, *_ in found(monitor(log_of(lines(declining)))[1])]
    level = [2.3 + 0.03 * w(i) for i in range(1, 201)]
    incidents = monitor(log_of(lines(level, "lr=1e-05 grad_norm=0.4 dt=1s")))[1]["incidents"]
    (flat,) = [one for one in incidents if one["code"] == "FLAT"]
    assert flat["open"] and flat["step"] <= 200
    assert "learning rate 1e-05" in flat["meaning"] and "gradient norm 0.4" in flat["meaning"]


def test_out_of_memory_is_critical_with_what_was_asked_for_and_free(monitor: Monitor, log_of: LogOf) -> None:
    error = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.69 GiB. GPU 0 has a total capacity of "
        "39.39 GiB of which 900.00 MiB is free."
    )
    log = [*lines([2.0] * 5), "Traceback (most recent call last):", '  File "train.py", line 3, in <module>', error]
    code, document = monitor(log_of(log))
    (incident,) = document["incidents"]
    assert (incident["code"], incident["severity"], incident["step"]) == ("OUT_OF_MEMORY", "critical", 5)
    assert "4.69 GiB" in incident["meaning"] and "900.00 MiB" in incident["meaning"]
    assert len(incident["advice"]) >= 2
    assert code == 1 and document["state"] == "failed"


def test_a_norm_that_never_leaves_its_limit_looks_clipped(monitor: Monitor, log_of: LogOf) -> None:
    log = [f"step={step} loss={2 - step / 100:.3f} grad_norm=1.000" for step in range(1, 21)]
    code, document = monitor(log_of(log))
    assert found(document) == [("NORM_LOOKS_CLIPPED", 20, 1)] and code == 0
    log[9] = "step=10 loss=1.9 grad_norm=0.91"
    assert found(monitor(log_of(log))[1]) == []


def test_steps_that_go_back_are_a_resume_and_the_usual_begins_anew(monitor: Monitor, log_of: LogOf) -> None:
    log = [*lines([1.2 + 0.02 * w(i) for i in range(1, 61)]), *lines([3.0 + 0.02 * w(i) for i in range(1, 41)])[19:]]
    _, document = monitor(log_of(log))
    assert found(document) == [] and document["step"] == 40


def test_a_line_of_a_skipped_step_is_believed(monitor: Monitor, log_of: LogOf) -> None:
    log = lines([2.0] * 30)
    log[29] = "SPIKE SKIPPED step=30 loss=9.41 grad_norm=3.1 usual_loss=2"
    log += ["step=31 skipped: no token of its 4 rows has loss"]
    _, document = monitor(log_of(log))
    assert found(document) == [("SPIKE_SKIPPED", 30, 1), ("NO_TRAINABLE_TOKENS", 31, 1)]
    assert document["skipped"] == 2 and "9.41" in document["incidents"][0]["meaning"]


def test_a_healthy_log_that_is_thinned_has_no_incident(monitor: Monitor, log_of: LogOf) -> None:
    log = [
        f"step={step}  loss={2 + 6 * math.exp(-step / 200) + 0.03 * w(step // 10):.4g} lr=1e-05 tok/s=6102 "
        f"grad_norm={0.4 + 0.02 * w(step // 7):.3g} dt={1.2 + 0.01 * w(step // 3):.3g}s"
        for step in range(10, 5000, 10)
    ]
    code, document = monitor(log_of(log))
    assert found(document) == [] and code == 0 and document["health"] == "ok"


def test_steps_that_stall_and_a_speed_that_stays_low_are_told_by_dt_and_tok_s(monitor: Monitor, log_of: LogOf) -> None:
    def line(step: int, speed: float, seconds: float) -> str:
        return f"step={step}  loss={2 - 0.001 * step:.4g} lr=1e-05 tok/s={speed:.0f} dt={seconds:.3g}s"

    log = [line(step, 6000 + 10 * w(step), 1.2 + 0.01 * w(step)) for step in range(1, 301)]
    log[150] = line(151, 120, 60.0)
    log += [line(step, 2000 + 10 * w(step), 3.6 + 0.01 * w(step)) for step in range(301, 500)]
    codes = [code for code, *_ in found(monitor(log_of(log))[1])]
    assert "STALL" in codes and "THROUGHPUT_LOW" in codes


def test_an_evaluation_that_rises_while_the_loss_falls_is_told(monitor: Monitor, log_of: LogOf) -> None:
    log = [
        f"step={step}  loss={2 - 0.004 * step:.4g} lr=1e-05 dt=1s"
        + (f" eval={1.4 + 0.004 * abs(step - 150):.4g}" if step % 25 == 0 else "")
        for step in range(1, 400)
    ]
    assert [code for code, *_ in found(monitor(log_of(log))[1])] == ["EVAL_RISES"]
