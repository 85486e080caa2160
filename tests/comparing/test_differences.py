"""Which keys differ between the configs of several runs."""

from pathlib import Path

import pytest

from engine.config import dump_config, load_config
from pgs_tui.comparing.differences import differences_of

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"


def config(folder: Path, *flags: str) -> Path:
    path = folder / "config.yaml"
    folder.mkdir()
    path.write_text(dump_config(load_config(QUICKSTART, list(flags), check_files=False).config))
    return path


def test_each_key_is_told_once_with_the_value_of_each_run(tmp_path: Path) -> None:
    paths = [
        config(tmp_path / "a"),
        config(tmp_path / "b", "--train.seed", "7", "--train.epochs", "9"),
        config(tmp_path / "c", "--train.epochs", "5"),
    ]
    found = differences_of(paths)
    told = {one.key: one.values for one in found.keys}
    assert told["train.seed"] == (told["train.seed"][0], "7", told["train.seed"][0])
    assert told["train.epochs"][1:] == ("9.0", "5.0")
    assert set(told) == {"train.seed", "train.epochs"}
    assert found.unread == () and found.known == 3


def test_runs_without_a_config_are_named_and_the_others_compared(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("train: [")
    found = differences_of(
        [tmp_path / "missing.yaml", config(tmp_path / "a"), broken, config(tmp_path / "b", "--train.seed", "7")]
    )
    assert found.unread[0] == (0, "it has no config")
    assert found.unread[1][0] == 2 and "cannot be read" in found.unread[1][1]
    (one,) = found.keys
    assert (one.key, one.values[0], one.values[2], one.values[3]) == ("train.seed", None, None, "7")


@pytest.mark.parametrize("count", [0, 1])
def test_with_less_than_two_configs_nothing_differs(tmp_path: Path, count: int) -> None:
    found = differences_of([config(tmp_path / str(number)) for number in range(count)])
    assert found.keys == () and found.known == count
