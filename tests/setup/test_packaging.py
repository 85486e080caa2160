"""What the wheel holds: three packages, the configs, the styles, two commands."""

from __future__ import annotations

import configparser
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.setup.conftest import REPOSITORY


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(REPOSITORY)], check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def _project_files() -> set[str]:
    """Every file of the packages and configs that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(
        [*command, "engine", "pgs_tui", "screens", "configs"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name for name in listing.stdout.splitlines() if (REPOSITORY / name).is_file()}


def _place_in_wheel(name: str) -> str:
    return f"pgs_tui/{name}" if name.startswith("configs/") else name


def test_the_wheel_holds_every_file_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == {_place_in_wheel(name) for name in _project_files()}
    assert "pgs_tui/configs/quickstart.yaml" in held
    assert {Path(name).parts[0] for name in held} == {"engine", "pgs_tui", "screens"}


def test_the_wheel_brings_the_licence_and_the_two_commands(wheel: zipfile.ZipFile) -> None:
    information = {Path(name).name: name for name in wheel.namelist() if ".dist-info/" in name}
    assert "LICENSE" in information
    entry_points = configparser.ConfigParser()
    entry_points.read_string(wheel.read(information["entry_points.txt"]).decode())
    assert dict(entry_points["console_scripts"]) == {"pgs-tui": "pgs_tui.cli:main", "pgs": "engine.cli:main"}


def test_the_configs_of_an_installed_wheel_are_found(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    script = (
        "import importlib.resources as resources, pgs_tui;"
        "print(pgs_tui.__file__, (resources.files('pgs_tui') / 'configs' / 'quickstart.yaml').is_file())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(tmp_path / "pgs_tui" / "__init__.py"), "True"]


@pytest.mark.parametrize("command", [["pgs"], ["pgs-tui"], ["python", "-m", "engine"]])
def test_the_commands_start(command: list[str], tmp_path: Path) -> None:
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run([program, *command[1:], "--help"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "usage" in done.stdout.lower()


def test_the_pins_cover_every_dependency() -> None:
    import tomllib

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    names = {requirement.split(">")[0].split("=")[0].split("<")[0].lower().replace("_", "-") for requirement in wanted}
    assert names <= pinned


def test_the_kernels_of_a_gpu_are_an_extra_that_nothing_else_needs() -> None:
    import tomllib

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    kernels = {requirement.split(">=")[0] for requirement in project["optional-dependencies"]["gpu"]}
    assert kernels == {"flash-linear-attention", "tilelang", "torchao"}
    assert not kernels & {requirement.split(">")[0] for requirement in project["dependencies"]}


def test_the_wheel_brings_the_shapes_that_need_no_download(wheel: zipfile.ZipFile) -> None:
    assert "engine/model/architectures/Qwen/Qwen3.5-4B/config.json" in wheel.namelist()


def test_random_weights_find_the_small_tokenizer_of_an_installed_wheel(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    script = (
        "from engine.config import Model;"
        "from engine.model.hub import local_folder;"
        "from engine.model.tokenizer import load_tokenizer;"
        "folder = local_folder('Qwen/Qwen3-4B', False, print, 'random');"
        "print(len(load_tokenizer(folder, Model(name_or_path='Qwen/Qwen3-4B', init='random'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "3072"
