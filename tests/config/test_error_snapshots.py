"""The exact words for broken configs. Each file in `snapshots` holds a config, a line of `======`, and what is said.

After a change of wording on purpose: `python tests/config/test_error_snapshots.py` writes them anew.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from engine.config import ConfigError, load_config

SNAPSHOTS = sorted((Path(__file__).parent / "snapshots").glob("*.txt"))
SEPARATOR = "======\n"


def what_is_said(config: str, folder: Path) -> str:
    """The text of the refusal, with the folder's own path taken out."""
    Path("bad.yaml").write_text(config)
    with pytest.raises(ConfigError) as refusal:
        load_config("bad.yaml")
    return f"{refusal.value}\n".replace(str(folder), "<folder>")


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=lambda path: path.stem)
def test_a_broken_config_is_refused_in_these_words(snapshot: Path, folder: Path) -> None:
    config, expected = snapshot.read_text().split(SEPARATOR)
    assert what_is_said(config, folder) == expected


def write_anew() -> None:
    """Writes what is said now into every snapshot."""
    for snapshot in SNAPSHOTS:
        config = snapshot.read_text().split(SEPARATOR)[0]
        with tempfile.TemporaryDirectory() as name:
            os.chdir(name)
            folder = Path.cwd()
            Path("chats.jsonl").write_text('{"messages": []}\n')
            Path("rows.json").write_text("[]\n")
            snapshot.write_text(config + SEPARATOR + what_is_said(config, folder))


if __name__ == "__main__":
    write_anew()
