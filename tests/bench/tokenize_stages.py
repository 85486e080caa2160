"""Where the time goes from a line of JSON to a sample: CPU time, one stage after another in one thread."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from engine.config.schema import Data
from engine.data.audit.ledger import Ledger
from engine.data.encoding.byte_batch import ByteBatch
from engine.data.encoding.encoded import EncodedText
from engine.data.examine import Examined, Examiner
from engine.data.feeding.store import StoreBuilder
from engine.data.masking.draft import Draft
from engine.data.rendering.rendered import Rendered, loss_masks
from engine.data.row_batches import characters_of
from engine.data.sources.corpus import Corpus
from engine.data.sources.specs import specs_of

_BATCH = 512

T = TypeVar("T")


def print_stages(name: str, data: Path, tokenizer: Any, times: int) -> None:
    """A table of the least times of several passages; only for chats, and for byte-level tokenizers."""
    passages = [_passage(data, tokenizer) for _ in range(times)]
    rows = passages[0].pop("rows")
    best = {stage: min(passage[stage] for passage in passages) * 1e6 / rows for stage in passages[0]}
    alone = best.pop("encode_batch, for comparison")
    print(f"{name}: CPU us a row; encode_batch alone {alone:.1f}, all stages {sum(best.values()):.1f}")
    for stage, microseconds in best.items():
        print(f"  {stage:36}{microseconds:9.1f}")


def _passage(data: Path, tokenizer: Any) -> dict[str, float]:
    took: defaultdict[str, float] = defaultdict(float)

    def lap(stage: str, work: Callable[[], T]) -> T:
        begin = time.process_time()
        found = work()
        took[stage] += time.process_time() - begin
        return found

    section = Data(dataset=(str(data),), max_seq_length=100_000)
    examiner = Examiner(tokenizer, section)
    corpus = lap("find the rows, hash the file", lambda: Corpus(specs_of(section)[0]))
    rows = lap("read and parse JSON", lambda: list(corpus))
    lap("size of the rows", lambda: sum(characters_of(getattr(row, "value", "")) for row in rows))
    ledger, builder = Ledger(), StoreBuilder()
    for start in range(0, len(rows), _BATCH):
        _pass(rows[start : start + _BATCH], examiner, ledger, builder, lap)
    return {**took, "rows": len(rows)}


def _pass(rows: list[Any], examiner: Examiner, ledger: Ledger, builder: StoreBuilder, lap: Any) -> None:
    """One batch through all stages, as `Examiner.examine` and `Tokenizing` send it."""
    chats, encoder = examiner.renderer._chats, examiner.renderer._encoder
    assert encoder._byte_tokens is not None, "the stages are those of byte-level tokenizers"
    bare = encoder._backend
    parsed = lap("format to turns", lambda: [examiner.parse(row) for row in rows])
    drafts = lap("plan", lambda: [chats.draft(one) for one in parsed])
    plain = lap("text", lambda: [draft.plain for draft in drafts])
    lap("encode_batch, for comparison", lambda: len(bare.encode_batch(plain, add_special_tokens=False)))
    encodings = lap("encode_batch_fast", lambda: bare.encode_batch_fast(plain, add_special_tokens=False))
    ids = lap("ids out", lambda: [encoding.ids for encoding in encodings])
    lap("free the encodings", encodings.clear)
    encoded = lap("places, borders, control tokens", lambda: _encoded(encoder, drafts, plain, ids))
    rendered = lap("rows of tokens", lambda: list(map(Rendered.of, drafts, encoded)))
    masks = lap("loss masks", lambda: loss_masks(rendered))
    results = lap("findings", lambda: list(map(examiner._examined, rendered, masks)))
    lap("ledger", lambda: list(map(ledger.enter, results)))
    lap("store", lambda: _store(builder, results))


def _store(builder: StoreBuilder, results: list[Examined]) -> None:
    for one in results:
        assert one.rendered is not None
        builder.add(one.row, one.rendered.ids, one.has_loss)


def _encoded(encoder: Any, drafts: list[Draft], plain: list[str], ids: list[list[int]]) -> list[EncodedText | None]:
    return ByteBatch(encoder._byte_tokens, drafts, plain, ids).encoded(encoder._is_control)
