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
