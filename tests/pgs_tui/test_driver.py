"""The driver knows when the terminal does not keep up."""

import threading

from textual.drivers._writer_thread import WriterThread

from pgs_tui.terminal.driver import SturdyDriver


class StalledFile:
    """A terminal that takes nothing until it is told to."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.taken = ""

    def write(self, text: str) -> None:
        assert self.goes_on.wait(10)
        self.taken += text

    def flush(self) -> None:
        """There is nothing to flush."""


def test_a_terminal_that_takes_nothing_is_behind_until_it_has_taken_all() -> None:
    driver, file = object.__new__(SturdyDriver), StalledFile()
    driver._writer_thread = None
    assert not driver.is_behind, "before the start"
    driver._writer_thread = writer = WriterThread(file)  # type: ignore[arg-type]
    writer.start()
    writer.write("one")
    writer.write("two")
    assert driver.is_behind
    file.goes_on.set()
    writer.stop()
    assert file.taken == "onetwo"
    assert not driver.is_behind
