"""`pgs-tui inspect` in a real terminal, and without one."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.terminal.terminal import ROOT, Terminal, environment, program
from tests.terminal.test_tmux import Tmux

pytestmark = pytest.mark.terminal

LONG = "word " * 40_000
CHATS = [
    ("see [/] here", "[red]ok[/red]"),
    ("a\u200bb\ufeffc\u00add\u00a0e\n\n f", "x"),
    ("smile", "\U0001f600"),
    ("\x1b[31mred\x1b[0m\x07", "\x1b]0;title\x07"),
    (LONG, "ok"),
]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config whose data holds one row of each kind that could harm a screen."""
    rows = [[{"role": "user", "content": asked}, {"role": "assistant", "content": said}] for asked, said in CHATS]
    (tmp_path / "odd.jsonl").write_text("".join(json.dumps({"messages": row}) + "\n" for row in rows))
    path = tmp_path / "odd.yaml"
    path.write_text(
        f"model:\n  name_or_path: {ROOT / 'configs/quickstart/model'}\n  init: random\n"
        "data:\n  dataset: odd.jsonl\n  max_seq_length: 200000\n"
    )
    return path


def test_odd_rows_in_a_real_terminal(config: Path, tmp_path: Path) -> None:
    terminal = Terminal(program("inspect", str(config)), environment(tmp_path), size=(120, 36))
    try:
        terminal.wait_for("leave", "odd")
        terminal.wait_for("✔ audited", "see [/] here", "[red]ok[/red]<|im_end|>")
        terminal.type(b"j")
        terminal.wait_for("a‹U+200B›b‹U+FEFF›c‹U+00AD›d‹U+00A0›e⏎", "HIDDEN_CHARACTERS  4")
        terminal.type(b"jt")
        terminal.wait_for("<F0>", "<9F>", "<98>", "<80>")
        terminal.type(b"tj")
        terminal.wait_for("‹ESC›[31mred‹ESC›[0m‹BEL›", "‹ESC›]0;title‹BEL›<|im_end|>")
        assert b"\x1b[31mred" not in terminal.output and b"title\x07" not in terminal.output
        terminal.type(b"j\r")
        terminal.wait_for("word word word", "80 011 tokens")
        terminal.type(b"e")
        terminal.wait_for("┃ ok<|im_end|>", "the assistant has to produce it")
        terminal.type(b"q")
        assert terminal.wait_for_end() == 0
        assert terminal.attributes_now() == terminal.attributes
    finally:
        terminal.close()


@pytest.mark.needs("tmux")
def test_shrinking_and_growing_the_window_keeps_the_place_in_a_long_row(config: Path, tmp_path: Path) -> None:
    variables = environment(tmp_path, TERM="screen-256color")
    tmux = Tmux(program("inspect", str(config), "--row", "4"), variables, (80, 24))
    try:
        tmux.wait_for("✔ audited", "word word")
        tmux.run("send-keys", "Enter", "e")
        tmux.wait_for("┃ ok<|im_end|>")
        for columns, rows in ((20, 5), (1, 1), (200, 2), (2, 60), (80, 24)):
            tmux.run("resize-window", "-x", str(columns), "-y", str(rows))
            time.sleep(0.3)
        tmux.wait_for("┃ ok<|im_end|>", "╭─ rows", "›   4")
    finally:
        tmux.close()


def test_a_config_with_a_fault_is_told_on_stderr(config: Path, tmp_path: Path) -> None:
    config.write_text(config.read_text().replace("dataset", "datasett"))
    terminal = Terminal(program("inspect", str(config)), environment(tmp_path))
    try:
        assert terminal.wait_for_end() == 2
        tail = terminal.output[terminal.output.rindex(b"\x1b[?1049l") :].decode()
        assert "odd.yaml" in tail and "datasett" in tail and "Traceback" not in tail
    finally:
        terminal.close()


def test_a_locale_without_utf8_gets_ascii(config: Path, tmp_path: Path) -> None:
    bare = environment(tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    terminal = Terminal(program("inspect", str(config), "--row", "2"), bare)
    try:
        terminal.wait_for("+ audited", "<U+1F600>")
        terminal.type(b"q")
        assert terminal.wait_for_end() == 0
        assert terminal.output.isascii()
    finally:
        terminal.close()


def test_without_a_terminal_rows_are_printed_and_no_escape(config: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        program("inspect", str(config), "--row", "3"),
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"red" in done.stdout and b"Traceback" not in done.stderr


def test_a_dumb_terminal_gets_rows_and_no_escape(config: Path, tmp_path: Path) -> None:
    terminal = Terminal(program("inspect", str(config), "--row", "0"), environment(tmp_path, TERM="dumb"))
    try:
        assert terminal.wait_for_end() == 0
        assert b"\x1b" not in terminal.output
        assert b"see [/] here" in terminal.output
    finally:
        terminal.close()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("inspect", "nowhere.yaml"), b"nowhere.yaml: no such config"),
        (("inspect", "a", "b"), b"one config or run at a time"),
        (("inspect", "--row", "x"), b"rows are counted from 0"),
        (("--row", "3"), b"--row belongs to inspect"),
    ],
)
def test_usage_errors_never_touch_the_screen(arguments: tuple[str, ...], reason: bytes, tmp_path: Path) -> None:
    terminal = Terminal(program(*arguments), environment(tmp_path))
    try:
        assert terminal.wait_for_end() == 2
        assert reason in terminal.output and b"\x1b" not in terminal.output
    finally:
        terminal.close()
