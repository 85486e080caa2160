"""Byte-level tokenizers with known token counts, and data files for `prepare`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from engine.data import PreparedData, prepare
from engine.data.sources.rows import SourceSpec
from tests.data import templates

SPECIALS = [
    "<|bos|>",
    "<|eos|>",
    "<|pad|>",
    "<|im_start|>",
    "<|im_end|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<|h|>",
    "<|/h|>",
    "<|eot|>",
    "<|user|>",
    "<|assistant|>",
]


def byte_tokenizer(
    template: str | None = templates.CHATML, newline_merge: bool = False, adds_bos: bool = False
) -> PreTrainedTokenizerFast:
    """Every special string is one token, every other UTF-8 byte is one; optionally two newlines are one."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {character: number for number, character in enumerate(alphabet)}
    newline = "Ċ"  # how the byte-level alphabet writes it
    merges = [(newline, newline)] if newline_merge else []
    if newline_merge:
        vocab[newline * 2] = len(vocab)
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(special, special=True, normalized=False) for special in SPECIALS])
    if adds_bos:
        backend.post_processor = processors.TemplateProcessing(
            single="<|bos|> $A", special_tokens=[("<|bos|>", backend.token_to_id("<|bos|>"))]
        )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<|bos|>", eos_token="<|eos|>", pad_token="<|pad|>"
    )
    tokenizer.chat_template = template
    return tokenizer


@dataclass(frozen=True)
class DataSection:
    """The keys of the config's `data` section that preparing reads."""

    dataset: Sequence[str] = ()
    dataset_split: str = "train"
    sources: Sequence[SourceSpec] = ()
    messages_field: str = "messages"
    max_seq_length: int = 2048
    packing: bool = False
    eval_dataset: Sequence[str] | None = None
    eval_split: float | str | None = None
    eval_samples: int | None = None
    seed: int = 0
    on_bad_row: str = "stop"
    train_on_template_text: bool = False
    train_on_reasoning: bool = True
    last_turn_only: bool = False


Message = dict[str, Any]


def chat(*texts: str, system: str | None = None) -> list[Message]:
    """A chat of user and assistant in turn, with a system turn in front if given."""
    start = [] if system is None else [{"role": "system", "content": system}]
    roles = ("user", "assistant")
    return start + [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]


def write_rows(path: Path, *rows: Any) -> str:
    """A JSONL file of rows; a list of messages stands for a row with them."""
    lines = [json.dumps({"messages": row} if isinstance(row, list) else row) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


@dataclass(frozen=True)
class Prepared:
    """What `prepare` made of some rows, with the text of its tokens."""

    data: PreparedData
    tokenizer: PreTrainedTokenizerFast

    @property
    def codes(self) -> dict[str, int]:
        return {flag.code: flag.count for flag in self.data.report.flags}

    def flag(self, code: str) -> str:
        return next(flag.message for flag in self.data.report.flags if flag.code == code)

    def trained_text(self, sample: int = 0) -> str:
        """The tokens that have loss, one stretch after another, with a bar between stretches."""
        row = self.data.train[sample]
        stretches: list[list[int]] = [[]]
        for label in row.labels:
            if label >= 0:
                stretches[-1].append(label)
            elif stretches[-1]:
                stretches.append([])
        return "|".join(self.tokenizer.decode(stretch) for stretch in stretches if stretch)


Prepare = Callable[..., Prepared]


@pytest.fixture
def prepare_rows(tmp_path: Path) -> Prepare:
    """Prepare rows with a template and BYTE; other keywords go to the `data` section."""

    def run(*rows: Any, template: str = templates.CHATML, tokenizer: Any = None, **keys: Any) -> Prepared:
        tokenizer = tokenizer or byte_tokenizer(template)
        section = DataSection(dataset=[write_rows(tmp_path / "chats.jsonl", *rows)], **keys)
        return Prepared(prepare(section, tokenizer), tokenizer)

    return run
