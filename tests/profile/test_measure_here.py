"""From the refusal to the calibration."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import UserError
from engine.monitor import Nvml, NvmlError
from engine.profile.calibration import calibration_of
from engine.profile.gpu_to_measure import GpuToMeasure, gpu_to_measure
from engine.profile.measure import Measurement, MeasuringProgress
from engine.profile.measure_here import measure_here
from tests.engine.recorded_nvml import RecordedCard, Recording
from tests.profile.small_config import small_config
from tests.profile.small_estimate import ESTIMATE
from tests.profile.test_comparison import MEASURED, TOO_LARGE


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def one_card() -> GpuToMeasure:
    return gpu_to_measure({}, lambda: Recording([RecordedCard(name="NVIDIA H200", total=140.0)]))


def measured(config: object, gpu: GpuToMeasure, tell: object, is_stopped: object) -> Measurement:
    assert gpu.name == "NVIDIA H200"
    return MEASURED


def test_later_estimates_know_what_was_measured(tmp_path: Path) -> None:
    config = small_config(tmp_path)
    told: list[MeasuringProgress] = []
    found = measure_here(config, ESTIMATE, told.append, find_gpu=one_card, train=measured)
    assert found.measurement is MEASURED
    assert found.kept.startswith(f"kept in {tmp_path}/state/pgs-tui/calibration.json")
    kept = calibration_of("NVIDIA H200", MEASURED.torch)
    assert kept is not None
    assert kept.applied(config, ESTIMATE).peak_gib == pytest.approx(14.2)


def test_what_cannot_be_kept_is_shown_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, not a folder")
    found = measure_here(small_config(tmp_path), ESTIMATE, print, find_gpu=one_card, train=measured)
    assert found.measurement is MEASURED
    assert found.kept.startswith("The calibration cannot be kept in")


def test_a_run_that_ran_out_of_memory_leaves_what_is_known(tmp_path: Path) -> None:
    config = small_config(tmp_path)
    measure_here(config, ESTIMATE, print, find_gpu=one_card, train=measured)
    known = calibration_of("NVIDIA H200", MEASURED.torch)
    found = measure_here(config, ESTIMATE, print, find_gpu=one_card, train=lambda *_: TOO_LARGE)
    assert found.measurement is TOO_LARGE
    assert found.kept.startswith("nothing of it is kept")
    assert calibration_of("NVIDIA H200", MEASURED.torch) == known


def test_two_measurements_at_once_would_spoil_each_other(tmp_path: Path) -> None:
    config = small_config(tmp_path)

    def meanwhile(config: object, gpu: GpuToMeasure, tell: object, is_stopped: object) -> Measurement:
        with pytest.raises(UserError, match="another measurement is going on on GPU 0"):
            measure_here(small_config(tmp_path), ESTIMATE, print, find_gpu=one_card, train=measured)
        return MEASURED

    measure_here(config, ESTIMATE, print, find_gpu=one_card, train=meanwhile)
    measure_here(config, ESTIMATE, print, find_gpu=one_card, train=measured)


def test_without_a_gpu_nothing_is_trained(tmp_path: Path) -> None:
    def no_driver() -> Nvml:
        raise NvmlError("failed", "NVML Shared Library Not Found")

    with pytest.raises(UserError, match="--measure needs a GPU; there is none"):
        measure_here(small_config(tmp_path), ESTIMATE, print, find_gpu=lambda: gpu_to_measure({}, no_driver))
