"""GPUs by name: the table in gpus.yaml, and what people add to it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from engine.errors import UserError

SHIPPED = Path(__file__).with_name("gpus.yaml")
SLICES_OF_A_CARD = 7
"""Compute slices of an A100 and of what came after it, by which MIG names its parts: "3g.40gb" has three of them."""

_NUMBERS = ("memory_gib", "bf16_tflops", "bandwidth_tb_s")
_KEYS = ("name", *_NUMBERS, "capability", "also")
_CAPABILITY = re.compile(r"(\d+)\.(\d+)")
_MAKERS = {"nvidia", "amd", "geforce", "rtx", "tesla", "instinct", "radeon", "gb", "gib", "gpu"}
_FORMS = re.compile(r"pcie|sxm\d?|hbm\w*|nvl\d*|generation|graphics|accelerator")
_SLICE = re.compile(r"\s+MIG\s+(?P<slices>\d+)g\..*$")


@dataclass(frozen=True, slots=True)
class Gpu:
    """A kind of GPU. `memory_gib` is what torch reports, `bf16_tflops` dense products in 1e12 operations a second."""

    name: str
    memory_gib: float
    bf16_tflops: float
    capability: tuple[int, int] | None
    """CUDA's compute capability; None for GPUs of others."""
    bandwidth_tb_s: float
    also: tuple[str, ...] = ()
    """Other names of it."""


def own_table() -> Path:
    """Where people extend the table: `${XDG_CONFIG_HOME:-~/.config}/pgs-tui/gpus.yaml`."""
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path("~/.config").expanduser()) / "pgs-tui" / "gpus.yaml"


def gpus(own: Path | None = None) -> tuple[Gpu, ...]:
    """All GPUs of the table, those that people added or changed in the file `own` (default: `own_table()`) last.

    Raises UserError, in one sentence, for a file that is no such table.
    """
    added = _read_own(own_table() if own is None else own)
    replaced = {_plain(gpu.name) for gpu in added}
    return (*(gpu for gpu in _shipped() if _plain(gpu.name) not in replaced), *added)


def gpu_named(text: str, own: Path | None = None) -> Gpu:
    """The GPU that is meant by "4090", "a100-40", "A100 40GB" or NVML's "NVIDIA A100-SXM4-40GB".

    Raises UserError with the names that are near, or with those that it may be.
    """
    table = gpus(own)
    found = _meant(text, table)
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(gpu.name for gpu in found)
        raise UserError(f"{text} may be {names}: say which, or give its memory with --gpu_memory_gb.")
    near = _near(text, table)
    hint = f"did you mean {' or '.join(near)}? Or" if near else f"{SHIPPED} has those that are known;"
    raise UserError(
        f"no GPU called {text or '(nothing)'} is known: {hint} give its memory with --gpu_memory_gb, or add it to"
        f" {own_table()}."
    )


def gpu_called(name: str, memory_gib: float, own: Path | None = None) -> Gpu | None:
    """The GPU that a driver calls `name` and whose memory is nearest; a MIG slice has its share. None where unknown."""
    part = _SLICE.search(name)
    found = _meant(name[: part.start()] if part else name, gpus(own))
    if not found:
        return None
    if part is None:
        return min(found, key=lambda gpu: abs(gpu.memory_gib - memory_gib))
    whole = min(found, key=lambda gpu: gpu.memory_gib)
    share = min(1.0, int(part["slices"]) / SLICES_OF_A_CARD)
    return replace(
        whole,
        name=name,
        memory_gib=memory_gib,
        bf16_tflops=whole.bf16_tflops * share,
        bandwidth_tb_s=whole.bandwidth_tb_s * min(1.0, memory_gib / whole.memory_gib),
    )


def _meant(text: str, table: Iterable[Gpu]) -> list[Gpu]:
    """Those with this very name; else those that are called so when their size, or their form, is left out."""
    wanted, without_form = _plain(text), _plain(text, with_form=False)
    for ask in (wanted, without_form):
        for names in (_full_names, _short_names):
            found = [gpu for gpu in table if ask and ask in names(gpu)]
            if found:
                return found
    return []


def _full_names(gpu: Gpu) -> set[str]:
    return {_plain(name) for name in (gpu.name, *gpu.also)}


def _short_names(gpu: Gpu) -> set[str]:
    return {_plain(re.sub(r"\d+\s*GB$", "", gpu.name))}


def _plain(text: str, *, with_form: bool = True) -> str:
    """Small letters and digits alone, without who made it, units and (if wanted) whether it is a module or a card."""
    words = [re.sub(r"^rtx(?=[a\d])", "", word) for word in re.findall(r"[a-z0-9]+", text.lower())]
    words = [re.sub(r"(?<=\d)gi?b$", "", word) for word in words if word not in _MAKERS]
    return "".join(word for word in words if with_form or not _FORMS.fullmatch(word))


def _near(text: str, table: Iterable[Gpu]) -> list[str]:
    names = {plain: gpu.name for gpu in table for plain in (*_short_names(gpu), *_full_names(gpu))}
    close = get_close_matches(_plain(text), list(names), n=6, cutoff=0.6)
    return list(dict.fromkeys(names[plain] for plain in close))[:3]


@cache
def _shipped() -> tuple[Gpu, ...]:
    return _read(SHIPPED.read_text(encoding="utf-8"), SHIPPED)


def _read_own(path: Path) -> tuple[Gpu, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: this table of GPUs cannot be read: {error}.") from error
    return _read(text, path)


def _read(text: str, path: Path) -> tuple[Gpu, ...]:
    """Raises UserError in one sentence with the place of what is wrong."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        raise UserError(f"{place}: this is no YAML: {getattr(error, 'problem', None) or error}.") from error
    entries = document.get("gpus") if isinstance(document, Mapping) else None
    if not isinstance(entries, list):
        raise UserError(f"{path}: a table of GPUs is a list under the key gpus, as in {SHIPPED}.")
    return tuple(_gpu(entry, f"{path}: GPU {number} of the list") for number, entry in enumerate(entries, 1))


def _gpu(entry: Any, place: str) -> Gpu:
    if not isinstance(entry, Mapping):
        raise UserError(f"{place} is no mapping; it needs {', '.join(_KEYS[:-1])}.")
    name = entry.get("name")
    if not isinstance(name, str) or not _plain(name):
        raise UserError(f"{place} has no name; write name: RTX 4090 24GB, for example.")
    unknown = [str(key) for key in entry if key not in _KEYS]
    if unknown:
        raise UserError(f"{place} ({name}) has the unknown key {unknown[0]}; known are {', '.join(_KEYS)}.")
    numbers = {key: _number(entry.get(key), key, f"{place} ({name})") for key in _NUMBERS}
    also = entry.get("also") or []
    if not isinstance(also, list) or not all(isinstance(one, str) for one in also):
        raise UserError(f"{place} ({name}): also is a list of names, found {also}.")
    capability = _capability(entry.get("capability"), f"{place} ({name})")
    return Gpu(name=name, capability=capability, also=tuple(also), **numbers)


def _number(value: Any, key: str, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise UserError(f"{place}: {key} must be a number above 0, found {value}.")
    return float(value)


def _capability(value: Any, place: str) -> tuple[int, int] | None:
    if value is None:
        return None
    parts = _CAPABILITY.fullmatch(str(value))
    if parts is None:
        raise UserError(f'{place}: capability must be a text such as "8.9", or null, found {value}.')
    return int(parts[1]), int(parts[2])
