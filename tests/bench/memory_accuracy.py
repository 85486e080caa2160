"""How far estimates of memory are from the truth: each configuration is estimated, and then trained for three steps.

    PYTHONPATH=. python tests/bench/memory_accuracy.py [--rows all] [--out docs/performance/memory_accuracy.json]
        [--timeout 200] [--most 5] [--budget 480] [--again] [--shape tiny]
    PYTHONPATH=. python tests/bench/memory_accuracy.py --estimates

The measurement is that of `pgs profile --measure`: the engine in a process of its own, rows of exactly the row's
length, random weights, so that nothing is downloaded. Several run side by side where their estimates fit into the GPU
together, since most of a run is its start; peak and reserved memory are those of each process's own allocator. FILE is
read first: a row that it has already is left out unless --again, and it is written after each row. Rows not done within
the budget (seconds) are left for the next call. `--estimates` needs no GPU: what FILE has measured is compared with
what is estimated now. `python -m tests.bench.training.page` puts the table into
docs/profile.md.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from engine.config import Config
from engine.errors import UserError
from engine.memory.estimate import Estimate, estimate_memory
from engine.memory.estimate.model_shape import model_shape
from engine.profile.comparison import compare
from engine.profile.gpu_to_measure import GpuToMeasure, gpu_to_measure
from engine.profile.measure import Measurement, MeasuringStoppedError, measure
from tests.bench.training.accuracy_rows import TINY, AccuracyRow, config_of, rows_named
from tests.bench.training.accuracy_table import accuracy_table
from tests.bench.training.machine import describe_machine
from tests.bench.training.results import put
from tests.bench.training.side_by_side import side_by_side
from tests.bench.training.workload import PROJECT

RESULTS = PROJECT / "docs" / "performance" / "memory_accuracy.json"
MARGIN = 1.1
"""Of each estimate, for runs side by side."""


@dataclass(frozen=True, slots=True)
class Job:
    """A configuration with what is expected of it."""

    row: AccuracyRow
    config: Config
    estimate: Estimate


def main() -> None:
    options = parse()
    if options.estimates:
        print(f"\n{accuracy_table(estimated_anew(options.out, options.shape))}")
        return
    gpu = None if options.shape == TINY else gpu_to_measure()
    results = load(options.out)
    results["machine"] = describe_machine()
    until = time.monotonic() + options.budget
    with tempfile.TemporaryDirectory() as name:
        jobs = list(jobs_of(options, Path(name), results))
        room = (gpu.total_gib - gpu.used_gib) if gpu else float("inf")
        for job, result in side_by_side(
            jobs,
            size=lambda job: MARGIN * job.estimate.total_gib,
            room=room,
            most=options.most,
            run=lambda job: trained(job, gpu, min(until, time.monotonic() + options.timeout)),
        ):
            if result is not None:
                put(results["rows"], row_of(job, result))
                save(options.out, results)
                say(results["rows"][-1])
    print(f"\n{accuracy_table(results)}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="all", help="names of rows with commas between, or all (the default)")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"{RESULTS.relative_to(PROJECT)}, if not tiny")
    parser.add_argument("--timeout", type=float, default=200.0, metavar="SECONDS", help="for each run")
    parser.add_argument("--budget", type=float, default=480.0, metavar="SECONDS", help="for all of them")
    parser.add_argument("--most", type=int, default=5, help="runs at once")
    parser.add_argument("--again", action="store_true", help="measure rows again that FILE has")
    parser.add_argument("--estimates", action="store_true", help="estimate the rows of FILE anew, measure none")
    parser.add_argument("--shape", choices=("real", TINY), default="real")
    options = parser.parse_args()
    options.out = options.out or (RESULTS if options.shape == "real" else PROJECT / "build" / RESULTS.name)
    return options


def jobs_of(options: argparse.Namespace, folder: Path, results: dict[str, Any]) -> Iterator[Job]:
    """Each row that is wanted and still to do, with its estimate."""
    done = {row["name"] for row in results["rows"] if row.get("measured")}
    for row in rows_named(options.rows):
        if row.name in done and not options.again:
            continue
        config = config_of(row, folder, options.shape)
        with environment(row.environment):
            yield Job(row, config, estimate_memory(config, model_shape(config)))


@contextmanager
def environment(more: Mapping[str, str]) -> Iterator[None]:
    """The allocator's settings of a row are part of its estimate."""
    with patch.dict(os.environ, more):
        yield


@dataclass(frozen=True, slots=True)
class Trained:
    """What became of a run: figures, or why there are none."""

    measurement: Measurement | None
    ended: str
    seconds: float


def trained(job: Job, gpu: GpuToMeasure | None, deadline: float) -> Trained | None:
    """Train the configuration's steps; None where the time was up before."""
    begin = time.monotonic()
    if begin >= deadline:
        return None
    try:
        found = measure(
            job.config,
            gpu,
            is_stopped=lambda: time.monotonic() > deadline,
            environment=job.row.environment,
        )
    except MeasuringStoppedError:
        return Trained(None, f"not done after {time.monotonic() - begin:.0f} s", time.monotonic() - begin)
    except UserError as error:
        return Trained(None, str(error), time.monotonic() - begin)
    return Trained(found, found.reason or "measured", time.monotonic() - begin)


def estimated_anew(path: Path, shape: str) -> dict[str, Any]:
    """The results in the file, which is rewritten, with the estimates of today."""
    results = load(path)
    known = {row["name"]: row for row in results["rows"]}
    with tempfile.TemporaryDirectory() as name:
        for row in rows_named(",".join(known)):
            config = config_of(row, Path(name), shape)
            with environment(row.environment):
                estimate = estimate_memory(config, model_shape(config))
            known[row.name] |= estimate_of(estimate)
    save(path, results)
    return results


def row_of(job: Job, result: Trained) -> dict[str, Any]:
    """All that is known of the row; memory in GiB."""
    estimate, found = job.estimate, result.measurement
    return {
        "name": job.row.name,
        "label": None,
        "model": job.config.model.name_or_path,
        "lines": job.config.train.per_device_batch_size,
        "length": job.config.data.max_seq_length,
        "settings": job.row.settings,
        "environment": dict(job.row.environment),
        **estimate_of(estimate),
        "measured": measured_of(found) if found is not None and found.fits else None,
        "compared": {} if found is None else {one.name: one.difference for one in compare(estimate, found)},
        "ended": result.ended,
        "wall_s": result.seconds,
    }


def estimate_of(estimate: Estimate) -> dict[str, Any]:
    return {
        "trained": estimate.trained,
        "parameters": estimate.parameters,
        "estimate": {
            "peak": estimate.peak_gib,
            "reserved": estimate.reserved_gib,
            "decides": estimate.decides,
            "components": dict(estimate.components),
            "phases": {phase.name: phase.peak_gib for phase in estimate.phases},
        },
    }


def measured_of(found: Measurement) -> dict[str, Any]:
    return {
        "peak": found.peak_gib,
        "reserved": found.reserved_gib,
        "components": dict(found.components),
        "tok_s": found.tok_s,
        "torch": found.torch,
    }


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"rows": []}
    return found


def save(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(results, indent=1) + "\n")
    temporary.replace(path)


def say(row: dict[str, Any]) -> None:
    """One line while the others go on."""
    parts = [f"{name} {off:+.1%}" for name, off in row["compared"].items() if off is not None]
    print(f"{row['name']}: {row['ended']}; {row['wall_s']:.0f} s; {', '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
