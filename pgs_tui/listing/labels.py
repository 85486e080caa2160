"""What a person has written to a run: tags and a note, in `notes.json` of its folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

FILE_NAME = "notes.json"
VERSION = 1
MOST_BYTES = 64 * 1024
MOST_TAGS = 32
LONGEST_TAG = 40
LONGEST_NOTE = 4000


class LabelsError(ValueError):
    """The tags or the note cannot be kept; the text says why."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Tags are single words, each once, in the order in which they were written."""

    tags: tuple[str, ...] = ()
    note: str = ""


NONE = Labels()


def tags_of(written: str) -> tuple[str, ...]:
    """The tags in a line that a person wrote: words between blanks or commas. Raises LabelsError."""
    words = [word.lstrip("#") for word in written.replace(",", " ").split()]
    tags = tuple(dict.fromkeys(word for word in words if word))
    for tag in tags:
        if len(tag) > LONGEST_TAG:
            raise LabelsError(f"a tag has at most {LONGEST_TAG} characters: {tag[:LONGEST_TAG]}… is longer")
        if ":" in tag or not tag.isprintable():
            raise LabelsError(f"a tag is a word without colons: {tag}")
    if len(tags) > MOST_TAGS:
        raise LabelsError(f"a run has at most {MOST_TAGS} tags, these are {len(tags)}")
    return tags


def note_of(written: str) -> str:
    """The note that a person wrote. Raises LabelsError."""
    note = " ".join(written.split())
    if len(note) > LONGEST_NOTE:
        raise LabelsError(f"a note has at most {LONGEST_NOTE} characters, this has {len(note)}")
    return note


def labels_of_text(text: str | bytes) -> Labels:
    """What a `notes.json` says; what it should not say is left out, and anything else says nothing."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return NONE
    if not isinstance(record, dict) or record.get("v") != VERSION:
        return NONE
    tags, note = record.get("tags"), record.get("note")
    words = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    kept = tuple(dict.fromkeys(tag[:LONGEST_TAG] for tag in words if tag.strip()))[:MOST_TAGS]
    return Labels(kept, note[:LONGEST_NOTE] if isinstance(note, str) else "")


def read_labels(run: Path) -> Labels:
    """The run's tags and note; none where there are none, or they cannot be read."""
    try:
        descriptor = os.open(run / FILE_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return labels_of_text(file.read(MOST_BYTES))
    except OSError:
        return NONE


def write_labels(run: Path, labels: Labels) -> None:
    """Keep them, in one move, as open to others as the run's folder is. Raises OSError."""
    record = {"v": VERSION, "tags": list(labels.tags), "note": labels.note}
    temporary = run / f"{FILE_NAME}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with os.fdopen(os.open(temporary, flags, run.stat().st_mode & 0o666), "w", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(run / FILE_NAME)
