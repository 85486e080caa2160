from pathlib import Path

from pgs_tui.runs.console import ConsoleTail, last_lines


def test_lines_come_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    tail = ConsoleTail(path)
    assert tail.poll() == ()
    path.write_text("one\ntw")
    assert tail.poll() == ("one",)
    with path.open("a") as file:
        file.write("o\nthree\n")
    assert tail.poll() == ("two", "three")
    assert tail.poll() == ()


def test_a_letter_cut_between_two_reads_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    tail = ConsoleTail(path)
    lines: tuple[str, ...] = ()
    for byte in "café 漢\n".encode():
        with path.open("ab") as file:
            file.write(bytes([byte]))
        lines += tail.poll()
    assert lines == ("café 漢",)


def test_a_log_that_was_emptied_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_text("a long first line\n")
    tail = ConsoleTail(path)
    tail.poll()
    path.write_text("new\n")
    assert tail.poll() == ("note: log was emptied, reading from the start", "new")


def test_a_log_that_was_replaced_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_text("old\n")
    tail = ConsoleTail(path)
    tail.poll()
    other = tmp_path / "other"
    other.write_text("new and longer\n")
    other.replace(path)
    note, line = tail.poll()
    assert note.startswith("note: log was replaced") and line == "new and longer"


def test_a_log_that_was_emptied_and_has_grown_past_its_old_end_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_text("step=1 loss=2.0\nstep=2 loss=1.9\n")
    tail = ConsoleTail(path)
    tail.poll()
    path.write_text("".join(f"step={step} loss=3.0\n" for step in range(1, 9)))
    note, *lines = tail.poll()
    assert note == "note: log was emptied and written anew, reading from the start"
    assert lines == [f"step={step} loss=3.0" for step in range(1, 9)]


def test_of_a_progress_bar_the_newest_state_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(b"1%\r50%\r100%\nnext\n")
    assert ConsoleTail(path).poll() == ("100%", "next")


def test_of_a_long_log_only_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_text("".join(f"line {number}\n" for number in range(10_000)))
    lines = ConsoleTail(path, tail_bytes=100).poll()
    assert lines[-1] == "line 9999"
    assert len(lines) < 12
    assert lines[0].startswith("line "), "the first, torn line is left out"


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(b"bad \xff byte\r\nnext\n")
    assert ConsoleTail(path).poll() == ("bad \ufffd byte", "next")


def test_last_lines_include_the_unfinished_one(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_text("one\n\ntwo\nTraceback: cut of")
    assert last_lines(path, 2) == ("two", "Traceback: cut of")
    assert last_lines(tmp_path / "none", 2) == ()
