"""Samples in tensors."""

from __future__ import annotations

from engine.data.feeding.batches import collate, collate_packs
from engine.data.feeding.samples import sample_of
from tests.data.conftest import byte_tokenizer


def test_padding_counts_apart_from_real_and_loss_tokens() -> None:
    short = sample_of(7, [1, 2, 3, 4, 5, 6], [-100, -100, -100, 4, 5, 6])
    long = sample_of(3, list(range(8)), [-100] * 6 + [6, 7])
    batch = collate([short, long], pad_id=9)
    assert (batch.rows, batch.real_tokens, batch.slots, batch.loss_tokens) == ((7, 3), 14, 16, 5)
    assert batch.input_ids.tolist() == [[1, 2, 3, 4, 5, 6, 9, 9], list(range(8))]
    assert batch.attention_mask.tolist() == [[1] * 6 + [0] * 2, [1] * 8]
    assert batch.labels.tolist() == [[-100, -100, -100, 4, 5, 6, -100, -100], [-100] * 6 + [6, 7]]
    assert batch.documents == ((0, 0, 6), (1, 0, 8)) and batch.packs is None


def test_the_first_token_of_a_sample_never_has_loss() -> None:
    batch = collate([sample_of(0, [5, 6], [5, 6])], pad_id=5)
    assert batch.labels.tolist() == [[-100, 6]]
    assert batch.loss_tokens == 1


def test_no_label_crosses_the_border_of_two_documents() -> None:
    tokenizer = byte_tokenizer()
    texts = [tokenizer("ab<|eos|>")["input_ids"], tokenizer("cd<|eos|>")["input_ids"]]
    batch = collate_packs([[sample_of(row, ids, ids) for row, ids in enumerate(texts)]], pad_id=0)
    a, b, eos = texts[0]
    c, d, _ = texts[1]
    assert batch.input_ids.tolist() == [[a, b, eos, c, d, eos]]
    assert batch.labels.tolist() == [[-100, b, eos, -100, d, eos]]
    assert batch.loss_tokens == 4


def test_positions_restart_with_every_document_and_with_the_padding() -> None:
    samples = [sample_of(row, list(range(size)), list(range(size))) for row, size in enumerate((3, 1, 2, 4))]
    batch = collate_packs([samples[:3], samples[3:]], pad_id=0)
    assert batch.packs is not None
    assert batch.packs.position_ids.tolist() == [[0, 1, 2, 0, 0, 1], [0, 1, 2, 3, 0, 1]]
    assert batch.documents == ((0, 0, 3), (0, 3, 4), (0, 4, 6), (1, 0, 4))
    assert batch.attention_mask.tolist() == [[1] * 6, [1] * 4 + [0] * 2]
    assert (batch.rows, batch.real_tokens, batch.slots, batch.loss_tokens) == ((0, 1, 2, 3), 10, 12, 6)


def test_lines_are_as_long_as_asked_for() -> None:
    samples = [sample_of(row, list(range(size)), list(range(size))) for row, size in enumerate((3, 2, 4))]
    batch = collate_packs([samples[:2], samples[2:]], pad_id=7, length=8)
    assert batch.input_ids.tolist() == [[0, 1, 2, 0, 1, 7, 7, 7], [0, 1, 2, 3, 7, 7, 7, 7]]
    assert batch.packs is not None
    assert batch.packs.position_ids.tolist() == [[0, 1, 2, 0, 1, 0, 1, 2], [0, 1, 2, 3, 0, 1, 2, 3]]
    assert (batch.slots, batch.real_tokens, batch.loss_tokens) == (16, 9, 6)
    assert batch.labels[:, 4:].tolist() == [[1, -100, -100, -100], [-100] * 4]
    full = collate_packs([samples], pad_id=7, length=9)
    assert full.slots == full.real_tokens == 9
