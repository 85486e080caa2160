"""The keys that have to change together with another: else the config is refused, or a step becomes another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.events.types import Scalar

Settings = Mapping[str, Scalar]
Pairs = tuple[tuple[str, Scalar], ...]

RATE, LOWEST_RATE = "train.learning_rate", "train.min_learning_rate"
BATCH, ACCUMULATION, SLICES = (
    "train.per_device_batch_size",
    "train.gradient_accumulation_steps",
    "memory.layer_slices",
)
RELEASE, CLIPPING = "memory.gradient_release", "train.max_grad_norm"


def partners(key: str, value: Scalar, settings: Settings) -> Pairs:
    """The other keys to change when `key` takes `value` in a run of these settings, and their values."""
    find = _PARTNERS.get(key)
    return () if find is None else find(value, settings)


def batch_and_accumulation(rows: int, settings: Settings) -> tuple[int, int] | None:
    """With `rows` in a batch, how many passes come nearest to the chats of a step now, and how many those are now.

    None where the settings do not tell. Gradient release takes one pass a step.
    """
    batch, passes = settings.get(BATCH), settings.get(ACCUMULATION)
    if not isinstance(batch, int) or not isinstance(passes, int):
        return None
    now = batch * passes
    return (1 if settings.get(RELEASE) is True else max(1, round(now / rows))), now


def _of_the_rate(value: Scalar, settings: Settings) -> Pairs:
    """The lowest rate goes down with the highest where it would lie above it."""
    lowest, rate = settings.get(LOWEST_RATE), settings.get(RATE)
    if not (isinstance(value, float) and isinstance(lowest, float) and isinstance(rate, float)) or lowest <= value:
        return ()
    return ((LOWEST_RATE, float(f"{lowest * value / rate:.6g}")),)


def _of_release(value: Scalar, settings: Settings) -> Pairs:
    """Weights that move in the backward pass cannot be clipped, nor wait for a second one."""
    if value is not True:
        return ()
    clipping = () if settings.get(CLIPPING) is None else ((CLIPPING, None),)
    passes = ((ACCUMULATION, 1),) if settings.get(ACCUMULATION, 1) != 1 else ()
    return (*clipping, *passes)


def _of_the_tiled_head(value: Scalar, settings: Settings) -> Pairs:
    if value is not True:
        return ()
    needed = (RELEASE, "memory.chunked_loss")
    switched_on: Pairs = tuple((key, True) for key in needed if settings.get(key) is not True)
    return (*switched_on, *(_of_release(True, settings) if (RELEASE, True) in switched_on else ()))


def _of_the_batch(value: Scalar, settings: Settings) -> Pairs:
    """As many chats in a step as before, or nearly; and no more slices than lines."""
    if not isinstance(value, int):
        return ()
    found = batch_and_accumulation(value, settings)
    passes: Pairs = () if found is None or found[0] == settings.get(ACCUMULATION) else ((ACCUMULATION, found[0]),)
    slices = settings.get(SLICES)
    return (*passes, *(((SLICES, value),) if isinstance(slices, int) and slices > value else ()))


def _of_most_steps(value: Scalar, settings: Settings) -> Pairs:
    """A warm-up ends within the run."""
    warmup = settings.get("train.warmup_steps")
    if not isinstance(value, int) or not isinstance(warmup, int) or warmup <= value:
        return ()
    return (("train.warmup_steps", value // 10),)


def _of_recomputation(value: Scalar, settings: Settings) -> Pairs:
    """Without it nothing is cut in slices, and nothing waits in main memory."""
    if value != "none":
        return ()
    slices = settings.get(SLICES)
    whole: Pairs = ((SLICES, 1),) if isinstance(slices, int) and slices > 1 else ()
    offload = "memory.offload_activations"
    return (*whole, *(((offload, False),) if settings.get(offload) is True else ()))


def _of_float32(value: Scalar, settings: Settings) -> Pairs:
    if value != "float32":
        return ()
    flash = settings.get("model.attn_implementation") == "flash_attention_2"
    attention: Pairs = (("model.attn_implementation", "sdpa"),) if flash else ()
    float8: Pairs = (("memory.float8_training", False),) if settings.get("memory.float8_training") is True else ()
    return (*attention, *float8)


_PARTNERS: Mapping[str, Callable[[Scalar, Settings], Pairs]] = {
    RATE: _of_the_rate,
    RELEASE: _of_release,
    "memory.tiled_head": _of_the_tiled_head,
    BATCH: _of_the_batch,
    "train.gradient_checkpointing": _of_recomputation,
    "train.max_steps": _of_most_steps,
    "model.torch_dtype": _of_float32,
}
