"""Runs the engine on this machine's GPU and prints what its event log says: speed, memory, and how faults end.

    python tests/bench/gpu_run.py [--shape qwen3_600m] [--steps 20] [--rows 2 --length 2048]

Weights are random: neither speed nor memory depends on their values. Nothing is downloaded. With `--shape tiny` it
runs on a CPU too, which is how the script itself is tried.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
QUICKSTART = PROJECT / "configs" / "quickstart"
QWEN3_5_4B: dict[str, Any] = {
    "architectures": ["Qwen3_5ForCausalLM"],
    "model_type": "qwen3_5_text",
    "vocab_size": 248320,
    "hidden_size": 2560,
    "intermediate_size": 9216,
    "num_hidden_layers": 32,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "tie_word_embeddings": True,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 1e7,
        "partial_rotary_factor": 0.25,
        "mrope_interleaved": True,
        "mrope_section": [11, 11, 10],
    },
}
QWEN3_600M: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 151936,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "tie_word_embeddings": True,
    "rope_theta": 1e6,
}
SHAPES = {
    "qwen3_5_4b": QWEN3_5_4B,
    "qwen3_600m": QWEN3_600M,
    "tiny": QWEN3_600M
    | {
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "vocab_size": 4096,
        "head_dim": 16,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
}


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        config = write_config(root, options)
        report("run", train(root / "a", config), options)
        report(
            "stopped and resumed", train(root / "b", config, max_steps=options.steps // 2, then=options.steps), options
        )
        if options.out_of_memory:
            report("far too large a batch", train(root / "c", config, rows=4096), options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="qwen3_600m")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--optimizer", default="lion8bit")
    parser.add_argument("--out-of-memory", action="store_true")
    return parser.parse_args()


def write_config(root: Path, options: argparse.Namespace) -> Path:
    """A model folder of the shape, chats as long as asked for, and the config over both."""
    model = root / "model"
    model.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        (model / name).write_text((QUICKSTART / "model" / name).read_text())
    (model / "config.json").write_text(json.dumps(SHAPES[options.shape] | {"eos_token_id": 2, "pad_token_id": 3}))
    (root / "chats.jsonl").write_text("".join(long_chats(options.length)))
    lines = [
        f"model: {{name_or_path: {model}, init: random}}",
        f"data: {{dataset: {root / 'chats.jsonl'}, max_seq_length: {options.length}}}",
        f"train: {{max_steps: {options.steps}, per_device_batch_size: {options.rows}, learning_rate: 1.0e-5,"
        f" optimizer: {options.optimizer}, logging_steps: 5, spike_detection: false, keep_checkpoints: 1}}",
    ]
    path = root / "bench.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def long_chats(length: int, count: int = 64) -> list[str]:
    """Chats of at least `length` tokens: the quickstart's, one after the other."""
    turns = [json.loads(line)["messages"] for line in (QUICKSTART / "train.jsonl").open()]
    rows: list[str] = []
    current: list[dict[str, str]] = []
    while len(rows) < count:
        for messages in turns:
            current += [message for message in messages if message["role"] != "system"]
            if sum(len(message["content"]) for message in current) > 6 * length:
                rows.append(json.dumps({"messages": current}) + "\n")
                current = []
    return rows[:count]


def train(
    folder: Path, config: Path, rows: int | None = None, max_steps: int | None = None, then: int | None = None
) -> Path:
    """Train in a process of its own, stop after `max_steps` and go on to `then`; return the run's folder."""
    stops = [] if max_steps is None else ["--train.save_steps", str(max_steps)]
    command = [
        sys.executable,
        "-m",
        "engine",
        "train",
        "--config",
        str(config),
        "--train.output_dir",
        str(folder),
        *stops,
    ]
    if rows is not None:
        command += ["--train.per_device_batch_size", str(rows)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")])}
    code = subprocess.run(command, env=environment, check=False).returncode
    [run] = folder.iterdir()
    if then is not None:
        checkpoint = run / "checkpoints" / f"step-{max_steps}"
        subprocess.run(
            [*command[:7], str(folder), "--train.resume_from", str(checkpoint)], env=environment, check=False
        )
        run = max(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    print(f"exit code {code}", flush=True)
    return run


def report(title: str, run: Path, options: argparse.Namespace) -> None:
    events = [json.loads(line) for line in (run / "events.jsonl").open()]
    steps = [event for event in events if event["event"] == "step"]
    settled = steps[len(steps) // 2 :]
    end = events[-1]
    figures: dict[str, Any] = {
        "what": title,
        "shape": options.shape,
        "optimizer": options.optimizer,
        "steps": len(steps),
    }
    if settled:
        figures |= {
            "tok_s": round(statistics.median(step["tok_s"] for step in settled)),
            "dt": round(statistics.median(step["dt"] for step in settled), 3),
            "time": settled[-1]["time"],
            "mem": {key: value and round(value, 2) for key, value in settled[-1]["mem"].items()},
            "losses": {step["step"]: step["loss"] for step in steps[-3:]},
        }
    gpu = [event for event in events if event["event"] == "gpu"]
    figures |= {"gpu": gpu[-1] if gpu else None, "end": end.get("reason"), "exit_code": end.get("exit_code")}
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
