"""Brings a model's files from the hub to a local folder, with progress, and explains why that failed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from engine.errors import UserError
from engine.hub_progress import ByteProgress, reporting
from engine.model.architectures import shipped_folder

Init = Literal["pretrained", "random"]

FILES = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model")
OLD_WEIGHTS = ("*.bin",)
"""Fetched only where a model has no safetensors; most have both, which would double the download."""
WEIGHTS = ("*.safetensors",)
SHAPE_FILE = "config.json"
_KEY = "model.name_or_path"


def local_folder(name_or_path: str, trust_remote_code: bool, progress: ByteProgress, init: Init = "pretrained") -> Path:
    """The folder with the model's files: the path itself, or the hub's files in the local cache.

    For random weights no weights are fetched, and of a model whose shape comes with the program nothing is.

    Raises UserError when there is no such folder, no such model, no permission, or no network.
    """
    if init == "random":
        return tokenizer_folder(name_or_path, trust_remote_code, progress, init)
    return _existing_folder(name_or_path) or _from_hub(name_or_path, trust_remote_code, progress)


def tokenizer_folder(
    name_or_path: str, trust_remote_code: bool, progress: ByteProgress, init: Init = "pretrained"
) -> Path:
    """A folder with all of the model's files but the weights, which may be many GB. Raises UserError as above."""
    folder = _existing_folder(name_or_path)
    if folder is None and init == "random":
        folder = shipped_folder(name_or_path)
    if folder is not None:
        return folder
    patterns = [pattern for pattern in _patterns(trust_remote_code) if pattern not in WEIGHTS]
    return _download(name_or_path, patterns, progress)


def shape_folder(name_or_path: str, trust_remote_code: bool) -> Path:
    """A folder with the model's config.json: the path itself, a shape that comes with the program, the one in the local
    cache, or else the hub's.

    Nothing else is fetched, but code that `trust_remote_code` lets run. Raises UserError as above.
    """
    folder = _existing_folder(name_or_path) or shipped_folder(name_or_path)
    if folder is None and not trust_remote_code:
        folder = _cached_folder(name_or_path)
    if folder is not None:
        return folder
    patterns = [SHAPE_FILE, "*.py"] if trust_remote_code else [SHAPE_FILE]
    return _download(name_or_path, patterns, lambda done, total: None)


def _existing_folder(name_or_path: str) -> Path | None:
    """The local folder of that name; None for a name on the hub."""
    path = Path(name_or_path).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise UserError(f"{_KEY}: the folder {path} holds no config.json; name a folder saved by save_pretrained.")
        return path
    if path.exists() or name_or_path.startswith((".", "/", "~")) or name_or_path.count("/") > 1:
        raise UserError(f"{_KEY}: there is no folder {path}; give a local model folder or a hub name (owner/model).")
    return None


def _cached_folder(name: str) -> Path | None:
    """The folder of the local cache that has the config.json of a name on the hub. Asks nobody."""
    import huggingface_hub

    try:
        found = huggingface_hub.try_to_load_from_cache(name, SHAPE_FILE)
    except huggingface_hub.errors.HFValidationError as error:
        raise UserError(_reason(name, error)) from error
    return Path(found).parent if isinstance(found, str) else None


def is_local(name_or_path: str) -> bool:
    """True where the model is a folder on this machine."""
    return Path(name_or_path).expanduser().is_dir()


def _from_hub(name: str, trust_remote_code: bool, progress: ByteProgress) -> Path:
    patterns = _patterns(trust_remote_code)
    folder = _download(name, patterns, progress)
    if not any(folder.glob("*.safetensors")):
        folder = _download(name, [*patterns, *OLD_WEIGHTS], progress)
    return folder


def _patterns(trust_remote_code: bool) -> list[str]:
    return [*FILES, "*.py"] if trust_remote_code else list(FILES)


def _download(name: str, patterns: list[str], progress: ByteProgress) -> Path:
    import huggingface_hub

    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=patterns, tqdm_class=reporting(progress)))
    except Exception as error:  # the hub's client and its transport have no common ancestor below this one
        raise UserError(_reason(name, error)) from error


def _reason(name: str, error: BaseException) -> str:
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        return (
            f"{_KEY}: {name} is gated: accept its licence on its hub page, then log in with `hf auth login` "
            "or set HF_TOKEN."
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"{_KEY}: the hub has no model {name}, or it is private: check the name, or log in with `hf auth login`."
    if isinstance(error, errors.HFValidationError):
        return f"{_KEY}: {name!r} is neither a local folder nor a hub name (owner/model)."
    offline = os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
    if isinstance(error, (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, ConnectionError)):
        why = "HF_HUB_OFFLINE is set" if offline else "the hub cannot be reached"
        return (
            f"{_KEY}: {name} is not in the local cache and {why}: connect this machine once, "
            "or give the path of a local model folder."
        )
    return f"{_KEY}: {name} could not be downloaded: {error}"
