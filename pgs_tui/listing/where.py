"""Which runs a person wants to see: of a folder here, of one on another machine, or those that are registered."""

from __future__ import annotations

from pathlib import Path

from pgs_tui.remote.address import Address, address_of


class FolderNotFoundError(ValueError):
    """There is no such folder to look through; the text says what was found instead."""


def folder_of(text: str | None) -> Path | Address | None:
    """The folder that the text names, None for the registered runs. Raises ValueError where it cannot be one."""
    if text is None:
        return None
    address = address_of(text)
    if address is not None:
        return address
    try:
        folder = Path(text).expanduser().absolute()
        is_folder, exists = folder.is_dir(), folder.exists()
    except (OSError, RuntimeError) as error:
        raise FolderNotFoundError(f"{text}: this folder cannot be looked at: {error}") from error
    if not is_folder:
        what = "this is a file, and no folder with runs" if exists else "there is no such folder"
        raise FolderNotFoundError(
            f"{text}: {what}; runs lie in train.output_dir of their config, which is runs/ mostly"
        )
    return folder


def told_of(error: OSError) -> str:
    """Why a folder cannot be looked through."""
    return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
