from pathlib import Path

import pytest

from pgs_tui.invocation import own_command


def nowhere(name: str) -> None:
    return None


def test_the_plain_name_where_the_shell_finds_it(tmp_path: Path) -> None:
    assert own_command(str(tmp_path / "pgs-tui"), lambda name: f"/usr/bin/{name}") == "pgs-tui"


def test_else_the_path_of_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert own_command(str(tmp_path / ".venv/bin/pgs-tui"), nowhere) == ".venv/bin/pgs-tui"
    assert own_command("/some where/pgs-tui", nowhere) == "'/some where/pgs-tui'"


def test_a_module_that_was_started_by_python_is_called_by_its_name() -> None:
    assert own_command("/site-packages/pgs_tui/__main__.py", nowhere) == "pgs-tui"
