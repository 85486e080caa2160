"""Stray mouse reports of every protocol are no keys, however they are torn."""

import os
import pty
import time
import tty
from collections.abc import Sequence
from itertools import pairwise
from threading import Event, Thread, Timer
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.constants import ESCAPE_DELAY

from pgs_tui.terminal.driver import SturdyDriver
from pgs_tui.terminal.mouse_reports import MouseReports

X10 = b"\x1b[M \x7f!"
FAR_X10 = b"\x1b[M\x43\xff\xfe"
UTF8_1005 = b"\x1b[M \xc3\xa9\xdf\xbf"
SGR_1006 = b"\x1b[<35;210;99M"
URXVT_1015 = b"\x1b[67;210;99M"
PROTOCOLS = (X10, FAR_X10, UTF8_1005, SGR_1006, URXVT_1015)


def keys_of(pieces: Sequence[bytes]) -> list[str]:
    """The keys that a parser sees when the bytes come in these pieces."""
    reports, parser, found = MouseReports(), XTermParser(), []
    for piece in pieces:
        if text := reports.feed(piece).decode("utf-8", "replace"):
            found += [message.key for message in parser.feed(text) if isinstance(message, events.Key)]
    return found


@pytest.mark.parametrize("report", PROTOCOLS)
def test_a_report_is_no_key_wherever_it_is_torn(report: bytes) -> None:
    for place in range(len(report) + 1):
        assert keys_of([b"j" + report[:place], report[place:] + b"k"]) == ["j", "k"], place
    assert keys_of([bytes((byte,)) for byte in b"j" + report + b"k"]) == ["j", "k"]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*PROTOCOLS, b"j", b"\x1b[A"]), max_size=8), st.lists(st.integers(1, 60), max_size=8))
def test_keys_between_reports_arrive(sent: list[bytes], cuts: list[int]) -> None:
    data = b"".join(sent)
    places = sorted({0, len(data), *(place for place in cuts if place < len(data))})
    pieces = [data[begin:end] for begin, end in pairwise(places)]
    assert keys_of(pieces) == [{b"j": "j"}.get(one, "up") for one in sent if one in (b"j", b"\x1b[A")]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.binary(max_size=12), max_size=6))
def test_any_bytes_pass_and_no_report_is_cut_into_keys(pieces: list[bytes]) -> None:
    reports, parser = MouseReports(), XTermParser()
    for piece in pieces:
        if text := reports.feed(piece).decode("utf-8", "replace"):
            list(parser.feed(text))
    if reports.is_open:
        assert reports.closing() != b"" and not reports.is_open


def test_a_report_that_another_one_cuts_short_eats_nothing() -> None:
    assert keys_of([b"\x1b[M !", X10 + b"j"]) == ["j"]


class Typed(SturdyDriver):
    """A driver of a terminal of its own, which collects what it would pass on."""

    def __init__(self, descriptor: int, mouse: bool) -> None:
        self.fileno, self.exit_event, self.passed = descriptor, Event(), list[str]()
        self._debug, self._mouse, self._app, self.cursor_origin = False, mouse, App(), None
        self._down_buttons, self._last_move_event = [], None

    def send_message(self, message: Any) -> None:
        self.passed.append(message.key if isinstance(message, events.Key) else type(message).__name__)
        if self.passed[-1] == "q":
            self.exit_event.set()


def passed(mouse: bool, *pieces: bytes) -> list[str]:
    """What a driver passes on until a q, with a pause between the pieces that is longer than that behind an Escape."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    driver = Typed(slave, mouse)
    guard = Timer(10, driver.exit_event.set)
    guard.start()
    reading = Thread(target=driver.run_input_thread)
    reading.start()
    try:
        for place, piece in enumerate(pieces):
            time.sleep(2.5 * ESCAPE_DELAY if place else 0)
            os.write(master, piece)
        reading.join()
    finally:
        guard.cancel()
        os.close(master)
        os.close(slave)
    return driver.passed


@pytest.mark.parametrize(("mouse", "seen"), [(False, ["up", "q"]), (True, ["MouseMove", "up", "q"])])
def test_a_mouse_that_nobody_asked_for_is_not_heard(mouse: bool, seen: list[str]) -> None:
    assert passed(mouse, SGR_1006 + X10 + b"\x1b[M\x1b[Aq") == seen


def test_a_slow_link_makes_no_keys_of_reports_and_an_escape_is_one() -> None:
    assert passed(False, b"\x1b[<35;2", b"10;99M\x1b[M ", b"\xff\xfe\x1b", b"\x1b[A", b"q") == ["escape", "up", "q"]
