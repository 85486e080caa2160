"""Measuring: real steps of the real engine on a tiny model on the CPU, and what is made of a GPU's events."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from engine.config import load_config
from engine.errors import UserError
from engine.events import Alert, End, Event, Gpu, ModelInfo, Phase, Start, Step, StepMemory, encode
from engine.memory.estimate import estimate_memory
from engine.memory.estimate.model_shape import model_shape
from engine.profile.comparison import compare
from engine.profile.gpu_to_measure import GpuToMeasure
from engine.profile.measure import STEPS, MeasuringProgress, MeasuringStoppedError, measure
from engine.rundir import list_runs
from engine.units import GIB
from tests.profile.small_config import PROJECT, TRAINED, small_config

CARD = GpuToMeasure("NVIDIA H200", "GPU-1", 0, 140.0, used_gib=0.5)
ON_GPU = Start(
    run="r", command="c", config="x", model=ModelInfo(name="m", params=10, trainable=10), device="cuda", total_steps=9
)
Scripted = Callable[..., tuple[str, ...]]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the measurements of this test have their files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """The command of an engine that tells these events."""

    def command(*events: Event) -> tuple[str, ...]:
        script = tmp_path / "script.jsonl"
        script.write_text("".join(encode(event, 1000.0 + place) + "\n" for place, event in enumerate(events)))
        return (sys.executable, str(PROJECT / "tests" / "profile" / "scripted_engine.py"), str(script))

    return command


def engines(temporary: Path) -> list[psutil.Process]:
    """The engines at work on a measurement with its files there."""
    found = psutil.process_iter(["cmdline", "status"])
    return [
        one
        for one in found
        if any(str(temporary) in part for part in one.info["cmdline"] or ()) and one.info["status"] != "zombie"
    ]


def step(number: int, peak: float, reserved: float, dt: float = 1.0) -> Step:
    memory = StepMemory(peak=peak, reserved=reserved, weights=7.8, optimizer=4.0, gradients=0.2)
    return Step(
        step=number,
        epoch=0.1,
        loss=2.0,
        lr=1e-5,
        grad_norm=1.0,
        dt=dt,
        tokens=4096,
        slots=4096,
        loss_tokens=4000,
        tok_s=4096 / dt,
        mem=memory,
    )


def test_real_steps_tell_what_weights_gradients_and_state_take(tmp_path: Path, temporary: Path) -> None:
    told: list[MeasuringProgress] = []
    config = small_config(tmp_path, "--model.torch_dtype", "bfloat16")
    measured = measure(config, None, told.append)
    assert measured.fits
    size = TRAINED * 2 / GIB
    assert measured.components == pytest.approx({"weights": size, "gradients": size, "optimizer state": 4 * size})
    compared = compare(estimate_memory(config, model_shape(config)), measured)
    assert [(one.name, one.difference) for one in compared] == [
        ("weights", pytest.approx(0.0)),
        ("optimizer state", pytest.approx(0.0)),
        ("gradients", pytest.approx(0.0)),
    ]
    assert measured.tokens_per_step == 2 * 48, "the longest batch that the config allows"
    assert measured.peak_gib is measured.reserved_gib is measured.context_gib is None, "the CPU has no such counters"
    assert measured.tok_s is not None and measured.seconds_per_step is not None
    words = [progress.what for progress in told]
    assert words[0] == "loading model"
    assert words[-1] == f"step {STEPS} of {STEPS}"
    assert [progress.done for progress in told] == sorted(progress.done for progress in told)
    assert list_runs() == [], "the measured run is none of the user's"
    assert not list(temporary.glob("pgs-measure-*")) and not (tmp_path / "runs").exists()
    assert not engines(temporary)


def test_what_is_trained_is_the_config_on_rows_of_its_length_without_saving_and_evaluation(
    tmp_path: Path, scripted: Scripted
) -> None:
    settings = ("--memory.gradient_release", "true", "--data.packing", "true", "--train.optimizer", "lion8bit")
    mine = small_config(tmp_path, *settings)
    measured = measure(mine, CARD, command=scripted(ON_GPU, *(step(number, 13.0, 14.0) for number in range(1, 5))))
    text = (tmp_path / "script.yaml").read_text()
    (tmp_path / "again.yaml").write_text(text.replace(str(mine.data.dataset), "."))
    assert "random tokens, each of the full 48" in measured.notes[0]
    again = load_config(tmp_path / "again.yaml", ["--data.dataset", mine.data.dataset[0]]).config
    assert (again.memory, again.model) == (mine.memory, mine.model)
    assert again.data.packing and again.data.max_seq_length == 48
    assert again.train.optimizer == "lion8bit" and again.train.per_device_batch_size == 2
    assert not again.data.has_eval_data and again.train.save_steps is None
    assert "weights" in measured.components and "gradients" not in measured.components, "one at a time is no sum"


def test_a_gpus_events_become_peak_reserved_context_and_speed(tmp_path: Path, scripted: Scripted) -> None:
    gpu = Gpu(index=0, uuid="GPU-1", used_by_us=None, used_by_others=0.5 + 14.2 + 0.6)
    steps = (step(1, 15.0, 14.2, dt=9.0), step(2, 13.4, 14.0), gpu, step(3, 13.5, 14.1, dt=3.0))
    measured = measure(small_config(tmp_path), CARD, command=scripted(ON_GPU, *steps))
    assert measured.gpu == "NVIDIA H200"
    assert measured.peak_gib == 13.5, "the first step tunes kernels"
    assert measured.reserved_gib == 14.2, "and what it made the allocator take stays"
    assert measured.context_gib == pytest.approx(0.6, abs=0.11)
    assert (measured.seconds_per_step, measured.tokens_per_step) == (2.0, 4096)
    assert measured.components == {"weights": 7.8, "optimizer state": 4.0, "gradients": 0.2}


def test_another_program_that_takes_memory_meanwhile_is_no_context(tmp_path: Path, scripted: Scripted) -> None:
    gpu = Gpu(index=0, uuid="GPU-1", used_by_others=60.0)
    steps = (step(1, 13.0, 14.0), gpu, step(2, 13.0, 14.0), step(3, 13.0, 14.0))
    assert measure(small_config(tmp_path), CARD, command=scripted(ON_GPU, *steps)).context_gib is None


def test_memory_that_runs_out_is_a_result(tmp_path: Path, scripted: Scripted) -> None:
    end = End(status="failed", reason="Out of memory at step 1; asked for 1.2 GiB.", exit_code=3, last_step=0)
    measured = measure(small_config(tmp_path), CARD, command=scripted(ON_GPU, end))
    assert not measured.fits
    assert measured.reason == end.reason
    assert measured.peak_gib is None and measured.tok_s is None


def test_the_reason_of_a_run_that_cannot_go_on_is_told(tmp_path: Path, scripted: Scripted) -> None:
    end = End(status="failed", reason="the model is of another world", exit_code=1, last_step=0)
    with pytest.raises(UserError, match=r"^--measure: the model is of another world$"):
        measure(small_config(tmp_path), CARD, command=scripted(end))
    with pytest.raises(UserError, match=r"^--measure: the engine ended with exit code 0: a last word$"):
        measure(small_config(tmp_path), CARD, command=scripted())


def test_a_run_that_torch_puts_on_the_cpu_is_no_measurement_of_the_gpu(tmp_path: Path, scripted: Scripted) -> None:
    alert = Alert(id="a", state="open", code="GPU_NOT_USED", severity="warning", meaning="torch has no CUDA.")
    on_cpu = Start(run="r", command="c", config="x", model=ON_GPU.model, device="cpu")
    with pytest.raises(UserError, match=r"^--measure: the engine trains on the CPU. torch has no CUDA.$"):
        measure(small_config(tmp_path), CARD, command=scripted(alert, on_cpu))


def test_a_stop_leaves_no_process(tmp_path: Path, temporary: Path, scripted: Scripted) -> None:
    with pytest.raises(MeasuringStoppedError):
        measure(
            small_config(tmp_path),
            CARD,
            is_stopped=lambda: bool(engines(temporary)),
            command=scripted(Phase(name="loading model")),
        )
    assert not engines(temporary)
    assert not list(temporary.iterdir())


SCRIPT = """
import sys
from pathlib import Path
from engine.profile.measure import measure
from tests.profile.small_config import small_config
measure(small_config(Path(sys.argv[1])), None, tell=lambda progress: print(progress.what, flush=True))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_one_that_measures(tmp_path: Path, temporary: Path, how: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"loading model\n"
        deadline = time.monotonic() + 40
        while not engines(temporary) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert engines(temporary)
        process.send_signal(how)
    while engines(temporary) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not engines(temporary)
