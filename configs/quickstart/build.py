"""Makes the files that `configs/quickstart.yaml` trains on, from nothing but this Python's own standard library.

    python configs/quickstart/build.py                      # rewrite the files beside this script
    python configs/quickstart/build.py --output /tmp/demo   # look before you overwrite
    python configs/quickstart/build.py --check              # would a rebuild change anything?

Written: `train.jsonl` and `eval.jsonl` (chats about the standard library, made from its documentation strings, with
no name in both files), and `model/` (a byte-level BPE tokenizer trained on those chats, a ChatML template, and the
shape of a small Qwen3.5-style model). It needs no network, and the same Python writes the same bytes.
The documentation strings are under the PSF licence: see NOTICE.md and LICENSE-PSF.txt.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from library import Entry, read_entries, share_of
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

LONGEST_CHAT = 620  # characters of all questions and answers: a chat then fits 256 tokens of this tokenizer
SHORT_CHAT = 240  # a chat below this many characters gets one more turn, so that rows are of similar length
EVAL_SHARE = 0.08
VOCABULARY = 3072
SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>")

MODULES = (Path(__file__).parent / "modules.txt").read_text(encoding="utf-8").split()
SYSTEM_PROMPTS = (
    "You answer questions about Python's standard library.",
    "You are a helpful assistant for Python programmers. Be brief.",
    "Answer from the documentation of Python.",
)
DESCRIBE = (
    "What does {name} do?",
    "What is {name} for?",
    "Explain {name}.",
    "Can you tell me what {name} does?",
    "I found {name} in some code. What is it?",
    "Please describe the {kind} {name}.",
)
CALL = (
    "How do I call {name}?",
    "What is the signature of {name}?",
    "Which arguments does {name} take?",
    "Show me a call of {name}.",
)
WHICH = (
    "Which {kind} fits this description: {summary}",
    "I need this in Python: {summary} What do I use?",
    "What is the name of the {kind} with this purpose? {summary}",
)
WHERE = (
    "Which module is {name} in?",
    "Where do I find {name}?",
    "What do I import to use {name}?",
)
DESCRIBE_AGAIN = ("What does it do?", "Tell me more about it.", "What is it for?", "And what does it do exactly?")
CALL_AGAIN = ("How do I call it?", "And its arguments?", "What is its signature?", "Show me the call.")
WHERE_AGAIN = ("Which module is it in?", "What do I import for that?", "Where does it live?")

CHAT_TEMPLATE = """\
{%- for message in messages %}
    {%- if message.role not in ('system', 'user', 'assistant') %}
        {{- raise_exception('This template knows the roles system, user and assistant, not ' + message.role) }}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


# ----------------------------------------------------------------------------- writing chats


Turn = tuple[str, str]  # question, answer


def make_chat(entry: Entry, rng: random.Random) -> dict[str, Any]:
    """A chat about `entry`: one to three turns, sometimes under a system prompt."""
    turns = [first_turn(entry, rng)]
    follow_ups = list(possible_follow_ups(entry, turns[0], rng))
    while follow_ups and (size_of(turns) < SHORT_CHAT or rng.random() < 0.1):
        turn = follow_ups.pop(0)
        if size_of([*turns, turn]) <= LONGEST_CHAT:
            turns.append(turn)
    messages = [{"role": "system", "content": rng.choice(SYSTEM_PROMPTS)}] if rng.random() < 0.25 else []
    for question, answer in turns:
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return {"messages": messages}


def first_turn(entry: Entry, rng: random.Random) -> Turn:
    makers = [describe, describe, describe, which]
    if entry.call is not None:
        makers += [show_call, show_call]
    if entry.kind in ("class", "function") and entry.module != "builtins":
        makers.append(where)
    return rng.choice(makers)(entry, rng)


def possible_follow_ups(entry: Entry, first: Turn, rng: random.Random) -> Iterator[Turn]:
    """Questions that still make sense after the first one, the most useful first."""
    question, answer = first
    if entry.text != answer and entry.text != entry.summary:
        yield rng.choice(DESCRIBE_AGAIN), entry.text
    if entry.call is not None and entry.call not in answer:
        yield rng.choice(CALL_AGAIN), code_block(entry.call)
    if entry.kind != "module" and entry.module != "builtins" and "import" not in answer + question:
        yield rng.choice(WHERE_AGAIN), import_line(entry)


def describe(entry: Entry, rng: random.Random) -> Turn:
    return fill(rng.choice(DESCRIBE), entry), entry.text


def show_call(entry: Entry, rng: random.Random) -> Turn:
    assert entry.call is not None
    return fill(rng.choice(CALL), entry), code_block(entry.call)


def which(entry: Entry, rng: random.Random) -> Turn:
    return fill(rng.choice(WHICH), entry), f"That is the {entry.kind} `{entry.name}`."


def where(entry: Entry, rng: random.Random) -> Turn:
    return fill(rng.choice(WHERE), entry), import_line(entry)


def fill(question: str, entry: Entry) -> str:
    return question.format(name=entry.name, kind=entry.kind, summary=entry.summary)


def code_block(call: str) -> str:
    return f"```python\n{call}\n```"


def import_line(entry: Entry) -> str:
    return f"It is in the module `{entry.module}`: write `import {entry.module}`."


def size_of(turns: list[Turn]) -> int:
    return sum(len(question) + len(answer) for question, answer in turns)


def make_chats(entries: Iterable[Entry]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(train, eval). The name alone decides on which side an entry goes, so that no name is on both."""
    train: list[dict[str, Any]] = []
    evaluation: list[dict[str, Any]] = []
    for entry in entries:
        chat = make_chat(entry, random.Random(entry.name))
        (evaluation if share_of(entry.name) < EVAL_SHARE else train).append(chat)
    return train, evaluation


# ----------------------------------------------------------------------------- tokenizer and model shape


def train_tokenizer(chats: Iterable[dict[str, Any]], vocabulary: int) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = [f"{m['role']}\n{m['content']}" for chat in chats for m in chat["messages"]]
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|pad|>",
        additional_special_tokens=["<|endoftext|>", "<|im_start|>"],
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def model_shape(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    """Qwen3.5's architecture, small: three gated-DeltaNet layers, then one of full attention; tied embedding."""
    return {
        "architectures": ["Qwen3_5ForCausalLM"],
        "model_type": "qwen3_5_text",
        "dtype": "float32",
        "vocab_size": len(tokenizer),
        "hidden_size": 192,
        "intermediate_size": 512,
        "num_hidden_layers": 4,
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "initializer_range": 0.02,
        "tie_word_embeddings": True,
        "max_position_embeddings": 512,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 48,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "partial_rotary_factor": 0.25,
            "mrope_interleaved": True,
            "mrope_section": [2, 2, 2],
        },
        "linear_conv_kernel_dim": 4,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 64,
        "linear_value_head_dim": 64,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


# ----------------------------------------------------------------------------- files


def build(folder: Path, module_names: Iterable[str], vocabulary: int) -> dict[str, int]:
    """Writes all files below `folder` and returns how many chats each split has."""
    train, evaluation = make_chats(read_entries(module_names))
    random.Random(0).shuffle(train)
    random.Random(0).shuffle(evaluation)
    write_jsonl(folder / "train.jsonl", train)
    write_jsonl(folder / "eval.jsonl", evaluation)
    tokenizer = train_tokenizer(train, vocabulary)
    tokenizer.save_pretrained(folder / "model")
    shape = json.dumps(model_shape(tokenizer), indent=2) + "\n"
    (folder / "model" / "config.json").write_text(shape, encoding="utf-8")
    return {"train": len(train), "eval": len(evaluation)}


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")


def changed_files(here: Path, rebuilt: Path) -> list[str]:
    names = sorted(str(path.relative_to(rebuilt)) for path in rebuilt.rglob("*") if path.is_file())
    return [n for n in names if not (here / n).is_file() or not filecmp.cmp(here / n, rebuilt / n, shallow=False)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the quickstart's chats, tokenizer and model shape.")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="folder to write to")
    parser.add_argument("--modules", nargs="+", default=MODULES, help="read these modules only")
    parser.add_argument("--vocabulary", type=int, default=VOCABULARY, help="size of the tokenizer's vocabulary")
    parser.add_argument("--check", action="store_true", help="write nothing, say what a rebuild would change")
    options = parser.parse_args()
    if not options.check:
        counts = build(options.output, options.modules, options.vocabulary)
        print(f"{counts['train']} chats to train on, {counts['eval']} to evaluate on, in {options.output}")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        build(Path(scratch), options.modules, options.vocabulary)
        changed = changed_files(options.output, Path(scratch))
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"Python {version} would change: {', '.join(changed)}" if changed else f"Python {version}: nothing changes")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
