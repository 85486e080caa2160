import io
import sys
from pathlib import Path

import pytest

from engine.session.console import Tee, copied_to


def test_everything_printed_is_copied_to_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "console.log"
    with copied_to(log) as console:
        console.say("step=1  loss=2")
        sys.stderr.write("a warning\n")
        console.log_only("Traceback ...")
    printed = capsys.readouterr()
    assert printed.out == "step=1  loss=2\n" and printed.err == "a warning\n"
    assert log.read_text() == "step=1  loss=2\na warning\nTraceback ...\n"


class GoneTerminal(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")


def test_a_terminal_that_is_gone_does_not_end_the_run() -> None:
    log = io.StringIO()
    tee = Tee(GoneTerminal(), log)
    tee.write("one\n")
    tee.write("two\n")
    assert log.getvalue() == "one\ntwo\n"
    assert not tee.isatty()


def test_the_streams_come_back_even_after_an_error(tmp_path: Path) -> None:
    before = sys.stdout, sys.stderr
    with pytest.raises(KeyError), copied_to(tmp_path / "console.log"):
        raise KeyError
    assert (sys.stdout, sys.stderr) == before


def test_closed_streams_are_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with copied_to(tmp_path / "console.log") as console:
        console.say("step=1")
    assert sys.stdout is None
    assert (tmp_path / "console.log").read_text() == "step=1\n"


def test_a_stream_that_is_the_log_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "console.log"
    with log.open("a") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with copied_to(log) as console:
            console.say("step=1")
    assert log.read_text() == "step=1\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("is_stdout_too", [False, True], ids=["foreground", "launcher"])
def test_a_log_without_space_does_not_end_the_run(is_stdout_too: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    with full.open("a") as stream:
        if is_stdout_too:
            monkeypatch.setattr(sys, "stdout", stream)
        with copied_to(full) as console:
            console.say("step=1")
            console.log_only("Traceback ...")
