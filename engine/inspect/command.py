"""`pgs inspect` and `pgs validate`: options to what is printed, and to an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from engine.config import Loaded, load_config
from engine.data.audit.flags import Severity
from engine.data.examine import Examined
from engine.exit_codes import FAILED, USAGE_ERROR
from engine.inspect.as_json import row_as_json
from engine.inspect.as_text import RowPrinter
from engine.inspect.opening import Inspection, open_inspection
from engine.inspect.progress import reading_shown, rows_shown
from engine.inspect.report_text import print_report
from engine.inspect.server.serve import serve
from engine.inspect.spike_text import SpikePrinter
from engine.inspect.spikes import Spike, SpikeReader, read_spike
from engine.inspect.validation import audit, is_ok, report_as_json
from engine.printing.outcome import print_json, told
from engine.printing.paper import paper_for
from engine.rundir import resolve_run

_USUAL_SAMPLES = 3
_LEFT_OUT = {
    "spike": ("serve", "row", "flagged", "tokens"),
    "serve": ("num_samples", "row", "flagged", "tokens", "full"),
    "json": ("tokens", "full"),
    "row": ("flagged",),
}
"""Options that have no effect beside another one."""


def inspect_command(options: argparse.Namespace, overrides: list[str]) -> int:
    """Print rows, or serve them. Raises ConfigError and RunNotFoundError."""
    _say_what_has_no_effect(options)
    if options.spike is not None:
        return _inspect_spike(options, overrides)
    loaded = _load(options, overrides)
    if options.serve:
        run = resolve_run(options.run) if options.run is not None else None
        return told(lambda: serve(lambda progress: open_inspection(loaded, run is None, progress), run))
    return told(lambda: _print_rows(options, _opened(loaded)))


def validate_command(options: argparse.Namespace, overrides: list[str]) -> int:
    """Audit the data and print what was found. Raises ConfigError and RunNotFoundError."""
    loaded = _load(options, overrides)
    return told(lambda: _print_audit(options, _opened(loaded)))


def _say_what_has_no_effect(options: argparse.Namespace) -> None:
    given = {name for name, value in vars(options).items() if value is not None and value is not False}
    for chosen, others in _LEFT_OUT.items():
        for other in others:
            if {chosen, other} <= given:
                sys.stderr.write(f"note: --{other} has no effect with --{chosen}\n")


def _load(options: argparse.Namespace, overrides: list[str]) -> Loaded:
    if options.config is not None:
        return load_config(options.config, overrides)
    return load_config(resolve_run(options.run).config_yaml, overrides, check_files=False)


def _opened(loaded: Loaded, needs_rows: bool = True) -> Inspection:
    with reading_shown(sys.stderr) as progress:
        return open_inspection(loaded, needs_rows, progress)


def _inspect_spike(options: argparse.Namespace, overrides: list[str]) -> int:
    """`--spike RUN:STEP`. Raises ConfigError and RunNotFoundError."""
    name, _, step = options.spike.rpartition(":")
    if not name or not step.isdecimal():
        sys.stderr.write(f"pgs: --spike takes RUN:STEP, such as latest:120; found {options.spike!r}\n")
        return USAGE_ERROR
    run = resolve_run(name)
    loaded = load_config(run.config_yaml, overrides, check_files=False)
    return told(lambda: _print_spike(options, read_spike(run, int(step)), loaded))


def _print_spike(options: argparse.Namespace, spike: Spike, loaded: Loaded) -> int:
    reader = SpikeReader(_opened(loaded, needs_rows=False))
    if options.json:
        print_json(reader.as_json(spike))
    else:
        printer = SpikePrinter(reader, paper_for(sys.stdout, options.plain), options.full)
        printer.headline(spike)
        for row in spike.rows[: options.num_samples if options.num_samples is not None else _USUAL_SAMPLES]:
            printer.row(row)
        printer.legend()
    return 0


def _print_rows(options: argparse.Namespace, inspection: Inspection) -> int:
    rows = _wanted(options, inspection)
    if options.json:
        for examined in rows:
            print_json(row_as_json(examined, inspection))
    else:
        _print_for_people(options, inspection, rows)
    return 0


def _print_for_people(options: argparse.Namespace, inspection: Inspection, rows: Iterator[Examined]) -> None:
    paper = paper_for(sys.stdout, options.plain)
    printer = RowPrinter(inspection, paper, options.full, options.tokens)
    printed: set[bool] = set()
    for examined in rows:
        printer.row(examined)
        printed.add(examined.bad is None)
    if True in printed:
        printer.legend()
    elif not printed and options.flagged:
        paper.print(f"none of the {len(inspection.rows):,} rows has a warning or an error")


def _print_audit(options: argparse.Namespace, inspection: Inspection) -> int:
    total = len(inspection.rows)
    with rows_shown("audited", sys.stderr) as progress:
        report, fill = audit(
            inspection, total if options.num_samples is None else min(options.num_samples, total), progress
        )
    if options.json:
        print_json(report_as_json(report, fill))
    else:
        print_report(report, fill, total, paper_for(sys.stdout, options.plain))
    return 0 if is_ok(report) else FAILED


def _wanted(options: argparse.Namespace, inspection: Inspection) -> Iterator[Examined]:
    """The rows that were asked for."""
    if options.row is not None:
        yield from inspection.examiner.examine([inspection.rows.at(options.row)])
        return
    left = options.num_samples if options.num_samples is not None else _USUAL_SAMPLES
    last = len(inspection.rows) if options.flagged else left
    for batch in inspection.rows.batches(0, last):
        for examined in inspection.examiner.examine(batch):
            if left and (not options.flagged or _is_flagged(examined)):
                left -= 1
                yield examined
        if not left:
            return


def _is_flagged(examined: Examined) -> bool:
    return examined.bad is not None or any(flag.severity.rank >= Severity.WARNING.rank for flag in examined.flags)
