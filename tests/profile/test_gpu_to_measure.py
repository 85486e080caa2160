"""Which GPU a measurement takes, and when it may not; NVML plays recordings, the runs are real folders."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import UserError
from engine.events import End, Event, EventWriter, Gpu, ModelInfo, Phase, Start
from engine.monitor import Nvml, NvmlError
from engine.profile.gpu_to_measure import GpuToMeasure, gpu_to_measure
from engine.rundir import RunDir, create_run_dir, list_runs, register_run, this_process, write_run_info
from tests.engine.recorded_nvml import ME, RecordedCard, Recording, four_cards, slice_of
from tests.pgs_tui.making import step

NO_DRIVER = NvmlError("failed", "NVML Shared Library Not Found")
TRAINING = Start(
    run="r", command="c", config="x", model=ModelInfo(name="m", params=1, trainable=1), device="cuda", total_steps=9
)
CARD = RecordedCard(uuid="GPU-aaaa", name="NVIDIA H200", used=0.5, total=140.0)
OUR_CARD = Gpu(index=0, uuid="GPU-aaaa", used_by_us=12.0, total=140.0)


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def chosen(cards: Sequence[RecordedCard], environment: dict[str, str] | None = None, **parts: object) -> GpuToMeasure:
    return gpu_to_measure(environment or {}, lambda: Recording(cards, **parts))  # type: ignore[arg-type]


def live_run(tmp_path: Path, *events: Event) -> RunDir:
    """A run whose engine is this process."""
    run = create_run_dir(tmp_path / "runs", "mine")
    info = this_process(run, "mine")
    write_run_info(run, info)
    register_run(run, "mine", info.started)
    writer = EventWriter(run.events)
    for event in events:
        writer.write(event)
    writer.close()
    assert [one.path for one in list_runs()] == [run.path]
    return run


def test_without_a_driver_or_a_card_there_is_none() -> None:
    def no_driver() -> Nvml:
        raise NO_DRIVER

    with pytest.raises(UserError, match=r"^--measure needs a GPU; there is none \(NVML Shared Library Not Found\)\.$"):
        gpu_to_measure({}, no_driver)
    with pytest.raises(UserError, match=r"^--measure needs a GPU; there is none\.$"):
        chosen([])
    with pytest.raises(UserError, match=r"CUDA_VISIBLE_DEVICES=-1 hides the 4 of this machine"):
        chosen(four_cards(), {"CUDA_VISIBLE_DEVICES": "-1"})


def test_it_is_the_first_one_that_a_training_would_see() -> None:
    assert chosen([CARD]) == GpuToMeasure("NVIDIA H200", "GPU-aaaa", 0, 140.0, 0.5)
    assert chosen(four_cards(), {"CUDA_VISIBLE_DEVICES": "2,1"}).index == 2


def test_a_slice_is_a_gpu_of_its_own_size() -> None:
    part = chosen([CARD], parts={0: [slice_of(0, name="NVIDIA H200")]}, environment={"CUDA_VISIBLE_DEVICES": "0"})
    assert part.total_gib == 20.0
    assert part.model == "NVIDIA H200, a slice of 20 GiB"


def test_a_lost_card_is_said() -> None:
    with pytest.raises(UserError, match="this machine's does not answer: GPU is lost"):
        chosen([RecordedCard(lost_from_poll=1)])


@pytest.mark.parametrize(
    "events",
    [
        (),
        (Phase(name="loading model"),),
        (TRAINING,),
        (TRAINING, OUR_CARD, step(1)),
    ],
    ids=["just started", "loading", "about to train", "training"],
)
def test_it_is_refused_while_a_run_of_ours_is_on_that_gpu(tmp_path: Path, events: tuple[Event, ...]) -> None:
    run = live_run(tmp_path, *events)
    with pytest.raises(UserError, match=rf"^--measure: the run {re.escape(run.id)} is on GPU 0 \(NVIDIA H200\)"):
        chosen([CARD])


def test_the_drivers_list_of_processes_decides_where_it_knows_the_run(tmp_path: Path) -> None:
    live_run(tmp_path, TRAINING, replace(OUR_CARD, uuid="GPU-other"), step(1))
    assert chosen([CARD]).index == 0
    with pytest.raises(UserError, match="is on GPU 0"):
        chosen([replace(CARD, pids={ME: 12.0})])


@pytest.mark.parametrize(
    "events",
    [
        (replace(TRAINING, device="cpu"),),
        (replace(TRAINING, device="cpu"), replace(OUR_CARD, used_by_us=0.0), step(1)),
        (TRAINING, replace(OUR_CARD, uuid="GPU-bbbb"), step(1)),
        (TRAINING, OUR_CARD, step(1), End(status="finished", reason="", exit_code=0, last_step=1)),
    ],
    ids=["about to train on the CPU", "on the CPU", "on another card", "over"],
)
def test_other_runs_do_not_matter(tmp_path: Path, events: tuple[Event, ...]) -> None:
    live_run(tmp_path, *events)
    assert chosen([CARD]).uuid == "GPU-aaaa"


def test_a_run_whose_engine_is_gone_holds_nothing(tmp_path: Path) -> None:
    run = live_run(tmp_path, TRAINING, OUR_CARD, step(1))
    write_run_info(run, replace(this_process(run, "mine"), pid_start="long ago", pid=os.getpid()))
    assert chosen([CARD]).uuid == "GPU-aaaa"


def test_a_long_log_is_not_read_from_its_start(tmp_path: Path) -> None:
    steps = [step(number, rows=tuple(range(200))) for number in range(1, 600)]
    live_run(tmp_path, TRAINING, replace(OUR_CARD, uuid="GPU-bbbb"), *steps, OUR_CARD)
    with pytest.raises(UserError, match="is on GPU 0"):
        chosen([CARD])
