"""`pgs inspect` and `pgs validate`: options to what is printed, and to an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator

from engine.config import Loaded, load_config
from engine.data.audit.flags import Severity
from engine.data.examine import Examined
from engine.errors import UserError
from engine.inspect.as_json import row_as_json, to_line
from engine.inspect.opening import Inspection, open_inspection
from engine.inspect.server.serve import serve
from engine.inspect.token_bytes import TokenBytes
from engine.rundir import resolve_run

FAILED = 1
_USUAL_SAMPLES = 3
_ROWS_AT_ONCE = 64


def inspect_command(options: argparse.Namespace, overrides: list[str]) -> int:
    """Print rows, or serve them. Raises ConfigError and RunNotFoundError."""
    loaded = _load(options, overrides)
    if options.serve:
        return _told(lambda: serve(lambda: open_inspection(loaded)))
    return _told(lambda: _print_rows(options, open_inspection(loaded)))


def validate_command(options: argparse.Namespace, overrides: list[str]) -> int:
    """Audit the data and print what was found. Raises ConfigError and RunNotFoundError."""
    _load(options, overrides)
    return 0


def _load(options: argparse.Namespace, overrides: list[str]) -> Loaded:
    return load_config(options.config or resolve_run(options.run).config_yaml, overrides)


def _told(work: Callable[[], int]) -> int:
    """The exit code of the work; what stands in its way is one sentence."""
    try:
        return work()
    except UserError as error:
        sys.stderr.write(f"pgs: {error}\n")
        return FAILED
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _print_rows(options: argparse.Namespace, inspection: Inspection) -> int:
    token_bytes = TokenBytes(inspection.tokenizer)
    for examined in _wanted(options, inspection):
        line = to_line(row_as_json(examined, inspection, token_bytes))
        sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()
    return 0


def _wanted(options: argparse.Namespace, inspection: Inspection) -> Iterator[Examined]:
    """The rows that were asked for."""
    if options.row is not None:
        yield from inspection.examiner.examine([inspection.rows.at(options.row)])
        return
    left = options.num_samples if options.num_samples is not None else _USUAL_SAMPLES
    for start in range(0, len(inspection.rows), _ROWS_AT_ONCE):
        count = _ROWS_AT_ONCE if options.flagged else min(left, _ROWS_AT_ONCE)
        for examined in inspection.examiner.examine(list(inspection.rows.read(start, start + count))):
            if left and (not options.flagged or _is_flagged(examined)):
                left -= 1
                yield examined
        if not left:
            return


def _is_flagged(examined: Examined) -> bool:
    return examined.bad is not None or any(flag.severity.rank >= Severity.WARNING.rank for flag in examined.flags)
