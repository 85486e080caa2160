"""Which editor is opened, and what is said when it cannot be."""

import shutil
import sys
from pathlib import Path

import pytest

from pgs_tui.picking.editor import NoEditorError, edit, editor_command


def only(*names: str):  # type: ignore[no-untyped-def]
    """A machine that has these programs and no others."""
    return lambda name: f"/bin/{name}" if name in names else None


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"VISUAL": "code --wait", "EDITOR": "vi"}, ("code", "--wait")),
        ({"EDITOR": "vi"}, ("vi",)),
        ({"VISUAL": "  ", "EDITOR": "emacs -nw -Q"}, ("emacs", "-nw", "-Q")),
        ({"EDITOR": "'my editor' --at 'a b'"}, ("my editor", "--at", "a b")),
        ({}, ("nano",)),
    ],
)
def test_the_editor_of_the_person_with_its_arguments(environment: dict[str, str], words: tuple[str, ...]) -> None:
    assert editor_command(environment, only("code", "vi", "emacs", "my editor", "nano")) == words


def test_vi_where_there_is_no_nano() -> None:
    assert editor_command({}, only("vi")) == ("vi",)


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({}, "set EDITOR"),
        ({"EDITOR": "emcas -nw"}, "EDITOR names emcas, which is not there"),
        ({"VISUAL": "code 'open"}, "VISUAL=code 'open cannot be read"),
    ],
)
def test_what_is_missing_is_said(environment: dict[str, str], says: str) -> None:
    with pytest.raises(NoEditorError, match=says):
        editor_command(environment, only("code"))


def test_the_file_is_edited(tmp_path: Path) -> None:
    path = tmp_path / "a b.yaml"
    path.write_text("old")
    code = "import sys, pathlib; pathlib.Path(sys.argv[2]).write_text(sys.argv[1])"
    edit(path, (sys.executable, "-c", code, "new"))
    assert path.read_text() == "new"


def test_an_editor_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoEditorError, match="false ended with exit code 1"):
        edit(tmp_path / "a.yaml", (shutil.which("false") or "false",))
    with pytest.raises(NoEditorError, match="nothing-there cannot be started"):
        edit(tmp_path / "a.yaml", ("nothing-there",))
