"""How full the packs of a run would be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.data.feeding.sampler import EpochSampler
from engine.data.feeding.shares import shares_of
from engine.data.feeding.split import places_held_out
from engine.inspect.opening import Inspection

Json = dict[str, Any]


class KeptRows(NamedTuple):
    """Numbers of rows that can be trained, in order, and how many tokens of each are kept."""

    rows: Sequence[int]
    lengths: Sequence[int]


def fill_of_packs(inspection: Inspection, kept: KeptRows) -> Json | None:
    """The first epoch's packs in the shape of docs/json.md, made as training makes them; None without packing."""
    data = inspection.config.data
    if not data.packing:
        return None
    training = [pair for pair in zip(*kept, strict=True) if pair[0] < inspection.rows.training_rows]
    if isinstance(data.eval_split, float) and data.eval_dataset is None and training:
        apart = places_held_out(len(training), data.eval_split, data.eval_samples, data.seed)
        training = [pair for place, pair in enumerate(training) if place not in apart]
    if not training:
        return None
    rows, lengths = ([pair[0] for pair in training], [pair[1] for pair in training])
    shares = shares_of(rows, inspection.rows.training_spans)
    fill = EpochSampler(lengths, 1, data.seed, shares=shares, pack_length=data.max_seq_length).fill()
    assert fill is not None
    return {"packs": fill.packs, "slots": fill.slots, "tokens": fill.tokens, "share": fill.share}
