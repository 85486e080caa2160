"""What would be if, and which value comes next."""

from pathlib import Path

import pytest

from pgs_tui.profiling.settings import SETTINGS, Kind, open_config, shown_value, values_given
from pgs_tui.profiling.what_if import Target, WhatIf

BATCH, RELEASE = "train.per_device_batch_size", "memory.gradient_release"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text("model:\n  name_or_path: Qwen/Qwen3-4B\ndata:\n  dataset: gone.jsonl\n")
    return path


def what_if(config: Path, *overrides: str) -> WhatIf:
    return WhatIf(open_config(config, overrides), Target())


def test_numbers_go_by_powers_of_two_and_halfway_between() -> None:
    kind, value, seen = Kind(least=2), 1, []
    for _ in range(10):
        value = kind.after(value, 1)
        seen.append(value)
    assert seen == [2, 3, 4, 6, 8, 12, 16, 24, 32, 48]
    assert kind.after(5, 1) == 6 and kind.after(5, -1) == 4
    assert kind.after(2, -1) == 2, "not below the least that the key takes"
    assert kind.after(10**12, 1) == 10**12


def test_choices_go_around() -> None:
    kind = Kind(choices=("none", "full"))
    assert [kind.after("none", 1), kind.after("full", 1), kind.after("none", -1)] == ["full", "none", "full"]
    assert kind.after("unheard of", 1) == "none"


def test_every_setting_of_a_config_has_a_value_and_its_neighbours(config: Path) -> None:
    """Also when its data is not there: memory can be known without."""
    asked = what_if(config)
    for setting in SETTINGS[1:]:
        assert asked.step(setting.key, 1) and asked.is_changed(setting.key)
        assert asked.opened.kinds[setting.key].description
    assert len(asked.changes) == len(SETTINGS) - 1


def test_a_value_that_is_the_configs_own_again_is_no_change(config: Path) -> None:
    asked = what_if(config)
    assert asked.set({BATCH: 4, RELEASE: True}) and not asked.set({BATCH: 4})
    assert asked.set({BATCH: 1}) and asked.changes == {RELEASE: True}
    assert asked.undo() and asked.changes == {BATCH: 4, RELEASE: True}
    assert asked.reset() and not asked.changes and not asked.reset()
    assert asked.undo() and asked.value(BATCH) == 4


def test_the_gpu_is_taken_back_like_a_value(config: Path) -> None:
    asked = what_if(config)
    assert asked.aim(Target("H200")) and asked.aim(Target(memory=24.0))
    assert asked.wanted.target.params == {"gpu": None, "gpu_memory_gb": 24.0} and str(asked.wanted.target) == "24 GiB"
    assert asked.undo() and asked.wanted.target == Target("H200")


def test_what_is_written_has_the_overrides_of_the_command_line_too(config: Path) -> None:
    asked = what_if(config, f"--{BATCH}", "2", "--train.epochs=3")
    assert not asked.changes and asked.to_write == {BATCH: 2, "train.epochs": 3.0}
    asked.set({BATCH: 8, RELEASE: True})
    assert asked.to_write == {BATCH: 8, "train.epochs": 3.0, RELEASE: True}


def test_overrides_that_the_file_needs_to_make_sense_are_written(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("data:\n  dataset: gone.jsonl\n")
    asked = what_if(path, "--model.name_or_path", "Qwen/Qwen3-4B")
    assert asked.to_write == {"model.name_or_path": "Qwen/Qwen3-4B"}


def test_overrides_are_read_in_both_forms() -> None:
    assert values_given(["--a.b", "1", "--c.d=x=y", "--a.b", "2"]) == {"a.b": "2", "c.d": "x=y"}


def test_values_are_shown_as_people_write_them() -> None:
    assert [shown_value(one) for one in (True, False, 2048, "full", None)] == ["on", "off", "2 048", "full", "None"]


def test_a_config_that_makes_no_sense_says_why(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("model: {}\n")
    with pytest.raises(ValueError, match="name_or_path"):
        open_config(path, ())
