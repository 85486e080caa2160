"""Which cards the training sees: CUDA's rules for CUDA_VISIBLE_DEVICES, applied to NVML's list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.monitor.nvml import Card, Nvml, NvmlError, open_nvml

UNLIKE_CARDS = (
    "card unsure: these GPUs differ, and CUDA numbers them by speed; set CUDA_DEVICE_ORDER=PCI_BUS_ID, "
    "or name the card by its UUID in CUDA_VISIBLE_DEVICES"
)


@dataclass(frozen=True)
class Watched:
    """The cards to watch, in the order in which the training numbers them, and what is unsure about that."""

    cards: tuple[Card, ...]
    unsure: str | None = None


def watched_cards(nvml: Nvml, environment: Mapping[str, str], in_use: Sequence[str] = ()) -> Watched:
    """Find the cards of a training started with this environment.

    `in_use` are the UUIDs that the training itself reports for its devices, with or without "GPU-"; where they are
    known and found they decide. As in CUDA, a list of devices ends at its first entry that names nothing.
    """
    cards = tuple(nvml.cards())
    reported = [_by_uuid(nvml, cards, uuid) for uuid in in_use]
    if reported and all(reported):
        return Watched(tuple(card for card in reported if card is not None))
    setting = environment.get("CUDA_VISIBLE_DEVICES")
    entries = [str(card.index) for card in cards] if setting is None else _entries(setting)
    chosen: list[Card] = []
    for entry in entries:
        card = _by_number(nvml, cards, int(entry)) if entry.isdecimal() else _by_uuid(nvml, cards, entry)
        if card is None or card in chosen:
            break
        chosen.append(card)
    numbered = any(entry.isdecimal() for entry in entries)
    sliced = any(card.instance is not None for card in chosen)
    alike = len({card.name for card in cards}) <= 1 or environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    complete = setting is None and not sliced
    return Watched(tuple(chosen), UNLIKE_CARDS if numbered and not alike and not complete and chosen else None)


def visible_card_names(environment: Mapping[str, str], open_library: Callable[[], Nvml] = open_nvml) -> tuple[str, ...]:
    """The names of the GPUs that a training with this environment could use; empty without a driver."""
    try:
        nvml = open_library()
    except NvmlError:
        return ()
    try:
        return tuple(card.name for card in watched_cards(nvml, environment).cards)
    except NvmlError:
        return ()
    finally:
        nvml.close()


def _entries(setting: str) -> list[str]:
    return [entry.strip() for entry in setting.split(",") if entry.strip()]


def _by_number(nvml: Nvml, cards: Sequence[Card], number: int) -> Card | None:
    """The card that CUDA gives this number; of a sliced card it is the first slice."""
    if number >= len(cards):
        return None
    slices = nvml.slices(cards[number])
    return slices[0] if slices else cards[number]


def _by_uuid(nvml: Nvml, cards: Sequence[Card], text: str) -> Card | None:
    """The one card or slice whose UUID begins with this text; None if there is none, or more than one."""
    if text.startswith("MIG-GPU-"):
        return _by_old_slice_name(nvml, cards, text)
    candidates = [*cards, *(part for card in cards for part in nvml.slices(card))]
    bare = text.removeprefix("GPU-").removeprefix("MIG-")
    kinds = [prefix for prefix in ("GPU-", "MIG-") if text == bare or text.startswith(prefix)]
    if not bare:
        return None
    found = [card for card in candidates if any(card.uuid.startswith(kind + bare) for kind in kinds)]
    if len(found) != 1:
        return None
    slices = nvml.slices(found[0]) if found[0].instance is None else []
    return slices[0] if slices else found[0]


def _by_old_slice_name(nvml: Nvml, cards: Sequence[Card], text: str) -> Card | None:
    """Slices named as before driver 470: MIG-GPU-<uuid of the card>/<GPU instance>/<compute instance>."""
    uuid, _, instance = text.removeprefix("MIG-").partition("/")
    for card in cards:
        if card.uuid == uuid:
            for part in nvml.slices(card):
                if part.instance is not None and "/".join(map(str, part.instance)) == instance:
                    return part
    return None
