"""What was measured on a machine serves its later estimates, never silently and no other machine's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import Config, load_config
from engine.errors import UserError
from engine.memory.advice.room import Room
from engine.memory.advice.work import RunLength
from engine.memory.estimate import Phase
from engine.profile.calibration import Calibration, calibration_of, calibration_path, recipe_kind, store
from engine.profile.document import Profile
from engine.profile.profiler import Wishes, profile_of
from engine.session.open import versions
from tests.profile.small_config import small_config
from tests.profile.small_estimate import BACKWARD, ESTIMATE
from tests.profile.test_comparison import MEASURED

H200, TORCH = "NVIDIA H200", "2.11.0"


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("PYTORCH_CUDA_ALLOC_CONF", raising=False)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return small_config(tmp_path)


def stored(config: Config) -> Calibration:
    store(config, ESTIMATE, MEASURED)
    found = calibration_of(H200, TORCH)
    assert found is not None
    return found


def test_the_same_recipe_is_estimated_as_it_was_measured(config: Config) -> None:
    again = stored(config).applied(config, ESTIMATE)
    assert again.peak_gib == pytest.approx(14.2)
    assert again.reserved_gib == pytest.approx(14.5)
    assert again.total_gib == pytest.approx(14.5 + 0.6)
    assert again.components["weights"] == 8.0, "what is known to the byte stays"
    for phase in again.phases:
        assert sum(phase.parts.values()) == pytest.approx(phase.peak_gib)


def test_it_is_said(config: Config) -> None:
    said = stored(config).applied(config, ESTIMATE).assumptions
    assert said[:-1] == ESTIMATE.assumptions
    assert said[-1].startswith("calibrated: all but weights and optimizer state taken 1.100 times, reserved 1.021")
    assert f"measured on this machine's {H200} with torch {TORCH}, 2x48 on 20" in said[-1]


def test_a_larger_batch_of_that_recipe_is_calibrated_in_what_grows_with_it(tmp_path: Path, config: Config) -> None:
    found = stored(config)
    larger = small_config(tmp_path, "--data.max_seq_length", "96")
    parts = {**BACKWARD.parts, "layer at work": 3.0}
    grown = replace(ESTIMATE, peak_gib=16.0, phases=(Phase("backward", 16.0, parts),), components=parts)
    assert found.applied(larger, grown).peak_gib == pytest.approx(12 + 4 * 1.1)


def test_of_another_recipe_only_what_cuda_takes_is_known(tmp_path: Path, config: Config) -> None:
    found = stored(config)
    other = small_config(tmp_path, "--train.gradient_checkpointing", "full")
    again = found.applied(other, ESTIMATE)
    assert (again.peak_gib, again.reserved_gib, again.context_gib) == (14.0, 15.0, 0.6)
    assert again.total_gib == pytest.approx(15.6)
    assert again.assumptions[-1].startswith("calibrated: CUDA's context 0.60 GiB, as measured on this machine's")
    assert found.speed(other, ESTIMATE) is None


def test_the_speed_says_where_it_is_from(tmp_path: Path, config: Config) -> None:
    found = stored(config)
    speed = found.speed(config, ESTIMATE)
    assert speed is not None and speed.tok_s == 8192.0
    assert speed.source.startswith(f"speed: measured on this machine's {H200} on 20")
    other = found.speed(small_config(tmp_path, "--train.per_device_batch_size", "1"), ESTIMATE)
    assert other is not None and "other sizes" in other.source


def test_another_gpu_or_torch_is_not_calibrated(config: Config) -> None:
    stored(config)
    assert calibration_of("NVIDIA L4", TORCH) is None
    assert calibration_of(H200, "2.12.0") is None


def test_several_machines_and_recipes_stand_side_by_side(tmp_path: Path, config: Config) -> None:
    stored(config)
    store(config, ESTIMATE, replace(MEASURED, gpu="NVIDIA L4", peak_gib=14.1))
    other = small_config(tmp_path, "--train.optimizer", "lion8bit")
    store(other, ESTIMATE, replace(MEASURED, peak_gib=13.8, context_gib=None))
    store(other, ESTIMATE, replace(MEASURED, peak_gib=13.9, context_gib=None))
    h200, l4 = calibration_of(H200, TORCH), calibration_of("NVIDIA L4", TORCH)
    assert h200 is not None and l4 is not None
    assert (len(h200.recipes), len(l4.recipes)) == (2, 1)
    assert h200.context_gib == 0.6, "an older figure is better than none"
    assert h200.applied(other, ESTIMATE).peak_gib == pytest.approx(13.9), "the newest counts"


def test_an_estimate_that_is_twice_off_is_not_mended_by_a_factor(config: Config) -> None:
    store(config, ESTIMATE, replace(MEASURED, peak_gib=17.0, reserved_gib=17.0, context_gib=None))
    found = calibration_of(H200, TORCH)
    assert found is not None
    assert found.applied(config, ESTIMATE).peak_gib == 14.0


def test_the_kind_is_all_but_the_sizes(tmp_path: Path, config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = recipe_kind(config, ESTIMATE)
    sizes = ("--train.per_device_batch_size", "8", "--data.max_seq_length", "512", "--memory.loss_chunk_tokens", "64")
    assert recipe_kind(small_config(tmp_path, *sizes), ESTIMATE) == kind
    for key, value in (("model.compile", "true"), ("memory.chunked_loss", "false"), ("data.packing", "true")):
        assert recipe_kind(small_config(tmp_path, f"--{key}", value), ESTIMATE) != kind
    assert recipe_kind(config, replace(ESTIMATE, trained=1)) != kind
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    assert recipe_kind(config, ESTIMATE) != kind


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"version": 2, "machines": []}', '{"version": 1, "machines": [{"gpu": "NVIDIA H200"}]}'],
)
def test_a_file_that_says_nothing_is_no_calibration_and_is_replaced(config: Config, text: str) -> None:
    path = calibration_path()
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert calibration_of(H200, TORCH) is None
    stored(config)
    assert json.loads(path.read_text())["version"] == 1


@pytest.mark.parametrize("number", [-1.0, "NaN", "much", 0.0, [1]])
def test_odd_numbers_in_the_file_calibrate_nothing(config: Config, number: object) -> None:
    path = store(config, ESTIMATE, MEASURED)
    found = json.loads(path.read_text())
    found["machines"][0]["recipes"][0]["besides_factor"] = number
    path.write_text(json.dumps(found))
    assert calibration_of(H200, TORCH) is None


def test_a_place_that_cannot_be_written_is_said(config: Config, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, not a folder")
    with pytest.raises(UserError, match=r"The calibration cannot be kept in .*calibration\.json"):
        store(config, ESTIMATE, MEASURED)


def test_a_user_without_a_home_has_none(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    assert calibration_of(H200, TORCH) is None
    with pytest.raises(UserError, match="The calibration cannot be kept: this user has no home directory"):
        store(config, ESTIMATE, MEASURED)


def test_a_profile_on_this_machines_gpu_uses_it_and_one_of_the_table_does_not(tmp_path: Path, config: Config) -> None:
    loaded = load_config(tmp_path / "small.yaml", [])

    def profiled(room: Room, is_calibrated: bool = True) -> Profile:
        return profile_of(loaded, Wishes(room, changes=False, is_calibrated=is_calibrated), lambda _: RunLength())

    table, here = Room(H200, 140.0, 140.0), Room(H200, 140.0, 139.0, index=0)
    plain = profiled(table).estimate
    found = replace(MEASURED, components=plain.components, peak_gib=1.01 * plain.peak_gib, torch=versions()["torch"])
    store(config, plain, found)
    calibrated = profiled(here)
    assert calibrated.estimate.peak_gib == pytest.approx(1.01 * plain.peak_gib)
    assert calibrated.work.tok_s == MEASURED.tok_s
    assert profiled(here, is_calibrated=False).estimate == profiled(table).estimate == plain
