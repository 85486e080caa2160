from pathlib import Path

import pytest

from pgs_tui.configs import ConfigNotFoundError, configs_folder, find_config, names, short_name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("quickstart", "qwen35_4b/a100_40gb", "qwen35_4b/h100_80gb"):
        path = tmp_path / "configs" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("model: {}\n")
    return tmp_path / "configs"


def test_the_default_comes_with_the_program() -> None:
    assert find_config(None) == configs_folder() / "quickstart.yaml"


def test_a_path_goes_before_a_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quickstart").write_text("model: {}\n")
    assert find_config("quickstart", folder) == Path("quickstart")


@pytest.mark.parametrize("text", ["qwen35_4b/a100_40gb", "qwen35_4b/a100_40gb.yaml"])
def test_a_name_is_found_below_the_configs(
    folder: Path, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_config(text, folder) == folder / "qwen35_4b/a100_40gb.yaml"


@pytest.mark.parametrize("text", ["quikstart", "configs/quickstrat.yaml"])
def test_the_nearest_names_are_offered(folder: Path, text: str) -> None:
    with pytest.raises(ConfigNotFoundError, match="did you mean quickstart"):
        find_config(text, folder)


def test_without_a_near_name_all_are_named(folder: Path) -> None:
    with pytest.raises(ConfigNotFoundError, match="there are quickstart, qwen35_4b/a100_40gb"):
        find_config("zzzz", folder)


def test_names_are_sorted(folder: Path) -> None:
    assert names(folder) == ["quickstart", "qwen35_4b/a100_40gb", "qwen35_4b/h100_80gb"]


@pytest.mark.parametrize(
    ("path", "name"),
    [("/x/configs/a/b.yaml", "a/b"), ("/x/my.yaml", "my"), ("configs/quickstart.yaml", "quickstart")],
)
def test_short_names(path: str, name: str) -> None:
    assert short_name(Path(path)) == name
