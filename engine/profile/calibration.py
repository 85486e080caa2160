"""What was measured on this machine, kept for the estimates that come after it.

`${XDG_STATE_HOME:-~/.local/state}/pgs-tui/calibration.json` holds, for each model of GPU and version of torch, what
CUDA takes and, for each kind of recipe, by how much estimates of it were off. It serves the same GPU and torch alone,
and every estimate that it changes says so.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.config import Config
from engine.errors import UserError
from engine.memory.advice.work import MeasuredSpeed
from engine.profile.comparison import HELD, besides
from engine.profile.measure import Measurement
from engine.rundir import registry_path, replace_text
from engine.session.open import versions

if TYPE_CHECKING:
    from engine.memory.estimate import Estimate, Phase

VERSION = 1
LARGEST_FACTOR = 2.0
"""An estimate that was off by more than this, or its inverse, has a fault that no factor should hide."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What one measurement says of recipes of its kind."""

    kind: str
    lines: int
    length: int
    accumulation: int
    measured: str
    """The day, as YYYY-MM-DD."""
    besides_factor: float | None = None
    """What the peak had beside weights and optimizer state, as a multiple of the estimate of that."""
    reserved_factor: float | None = None
    """What the allocator took, as a multiple of the peak."""
    peak_ratio: float | None = None
    """The measured peak over the estimated one: how good the estimate was without calibration."""
    tok_s: float | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """All that was measured on one model of GPU with one version of torch."""

    gpu: str
    torch: str
    driver: str | None = None
    context_gib: float | None = None
    recipes: Mapping[str, Calibrated] = field(default_factory=dict)

    def applied(self, config: Config, estimate: Estimate) -> Estimate:
        """The estimate with what was measured in it, and a sentence about that among its assumptions."""
        found = self.recipes.get(recipe_kind(config, estimate))
        said: list[str] = []
        if found is not None and (factor := found.besides_factor) is not None and factor != 1.0:
            estimate = _with_phases(estimate, [_scaled(phase, factor) for phase in estimate.phases])
            said.append(f"all but weights and optimizer state taken {factor:.3f} times")
        reserved = estimate.reserved_gib
        if found is not None and found.reserved_factor is not None:
            reserved = estimate.peak_gib * found.reserved_factor
            said.append(f"reserved {found.reserved_factor:.3f} times the peak")
        context = estimate.context_gib
        if self.context_gib is not None:
            context = self.context_gib
            said.append(f"CUDA's context {context:.2f} GiB")
        if not said:
            return estimate
        where = f"measured on this machine's {self.gpu} with torch {self.torch}"
        when = f", {found.lines}x{found.length} on {found.measured}" if found is not None else ""
        return replace(
            estimate,
            reserved_gib=reserved,
            context_gib=context,
            total_gib=reserved + context,
            assumptions=(*estimate.assumptions, f"calibrated: {', '.join(said)}, as {where}{when}"),
        )

    def speed(self, config: Config, estimate: Estimate) -> MeasuredSpeed | None:
        """Tokens a second of a recipe of this kind; None where none was measured."""
        found = self.recipes.get(recipe_kind(config, estimate))
        if found is None or found.tok_s is None:
            return None
        size = f"{found.lines}x{found.length}"
        same = (found.lines, found.length) == (config.train.per_device_batch_size, config.data.max_seq_length)
        also = "" if same else "; other sizes than that are taken to run at the same rate"
        return MeasuredSpeed(
            found.tok_s,
            f"speed: measured on this machine's {self.gpu} on {found.measured}, with full lines, {size}{also}",
        )


def recipe_kind(config: Config, estimate: Estimate, environment: Mapping[str, str] = os.environ) -> str:
    """What two configs have in common that are off by the same factor: all that matters but sizes of the batch."""
    train, memory, model = config.train, config.memory, config.model
    words = [
        f"{estimate.trained:,} of {estimate.parameters:,} weights in {model.torch_dtype}",
        train.optimizer,
        f"checkpointing {train.gradient_checkpointing}",
        f"attention {model.attn_implementation}",
    ]
    accumulates = train.gradient_accumulation_steps > 1
    switches = {
        "compiled": model.compile,
        "float8": memory.float8_training,
        "released": memory.gradient_release,
        "tiled head": memory.tiled_head,
        "whole logits": not memory.chunked_loss,
        "offloaded": memory.offload_activations,
        f"{memory.layer_slices} slices": memory.layer_slices > 1,
        "packed": config.data.packing,
        "accumulated": accumulates,
        "clipped": train.max_grad_norm is not None,
        "hyperball": train.hyperball,
        "expandable segments": "expandable_segments:True" in environment.get("PYTORCH_CUDA_ALLOC_CONF", ""),
    }
    return ", ".join([*words, *(name for name, is_on in switches.items() if is_on)])


def calibration_of(gpu: str, torch: str | None = None, path: Path | None = None) -> Calibration | None:
    """What was measured with this model of GPU and this version of torch (default: the installed one), if anything.

    A file that cannot be read or is of another version of this program says nothing.
    """
    try:
        path = path or calibration_path()
    except OSError:  # a user without a home has no calibrations
        return None
    version = torch or installed_torch()
    return next((one for one in _stored(path) if (one.gpu, one.torch) == (gpu, version)), None)


def store(config: Config, estimate: Estimate, measured: Measurement, path: Path | None = None) -> Path:
    """Keep what was measured, in place of an older measurement of the same kind; returns the file.

    `estimate` is the one without any calibration. Raises UserError where it cannot be written.
    """
    assert measured.gpu is not None and measured.torch is not None, "calibrations are those of a GPU"
    assert measured.fits, "there is nothing to keep of a run for which the memory did not suffice"
    try:
        path = path or calibration_path()
    except OSError as error:
        raise UserError(f"The calibration cannot be kept: {error}.") from error
    try:
        known = _stored(path)
        before = next((one for one in known if (one.gpu, one.torch) == (measured.gpu, measured.torch)), None)
        before = before or Calibration(measured.gpu, measured.torch)
        recipe = _calibrated(config, estimate, measured)
        now = replace(
            before,
            driver=measured.driver,
            context_gib=measured.context_gib if measured.context_gib is not None else before.context_gib,
            recipes={**before.recipes, recipe.kind: recipe},
        )
        others = [one for one in known if (one.gpu, one.torch) != (now.gpu, now.torch)]
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, json.dumps(_as_json([*others, now]), indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UserError(f"The calibration cannot be kept in {path}: {error.strerror or error}.") from error
    return path


def calibration_path() -> Path:
    """Where calibrations are kept. Raises OSError for a user without a home."""
    return registry_path().with_name("calibration.json")


def _calibrated(config: Config, estimate: Estimate, measured: Measurement) -> Calibrated:
    peak, reserved = measured.peak_gib, measured.reserved_gib
    held = sum(measured.components.get(name, 0.0) for name in HELD)
    return Calibrated(
        kind=recipe_kind(config, estimate),
        lines=config.train.per_device_batch_size,
        length=config.data.max_seq_length,
        accumulation=config.train.gradient_accumulation_steps,
        measured=date.today().isoformat(),
        besides_factor=None if peak is None else _plausible(peak - held, besides(estimate)),
        reserved_factor=None if peak is None or reserved is None else _plausible(reserved, peak),
        peak_ratio=None if peak is None else peak / estimate.peak_gib,
        tok_s=measured.tok_s,
    )


def _plausible(found: float, expected: float) -> float | None:
    """The quotient, unless it speaks of a fault."""
    if found <= 0 or expected <= 0:
        return None
    factor = found / expected
    return factor if 1 / LARGEST_FACTOR <= factor <= LARGEST_FACTOR else None


def _scaled(phase: Phase, factor: float) -> Phase:
    parts = {name: size if name in HELD else size * factor for name, size in phase.parts.items()}
    return replace(phase, peak_gib=sum(parts.values()), parts=parts)


def _with_phases(estimate: Estimate, phases: Sequence[Phase]) -> Estimate:
    """The estimate with these phases, the highest of which decides."""
    highest = max(phases, key=lambda phase: phase.peak_gib)
    growth = highest.peak_gib / estimate.peak_gib
    return replace(
        estimate,
        phases=tuple(phases),
        decides=highest.name,
        peak_gib=highest.peak_gib,
        components=highest.parts,
        reserved_gib=estimate.reserved_gib * growth,
    )


def _as_json(calibrations: Sequence[Calibration]) -> dict[str, Any]:
    machines = [
        {**{one.name: getattr(each, one.name) for one in fields(each) if one.name != "recipes"}}
        | {"recipes": [asdict(recipe) for recipe in each.recipes.values()]}
        for each in calibrations
    ]
    return {"version": VERSION, "machines": machines}


def _stored(path: Path) -> tuple[Calibration, ...]:
    try:
        now = path.stat()
    except OSError:
        return ()
    return _read(path, now.st_mtime_ns, now.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, changed: int, size: int) -> tuple[Calibration, ...]:
    """`changed` and `size` are those of the file, which is asked for with every estimate and seldom another one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return tuple(_machine(one) for one in found["machines"]) if found["version"] == VERSION else ()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ()


@cache
def installed_torch() -> str | None:
    """The version of torch that runs here."""
    return versions().get("torch")


def _machine(found: Mapping[str, Any]) -> Calibration:
    recipes = [_recipe(one) for one in found["recipes"]]
    context = _number(found["context_gib"])
    return Calibration(
        str(found["gpu"]), str(found["torch"]), found["driver"], context, {one.kind: one for one in recipes}
    )


def _recipe(found: Mapping[str, Any]) -> Calibrated:
    return Calibrated(
        kind=str(found["kind"]),
        lines=int(found["lines"]),
        length=int(found["length"]),
        accumulation=int(found["accumulation"]),
        measured=str(found["measured"]),
        besides_factor=_number(found["besides_factor"]),
        reserved_factor=_number(found["reserved_factor"]),
        peak_ratio=_number(found["peak_ratio"]),
        tok_s=_number(found["tok_s"]),
    )


def _number(found: Any) -> float | None:
    """A number above nothing, or None. Raises TypeError and ValueError for what is neither."""
    if found is None:
        return None
    number = float(found)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"expected a number above 0, found {number}")
    return number
