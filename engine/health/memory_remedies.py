"""What takes less of a GPU's memory, that which costs least first; each piece alone makes a config that is accepted."""

from __future__ import annotations

from engine.events.types import Scalar
from engine.health.partners import ACCUMULATION, BATCH, CLIPPING, RELEASE, SLICES, batch_and_accumulation
from engine.health.symptom import Facts, NewValue, Remedy, Settings, Unchanged, following, to

ROWS, LONGEST_ROW = "rows", "longest_row"
"""Facts: the rows of the step at hand, and the tokens of its longest one."""
CHECKPOINTING = "train.gradient_checkpointing"


def _one_row_less(key: str, settings: Settings, facts: Facts) -> NewValue:
    batch, rows = settings.get(key), facts.get(ROWS)
    if not isinstance(batch, int):
        return None
    taken = min(batch, rows) if isinstance(rows, int) and rows > 0 else batch
    return taken - 1 if taken > 1 else Unchanged.LEFT_OUT


def _why_a_row_less(value: Scalar, settings: Settings) -> str:
    if not isinstance(value, int) or (found := batch_and_accumulation(value, settings)) is None:
        return "a row less in each pass"
    passes, now = found
    if value * passes == now:
        return f"the step stays one of {now} chats"
    return f"a step of {value * passes} chats instead of {now}"


def _half_the_longest(key: str, settings: Settings, facts: Facts) -> NewValue:
    limit, longest = settings.get(key), facts.get(LONGEST_ROW)
    if not isinstance(limit, int):
        return None
    taken = min(limit, longest) if isinstance(longest, int) else limit
    return max(taken // 2, 2) if limit > 2 else Unchanged.LEFT_OUT


def _twice_the_slices(key: str, settings: Settings, facts: Facts) -> NewValue:
    slices, lines = settings.get(key), settings.get(BATCH)
    if not isinstance(slices, int) or not isinstance(lines, int) or min(2 * slices, lines) <= slices:
        return Unchanged.LEFT_OUT
    return min(2 * slices, lines)


def _why_release(value: Scalar, settings: Settings) -> str:
    limit = "" if settings.get(CLIPPING) is None else f"; with {CLIPPING}: null"
    return f"each gradient is freed at once{limit}"


def _takes_one_pass(settings: Settings) -> bool:
    return settings.get(ACCUMULATION) == 1


def _has_a_head_to_tile(settings: Settings) -> bool:
    releases, chunks = settings.get(RELEASE), settings.get("memory.chunked_loss")
    return releases is True and chunks is True and settings.get("train.freeze_non_attention") is False


def _recomputes_all(settings: Settings) -> bool:
    return settings.get(CHECKPOINTING) == "full"


def _recomputes_nothing(settings: Settings) -> bool:
    return settings.get(CHECKPOINTING) == "none"


def _recomputes_a_part(settings: Settings) -> bool:
    return settings.get(CHECKPOINTING) in ("selective", "mixers")


def _keeps_nothing_in_host_memory(settings: Settings) -> bool:
    return _recomputes_all(settings) and settings.get("memory.offload_activations") is False


CHANGE_NO_RESULT = (
    Remedy("memory.chunked_loss", to(True), "the full logits are the largest tensor"),
    Remedy(RELEASE, to(True), _why_release, applies=_takes_one_pass),
    Remedy(
        "memory.tiled_head", to(True), "the gradient of the head never exists as a whole", applies=_has_a_head_to_tile
    ),
    Remedy(
        CHECKPOINTING,
        to("selective"),
        "computes much of the forward pass a second time instead of keeping it",
        applies=_recomputes_nothing,
    ),
    Remedy(
        CHECKPOINTING,
        to("full"),
        "computes every layer a second time; only the borders of the layers are kept",
        applies=_recomputes_a_part,
    ),
    Remedy(
        "memory.offload_activations",
        to(True),
        "the inputs of the layers wait in main memory",
        applies=_keeps_nothing_in_host_memory,
    ),
    Remedy(
        SLICES,
        _twice_the_slices,
        "a layer takes the batch in slices and computes on the memory of one",
        applies=_recomputes_all,
    ),
)
SMALLER_BATCH = Remedy(BATCH, _one_row_less, _why_a_row_less)
SHORTER_ROWS = Remedy("data.max_seq_length", _half_the_longest, "cuts the longest rows")
SMALLER_TRAINING = (
    Remedy("train.optimizer", following({"adamw": "adamw8bit", "lion": "lion8bit"}), "a smaller optimizer state"),
    Remedy("train.optimizer", following({"adamw8bit": "lion8bit"}), "half the optimizer state"),
    Remedy("train.freeze_non_attention", to(True), "trains the attention layers alone, about a third of the weights"),
)
LESS_MEMORY = (*CHANGE_NO_RESULT, SMALLER_BATCH, SHORTER_ROWS, *SMALLER_TRAINING)
