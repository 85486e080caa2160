"""Prints the loss of a saved model on a file of chats: a second opinion that shares no code with the engine.

    python judge.py MODEL_FOLDER CHATS.jsonl

The loss is that on the assistant's answers and on the token that ends each, as a mean over all those tokens.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

ANSWER_BEGINS = "<|im_start|>assistant\n"
ANSWER_ENDS = "<|im_end|>"
NO_LOSS = -100


def answer_spans(text: str) -> list[tuple[int, int]]:
    """Begin and end of each answer in a rendered ChatML text, the end token included."""
    spans = []
    begin = text.find(ANSWER_BEGINS)
    while begin >= 0:
        begin += len(ANSWER_BEGINS)
        end = text.index(ANSWER_ENDS, begin) + len(ANSWER_ENDS)
        spans.append((begin, end))
        begin = text.find(ANSWER_BEGINS, end)
    return spans


def tokens_and_labels(tokenizer: Any, chat: list[dict[str, str]]) -> tuple[list[int], list[int]]:
    text = tokenizer.apply_chat_template(chat, tokenize=False)
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    spans = answer_spans(text)
    labels = [
        token if any(begin <= start < end for begin, end in spans) else NO_LOSS
        for token, (start, _) in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
    ]
    return encoded["input_ids"], labels


@torch.no_grad()
def mean_loss(folder: str, chats: list[list[dict[str, str]]]) -> float:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    total, count = 0.0, 0
    for chat in chats:
        input_ids, labels = tokens_and_labels(tokenizer, chat)
        trained = sum(label != NO_LOSS for label in labels)
        loss = model(input_ids=torch.tensor([input_ids]), labels=torch.tensor([labels])).loss
        total, count = total + float(loss) * trained, count + trained
    return total / count


def main() -> None:
    folder, chats = sys.argv[1:]
    rows = [json.loads(line)["messages"] for line in Path(chats).read_text(encoding="utf-8").splitlines()]
    print(json.dumps({"loss": mean_loss(folder, rows)}))


if __name__ == "__main__":
    main()
