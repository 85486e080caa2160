"""A measured peak is that of a step like all the others: case E-12."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.events import ModelInfo, Start, Step, StepMemory, encode
from engine.profile.gpu_to_measure import GpuToMeasure
from engine.profile.measure import measure
from tests.profile.small_config import PROJECT, small_config

MIB_IN_GIB = 1 / 1024
CARD = GpuToMeasure("NVIDIA H200", "GPU-1", 0, 140.0, used_gib=0.5)
START = Start(
    run="r", command="c", config="x", model=ModelInfo(name="m", params=10, trainable=10), device="cuda", total_steps=9
)


def step(number: int, peak_mib: float) -> Step:
    memory = StepMemory(peak=peak_mib * MIB_IN_GIB, reserved=2.2, weights=0.5, optimizer=0.5, gradients=0.2)
    rates = {"loss": 2.0, "lr": 1e-5, "grad_norm": 1.0, "dt": 1.0, "tok_s": 100.0, "epoch": 0.1}
    return Step(step=number, tokens=100, slots=100, loss_tokens=90, mem=memory, **rates)


def test_the_first_step_before_the_optimizers_state_is_there_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "script.jsonl"
    events = (START, step(1, 1300), step(2, 2100), step(3, 2100))
    script.write_text("".join(encode(event, 1000.0 + place) + "\n" for place, event in enumerate(events)))
    command = (sys.executable, str(PROJECT / "tests" / "profile" / "scripted_engine.py"), str(script))
    measured = measure(small_config(tmp_path), CARD, command=command)
    assert measured.peak_gib == pytest.approx(2100 * MIB_IN_GIB)
