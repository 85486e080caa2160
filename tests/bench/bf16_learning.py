"""What bfloat16 weights learn: the same run with float32 weights, with stochastic rounding, and without.

    python tests/bench/bf16_learning.py --model FOLDER [--steps 200] [--parallel 1] [--device cpu] [--out FOLDER]

FOLDER is a pretrained chat model, SmolLM2-135M-Instruct say. Seed, data and schedule are the same in all runs, which
are real `pgs train` runs; the figures come from their event logs. Writes `learning.json` and, with the curves of the
evaluation loss, `learning.svg`; prints one line a run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
QUICKSTART = PROJECT / "configs" / "quickstart"
WEIGHTS = {
    "float32": {"model.torch_dtype": "float32"},
    "bfloat16, stochastic rounding": {"model.torch_dtype": "bfloat16", "train.stochastic_rounding": "true"},
    "bfloat16, nearest rounding": {"model.torch_dtype": "bfloat16", "train.stochastic_rounding": "false"},
}
SETTINGS = {
    "data.dataset": str(QUICKSTART / "train.jsonl"),
    "data.eval_dataset": str(QUICKSTART / "eval.jsonl"),
    "data.max_seq_length": "256",
    "train.optimizer": "lion8bit",
    "train.lr_scheduler": "constant",
    "train.warmup_ratio": "0.05",
    "train.logging_steps": "50",
    "train.seed": "0",
}
COLOURS = ("#1b6ca8", "#2a9d5c", "#c8452d")


@dataclass(frozen=True, slots=True)
class Learned:
    """What the event log of one run says."""

    weights: str
    learning_rate: float
    evals: list[tuple[int, float]]
    """(step, evaluation loss), step 0 first."""
    moved: float | None
    """Mean over the steps, None for weights that do not say."""
    seconds: float


def main() -> None:
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    jobs = [(weights, rate) for rate in options.rates for weights in WEIGHTS]
    with ThreadPoolExecutor(options.parallel) as pool:
        results = list(pool.map(lambda job: learn(job[0], job[1], options), jobs))
    document = {
        "model": options.model.name,
        "steps": options.steps,
        "rows": options.rows,
        "device": options.device,
        "settings": {key: value.removeprefix(f"{PROJECT}/") for key, value in SETTINGS.items()},
        "runs": [asdict(result) for result in results],
    }
    (options.out / "learning.json").write_text(json.dumps(document, indent=1) + "\n")
    (options.out / "learning.svg").write_text(drawing(results, options.rates))
    print(table(results))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--eval-every", type=int, default=50)
    parser.add_argument("--eval-samples", type=int, default=48)
    parser.add_argument("--rates", type=float, nargs="+", default=[3e-6, 1e-5])
    parser.add_argument("--parallel", type=int, default=1, help="runs at the same time")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, default=Path("learning"))
    return parser.parse_args()


def learn(weights: str, rate: float, options: argparse.Namespace) -> Learned:
    """One `pgs train` to its end."""
    flags = (
        SETTINGS
        | WEIGHTS[weights]
        | {
            "train.learning_rate": str(rate),
            "train.max_steps": str(options.steps),
            "train.per_device_batch_size": str(options.rows),
            "data.eval_every": str(options.eval_every),
            "data.eval_samples": str(options.eval_samples),
        }
    )
    environment = os.environ | {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // options.parallel))}
    if options.device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "learning.yaml"
        config.write_text(f"model: {{name_or_path: {options.model.resolve()}}}\n")
        flags["train.output_dir"] = folder
        command = [sys.executable, "-m", "engine", "train", "--config", str(config)]
        command += [part for key, value in flags.items() for part in (f"--{key}", value)]
        begin = time.perf_counter()
        done = subprocess.run(command, cwd=PROJECT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        seconds = time.perf_counter() - begin
        logs = list(Path(folder).glob("*/events.jsonl"))
        if done.returncode or len(logs) != 1:
            raise SystemExit(f"{weights}, {rate}: exit code {done.returncode}: {done.stderr.decode()[-2000:]}")
        return as_learned(weights, rate, [json.loads(line) for line in logs[0].open()], seconds)


def as_learned(weights: str, rate: float, events: Sequence[dict[str, Any]], seconds: float) -> Learned:
    evals = [(event["step"], event["loss"]) for event in events if event["event"] == "eval"]
    moved = [event["moved"] for event in events if event["event"] == "step" and event.get("moved") is not None]
    return Learned(weights, rate, evals, sum(moved) / len(moved) if moved else None, seconds)


def table(results: Sequence[Learned]) -> str:
    """One line a run: its evaluation losses, how they end against float32, and how much of the movement arrived."""
    reference = {result.learning_rate: result.evals[-1][1] for result in results if result.weights == "float32"}
    lines = []
    for result in results:
        losses = " ".join(f"{loss:.4f}" for _, loss in result.evals)
        away = result.evals[-1][1] / reference[result.learning_rate] - 1
        moved = "-" if result.moved is None else f"{result.moved:.1%}"
        lines.append(
            f"{result.learning_rate:<7g} {result.weights:<30} {losses}  {away:+.2%} of float32  moved {moved}  "
            f"{result.seconds:.0f} s"
        )
    return "\n".join(lines)


def drawing(results: Sequence[Learned], rates: Sequence[float]) -> str:
    """The curves as SVG, one panel a learning rate."""
    width, height, left, top = 420, 260, 60, 40
    losses = [loss for result in results for _, loss in result.evals]
    low, high = min(losses), max(losses)
    last = max(step for result in results for step, _ in result.evals)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {(width + left) * len(rates) + 20} {height + 130}" '
        'font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for panel, rate in enumerate(rates):
        begin = left + panel * (width + left)
        parts.append(f'<text x="{begin}" y="{top - 14}">evaluation loss, learning rate {rate:g}</text>')
        for share in (0.0, 0.5, 1.0):
            y = top + height * share
            parts.append(f'<line x1="{begin}" x2="{begin + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
            parts.append(
                f'<text x="{begin - 8}" y="{y + 4:.1f}" text-anchor="end">{high - (high - low) * share:.2f}</text>'
            )
        parts.append(f'<text x="{begin}" y="{top + height + 18}">0</text>')
        parts.append(f'<text x="{begin + width}" y="{top + height + 18}" text-anchor="end">{last} steps</text>')
        for colour, result in zip(COLOURS, (run for run in results if run.learning_rate == rate), strict=True):
            points = " ".join(
                f"{begin + width * step / last:.1f},{top + height * (high - loss) / (high - low):.1f}"
                for step, loss in result.evals
            )
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for number, (colour, name) in enumerate(zip(COLOURS, WEIGHTS, strict=True)):
        y = top + height + 44 + 20 * number
        parts.append(
            f'<line x1="{left}" x2="{left + 30}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="3"/>'
        )
        parts.append(f'<text x="{left + 38}" y="{y}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
