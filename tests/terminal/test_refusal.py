"""What cannot be started is said on the restored terminal."""

from pathlib import Path

import pytest

from tests.terminal.terminal import ROOT, Terminal, environment, program
from tests.terminal.test_restore import MAIN_SCREEN, assert_restored

pytestmark = pytest.mark.terminal

QUICKSTART = str(ROOT / "configs" / "quickstart.yaml")


def refused(tmp_path: Path, *arguments: str) -> tuple[int, str]:
    """The exit code, and what stands on the terminal afterwards."""
    terminal = Terminal(program(*arguments), environment(tmp_path))
    try:
        code = terminal.wait_for_end()
        assert_restored(terminal, terminal.output)
        return code, terminal.output[terminal.output.rindex(MAIN_SCREEN) :].decode()
    finally:
        terminal.close()


def test_a_config_with_mistakes(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("model:\n  nam_or_path: '[/] x'\ntrain:\n  max_stepz: 3\n")
    code, said = refused(tmp_path, str(config))
    assert code == 2
    assert "did you mean model.name_or_path?" in said
    assert "did you mean train.max_steps?" in said
    assert "[/] x" in said


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, said = refused(tmp_path, QUICKSTART, "--train.output_dir", str(tmp_path / "file"))
    assert code == 1
    assert f"the run's directory cannot be made: File exists: {tmp_path / 'file'}" in said
    assert "train.output_dir names the folder" in said
