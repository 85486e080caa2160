"""What a file is, by what stands in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.events.foreign.recognised import READ, recognised
from engine.events.foreign.told import NotReadableError
from tests.foreign.samples import BOARD, CONSOLE, STATE, TENSORS, TRAINER, evals_of, events_of, scalar, steps_of


@pytest.mark.parametrize(
    ("path", "kind"),
    (
        (STATE, "trainer_state"),
        (TRAINER, "trainer_state"),
        (next(BOARD.iterdir()), "tensorboard"),
        (BOARD, "tensorboard"),
        (BOARD.parent, "tensorboard"),
        (TENSORS, "tensorboard"),
        (CONSOLE, "log"),
    ),
)
def test_it_is_known_by_its_content_and_not_by_its_name(path: Path, kind: str, tmp_path: Path) -> None:
    assert recognised(path).kind == kind
    if path.is_file():
        renamed = tmp_path / "anything.bin"
        shutil.copy(path, renamed)
        assert recognised(renamed).kind == kind


@pytest.mark.parametrize(
    ("content", "found"),
    ((b"", "is empty so far"), (b"hello\nworld\n", "has no line that tells of a step"), (b"\0\1\2" * 50, "is no text")),
)
def test_what_is_none_of_them_is_told_in_one_sentence(content: bytes, found: str, tmp_path: Path) -> None:
    path = tmp_path / "some.thing"
    path.write_bytes(content)
    with pytest.raises(NotReadableError) as caught:
        recognised(path)
    assert str(caught.value) == f"{path} {found}; {READ}"


def test_a_folder_of_nothing_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(NotReadableError, match="holds nothing that can be shown; read are runs"):
        recognised(tmp_path)
    with pytest.raises(NotReadableError, match="cannot be read: No such file"):
        recognised(tmp_path / "none")


def test_of_several_runs_of_tensorboard_the_newest_is_shown_and_the_others_are_named(tmp_path: Path) -> None:
    import os

    for number, name in enumerate(("version_0", "version_1")):
        folder = tmp_path / name
        folder.mkdir()
        file = folder / "events.out.tfevents.1.box.1"
        file.write_bytes(scalar(1, "loss", 1.0))
        os.utime(file, (1000 + number, 1000 + number))
    found = recognised(tmp_path)
    assert found.path == tmp_path / "version_1"
    assert "1 other folders" in found.note


def test_a_table_is_a_log_and_its_empty_cells_are_no_values(tmp_path: Path) -> None:
    """As Lightning writes it: evaluations in rows of their own."""
    (tmp_path / "metrics.csv").write_text(
        "epoch,step,train_loss,lr-AdamW,val_loss\n0,9,2.5,0.001,\n0,19,2.25,0.001,\n0,19,,,2.4\n1,29,2.0,0.0005,\n"
    )
    events = events_of(tmp_path)
    assert [(step.step, step.loss, step.lr) for step in steps_of(events)] == [
        (9, 2.5, 0.001),
        (19, 2.25, 0.001),
        (29, 2.0, 0.0005),
    ]
    assert [(one.step, one.loss) for one in evals_of(events)] == [(19, 2.4)]


def test_lines_of_json_are_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"step": 1, "loss": 3.0, "_timestamp": 1700000001.5}\n{"step": 2, "loss": null, "val/loss": 2.5}\n'
    )
    events = events_of(path)
    assert [step.step for step in steps_of(events)] == [1]
    assert [one.loss for one in evals_of(events)] == [2.5]
