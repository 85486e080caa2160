from pathlib import Path

import pytest

from engine.events.text_reader import TextReader


def test_a_line_that_is_being_written_waits_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(b"step=1 loss=2.0\nstep=2 lo")
    reader = TextReader(path)
    assert reader.poll().lines == ("step=1 loss=2.0",)
    assert reader.offset == len(b"step=1 loss=2.0\n")
    with path.open("ab") as file:
        file.write(b"ss=1.9\n")
    assert reader.poll().lines == ("step=2 loss=1.9",)
    assert reader.poll().lines == ()


@pytest.mark.parametrize("cut", (1, "café".encode().index(0xC3) + 1))
def test_a_letter_cut_between_two_reads_stays_whole(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "train.log"
    reader = TextReader(path)
    written, lines = "café 漢\n".encode(), ()
    for start in range(0, len(written), cut):
        with path.open("ab") as file:
            file.write(written[start : start + cut])
        lines += reader.poll().lines
    assert lines == ("café 漢",)


def test_a_log_that_was_emptied_in_place_is_read_from_its_start_and_told(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"step={step} loss=2.0\n" for step in range(1, 30)))
    reader = TextReader(path)
    assert len(reader.poll().lines) == 29
    path.write_text("step=1 loss=3.0\nstep=2 loss=2.9\n")
    batch = reader.poll()
    assert batch.lines == ("step=1 loss=3.0", "step=2 loss=2.9")
    assert batch.restarted and batch.notes == ("log was emptied, reading from the start",)


def test_a_log_that_was_emptied_and_has_grown_past_the_old_place_is_read_from_its_start_and_told(
    tmp_path: Path,
) -> None:
    path = tmp_path / "train.log"
    path.write_text("step=1 loss=2.0\n")
    reader = TextReader(path)
    reader.poll()
    inode = path.stat().st_ino
    path.write_text("ep=3 loss=4\nand a line that is far longer than the first one was\n")
    assert path.stat().st_ino == inode
    batch = reader.poll()
    assert batch.lines == ("ep=3 loss=4", "and a line that is far longer than the first one was")
    assert batch.restarted and len(batch.notes) == 1


def test_a_log_that_was_rotated_is_read_from_the_start_of_the_new_file_and_told(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("step=1 loss=2.0\n")
    reader = TextReader(path)
    reader.poll()
    path.rename(tmp_path / "train.log.1")
    assert reader.poll().lines == ()
    path.write_text("step=2 loss=1.9 and more\n")
    batch = reader.poll()
    assert batch.lines == ("step=2 loss=1.9 and more",)
    assert "replaced" in batch.notes[0]


def test_each_state_of_a_progress_bar_is_a_line_even_before_there_is_a_newline(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(b"step=1 loss=2.0\rstep=2 loss=1.9\r")
    reader = TextReader(path)
    assert reader.poll().lines == ("step=1 loss=2.0",), "the last one may end in \\r\\n"
    with path.open("ab") as file:
        file.write(b"\nnext\r\n")
    assert reader.poll().lines == ("step=2 loss=1.9", "next")


def test_a_line_longer_than_what_is_read_at_once_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("x" * 100 + "\nshort\n")
    reader = TextReader(path, chunk_bytes=16)
    lines: tuple[str, ...] = ()
    while batch := reader.poll().lines:
        lines += batch
    assert lines == ("x" * 100, "short")


def test_an_unfinished_last_line_is_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("one\ntw")
    reader = TextReader(path)
    assert reader.poll().lines == ("one",)
    assert reader.rest() == ("tw",)
    assert reader.rest() == ()
