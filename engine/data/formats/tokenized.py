"""Rows that were tokenized elsewhere: `input_ids`, with `labels` or a mask that say which of them have loss."""

from __future__ import annotations

from typing import Any

from engine.data.conversation import TokenRow
from engine.data.formats.fields import refuse, type_in_words
from engine.data.formats.format import Format
from engine.data.sources.rows import RawRow
from engine.labels import IGNORED_LABEL

_MASKS = ("loss_mask", "assistant_masks", "assistant_mask", "completion_mask")


def parse_tokenized(raw: RawRow) -> TokenRow:
    """The tokens without their padding (where `attention_mask` is 0).

    With labels and masks side by side, a token has loss where all of them say so.

    Raises:
        BadRowError: the lists do not fit together, or labels are neither the token's id nor -100.
    """
    input_ids = _numbers(raw, "input_ids")
    if not input_ids:
        refuse(raw, "BAD_TOKENS", "input_ids is an empty list")
    if min(input_ids) < 0:
        refuse(raw, "BAD_TOKENS", f"input_ids holds {min(input_ids)}; ids of tokens are not negative")
    says = [_from_labels(raw, input_ids)] if raw.value.get("labels") is not None else []
    says += [_zeros_and_ones(raw, key, len(input_ids)) for key in _MASKS if raw.value.get(key) is not None]
    has_loss = tuple(map(all, zip(*says, strict=True))) if says else None
    tokens = _without_padding(raw, len(input_ids))
    return TokenRow(
        raw.row, raw.file, raw.line, tuple(input_ids[tokens]), None if has_loss is None else has_loss[tokens]
    )


def _from_labels(raw: RawRow, input_ids: list[int]) -> list[bool]:
    labels = _numbers(raw, "labels", len(input_ids))
    for position, (label, token) in enumerate(zip(labels, input_ids, strict=True)):
        if label not in (token, IGNORED_LABEL):
            reason = f"labels[{position}] is {label}, but the token there is {token}"
            allowed = f"a label is the id of its own token (labels are not shifted) or {IGNORED_LABEL}"
            refuse(raw, "BAD_TOKENS", f"{reason}; {allowed}")
    return [label != IGNORED_LABEL for label in labels]


def _without_padding(raw: RawRow, length: int) -> slice:
    if raw.value.get("attention_mask") is None:
        return slice(0, length)
    mask = _zeros_and_ones(raw, "attention_mask", length)
    if not any(mask):
        refuse(raw, "BAD_TOKENS", "attention_mask leaves no token over")
    start, stop = mask.index(True), length - mask[::-1].index(True)
    if not all(mask[start:stop]):
        refuse(raw, "BAD_TOKENS", "attention_mask has a hole; only padding at either end can be left out")
    return slice(start, stop)


def _zeros_and_ones(raw: RawRow, key: str, length: int) -> list[bool]:
    values = _listed(raw, key, length)
    wrong = next((value for value in values if not isinstance(value, bool | int) or value not in (0, 1)), None)
    if wrong is not None:
        refuse(raw, "BAD_TOKENS", f"{key} must hold zeros and ones only, found {wrong!r}")
    return list(map(bool, values))


def _numbers(raw: RawRow, key: str, length: int | None = None) -> list[int]:
    values = _listed(raw, key, length)
    if set(map(type, values)) - {int}:
        wrong = next(value for value in values if type(value) is not int)
        refuse(
            raw, "BAD_TOKENS", f"{key} must hold whole numbers only, found {type_in_words(wrong)} ({str(wrong)[:40]})"
        )
    return values


def _listed(raw: RawRow, key: str, length: int | None) -> list[Any]:
    values = raw.value[key]
    if not isinstance(values, list):
        refuse(raw, "BAD_TOKENS", f"{key} must be a list of whole numbers, found {type_in_words(values)}")
    if length is not None and len(values) != length:
        refuse(raw, "BAD_TOKENS", f"{key} has {len(values)} entries, input_ids has {length}")
    return values


TOKENIZED = Format(
    shape="'input_ids' (also 'labels', 'loss_mask', 'attention_mask')",
    trained_key=lambda row: "input_ids" if "input_ids" in row else None,
    parse=parse_tokenized,
)
