"""The table of speed and memory: each recipe in a run of its own, and TRL's SFTTrainer on the same rows.

    PYTHONPATH=. python tests/bench/train_4b.py [--rows mixers_2x2048,all_4x4096_free] [--steps 14] [--out FILE]
        [--trl all] [--profile] [--set model.compile=false --label "not compiled"] [--shape tiny]

Random weights of Qwen3.5-4B's shape, rows of exactly the row's length without packing, all tokens but the first with
loss. A run is ended once its steps are told, so nothing is saved. FILE is read first if it exists: rows of other names
stay in it, and it is written after each row. `python -m tests.bench.training.page` puts it into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from engine.model.flops import Products, flops_per_token, products_of
from tests.bench.training.competitor import TrlProcess, TrlRun, started_trl, trl_runs_named
from tests.bench.training.figures import figures, reached
from tests.bench.training.machine import describe_machine, measure_rates
from tests.bench.training.recipes import RECIPES, Recipe, config_of, recipe_named
from tests.bench.training.results import load_results, put, save_results
from tests.bench.training.runner import WARM_UP, Ran, bench_environment, run_recipe
from tests.bench.training.table import comparison_table, recipe_table, settings_table
from tests.bench.training.together import run_together
from tests.bench.training.utilisation import utilisation
from tests.bench.training.workload import PROJECT, QWEN3_5_4B, SHAPES, fitting, read_keys, shape_of


def main() -> None:
    options = parse()
    recipes = chosen_recipes(options)
    competitors = trl_runs_named(options.trl.split(",")) if options.trl else []
    results = load_results(options.out)
    results |= {"shape": options.shape, "machine": describe_machine()}
    results["rates"] = measure_rates()
    save_results(options.out, results)
    with ExitStack() as stack:
        waiting = [stack.enter_context(one) for one in waiting_trl(competitors, options)]
        for recipe, ran, seconds in runs_of(recipes, waiting, options):
            put(results["rows"], row_of(recipe, ran, seconds, options, results))
            save_results(options.out, results)
        for trl in waiting or one_after_another(competitors, options):
            put(results["trl"], measure_trl(trl, options, results["machine"]))
            save_results(options.out, results)
    print(f"\n{recipe_table(results)}\n\n{settings_table(results)}\n\n{comparison_table(results)}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="all", help="names of recipes with commas between, all (the default) or none")
    parser.add_argument("--steps", type=int, default=14, help="steps of each run, four of them warm-up")
    parser.add_argument("--shape", choices=SHAPES, default=QWEN3_5_4B)
    parser.add_argument("--out", type=Path, default=PROJECT / "build" / "train_4b.json", metavar="FILE")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="for each recipe")
    parser.add_argument("--together", action="store_true", help="start all runs at once, measure one at a time")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for each recipe")
    parser.add_argument("--label", help="tells the rows of this call from others of the same names")
    parser.add_argument("--trl", metavar="NAMES", help="runs of TRL with commas between, or all")
    parser.add_argument("--profile", action="store_true", help="one more run of each recipe under the profiler")
    parser.add_argument("--timeout", type=float, default=240.0, metavar="SECONDS", help="for each run")
    return parser.parse_args()


def chosen_recipes(options: argparse.Namespace) -> list[Recipe]:
    names = {"all": [recipe.name for recipe in RECIPES], "none": []}.get(options.rows, options.rows.split(","))
    keys, environment = read_keys(options.set), dict(one.split("=", 1) for one in options.env)
    recipes = [fitting(recipe_named(name), options.shape).with_keys(keys) for name in names]
    return [replace(recipe, environment={**recipe.environment, **environment}) for recipe in recipes]


def waiting_trl(
    competitors: Sequence[TrlRun], options: argparse.Namespace
) -> Iterator[AbstractContextManager[TrlProcess]]:
    """With --together, TRL's runs side by side with ours, each to wait behind its warm-up."""
    if options.together:
        yield from (started_trl(run, options.shape, options.steps, waits=True) for run in competitors)


def one_after_another(competitors: Sequence[TrlRun], options: argparse.Namespace) -> Iterator[TrlProcess]:
    """TRL's runs, each started when the one before has ended."""
    for run in competitors:
        with started_trl(run, options.shape, options.steps) as process:
            yield process


def runs_of(
    recipes: Sequence[Recipe], waiting: Sequence[TrlProcess], options: argparse.Namespace
) -> Iterator[tuple[Recipe, Ran, float]]:
    """Each recipe's run, one after the other or side by side, and the seconds since the one before."""
    begin = time.monotonic()
    if options.together:
        steps = options.steps - WARM_UP
        runs = run_together(recipes, options.shape, steps, options.timeout, others=waiting)
    else:
        runs = ((one, run_recipe(one, options.shape, options.steps, options.timeout)) for one in recipes)
    for recipe, ran in runs:
        yield recipe, ran, time.monotonic() - begin
        begin = time.monotonic()


def row_of(
    recipe: Recipe, ran: Ran, seconds: float, options: argparse.Namespace, results: dict[str, Any]
) -> dict[str, Any]:
    """The figures of a run, beside what they aim at and what the machine could do."""
    row = figures(recipe, ran)
    row |= {"label": options.label, "machine": results["machine"], "wall_s": seconds, "together": options.together}
    if row.get("tok_s") is not None:
        peak = of_the_peak(recipe, options.shape, row["tok_s"], results["rates"])
        row |= {"reached": reached(row, recipe.aim), **peak}
    if options.profile:
        row["timeline"] = profile(recipe, options)
    say(row)
    return row


def of_the_peak(recipe: Recipe, shape: str, tok_s: float, rates: dict[str, float | None]) -> dict[str, Any]:
    """Operations a token, and their share of the machine's rate: needed ones (MFU), and all that are done (HFU)."""
    products = products_of_shape(shape, bool(recipe.settings.get("train.freeze_non_attention")))
    flops = flops_per_token(products, config_of(recipe.settings), recipe.length)
    datasheet, found = rates["bf16_datasheet"], rates["bf16_measured"]
    return {
        "flops_per_token": {"needed": flops.needed, "done": flops.done},
        "mfu": {kind: utilisation(flops.needed, tok_s, rate) for kind, rate in peaks(datasheet, found)},
        "hfu": {kind: utilisation(flops.done, tok_s, rate) for kind, rate in peaks(datasheet, found)},
    }


def peaks(datasheet: float | None, found: float | None) -> tuple[tuple[str, float | None], ...]:
    return ("datasheet", datasheet if found else None), ("measured", found)


@cache
def products_of_shape(shape: str, frozen: bool) -> Products:
    """Counted on a model without storage."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from engine.model.freeze import freeze_non_attention

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**shape_of(shape)))
    if frozen:
        freeze_non_attention(model)
    return products_of(model)


def profile(recipe: Recipe, options: argparse.Namespace) -> dict[str, Any] | None:
    """The time line of the recipe (`step_timeline.py`); what it prints goes through."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "timeline.json"
        command = [sys.executable, str(PROJECT / "tests" / "bench" / "step_timeline.py")]
        command += ["--recipe", recipe.name, "--shape", options.shape, "--out", str(out)]
        command += [argument for one in options.set for argument in ("--set", one)]
        environment = bench_environment(Path(folder)) | dict(recipe.environment)
        try:
            subprocess.run(command, env=environment, check=False, timeout=options.timeout)
        except subprocess.TimeoutExpired:
            print(f"{recipe.name}: no time line within {options.timeout:.0f} s", flush=True)
        return json.loads(out.read_text()) if out.exists() else None


def measure_trl(trl: TrlProcess, options: argparse.Namespace, machine: dict[str, Any]) -> dict[str, Any]:
    begin = time.monotonic()
    row = trl.figures(options.timeout)
    row |= {"label": None, "machine": machine, "wall_s": time.monotonic() - begin}
    say(row)
    return row


def say(row: dict[str, Any]) -> None:
    """One line while the other runs are still to come."""
    if row.get("tok_s") is None:
        print(f"{row['name']}: {row['ended']}\n{row.get('printed', '')}", flush=True)
        return
    sizes = [f"{name} {row[name]:.2f} GiB" for name in ("peak", "reserved") if row[name] is not None]
    parts = [f"{name} {seconds * 1000:.0f} ms" for name, seconds in row.get("time", {}).items() if seconds is not None]
    figures_ = [f"{row['tok_s']:,.0f} tok/s", f"step {row['dt'] * 1000:.0f} ms", *parts, *sizes]
    print(
        f"{row['name']}: {', '.join(figures_)}; recompiles {row.get('recompiles')}; {row['wall_s']:.0f} s", flush=True
    )


if __name__ == "__main__":
    main()
