"""What was copied is kept in a file too, for terminals that do not pass it to a clipboard."""

from __future__ import annotations

from engine.rundir import registry_path


def save_copy(text: str) -> str:
    """Write the text beside the registry of runs and say where, as the end of a sentence."""
    path = registry_path().parent / "copied.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return f"; the file could not be written: {error}"
    return f" and to {path}"
