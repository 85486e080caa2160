"""`pgs doctor`: which checks are made, how they are told, and the exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module

from engine.config import Loaded, load_config
from engine.doctor.report import Printer, as_json, is_well
from engine.doctor.result import Check, Outcome, Patient, Result
from engine.doctor.runner import run_checks
from engine.exit_codes import FAILED, USAGE_ERROR


def _later(module: str, function: str) -> Callable[[Patient], Outcome]:
    """The check of a module that is imported when it is made: most of them bring torch."""

    def examine(patient: Patient) -> Outcome:
        check: Callable[[Patient], Outcome] = getattr(import_module(f"engine.doctor.checks.{module}"), function)
        return check(patient)

    return examine


CHECKS = (
    Check("terminal", "what the terminal can show", _later("terminal", "check_terminal")),
    Check("versions", "Python and the libraries", _later("versions", "check_versions")),
    Check("gpu", "torch computes on the GPU that is here", _later("gpu", "check_gpu")),
    Check("memory", "weights, gradients and optimizer state fit", _later("memory", "check_memory")),
    Check("disk", "room for the checkpoints", _later("disk", "check_disk")),
    Check("kernels", "gated delta rule against a float64 loop", _later("kernels", "check_kernels"), compiles=True),
    Check("float8", "products in float8, if the config asks", _later("float8", "check_float8")),
    Check("mask", "answers and their ends have loss", _later("mask", "check_mask")),
    Check("loss", "chunked loss equals full logits", _later("loss", "check_loss")),
    Check("packing", "packed documents do not see each other", _later("packing", "check_packing"), compiles=True),
    Check("compiled", "compiled layers equal eager ones", _later("compiled", "check_compiled"), compiles=True),
    Check("rounding", "small updates of bfloat16 weights count", _later("rounding", "check_rounding")),
    Check("optimizer-kernel", "one kernel, same bits", _later("optimizer_kernel", "check_optimizer_kernel")),
    Check("release", "gradient release gives the same bits", _later("release", "check_release")),
    Check("tied-head", "a tied head is updated once a step", _later("tied_head", "check_tied_head")),
    Check("optimizer-state", "8-bit state survives save and load", _later("optimizer_state", "check_optimizer_state")),
    Check("saving", "a saved model loads back identical", _later("saving", "check_saving")),
)
"""In the order in which they are made: first what needs no heavy library."""


def doctor_command(options: argparse.Namespace, overrides: list[str]) -> int:
    """Examine this machine and print what was found. Raises ConfigError."""
    if options.list:
        for check in CHECKS:
            sys.stdout.write(f"{check.name:<17}{check.subject}\n")
        return 0
    wanted = [check for check in CHECKS if not options.only or check.name in options.only]
    unknown = sorted(set(options.only or ()) - {check.name for check in CHECKS})
    if unknown:
        sys.stderr.write(f"pgs: --only: there is no check {', '.join(unknown)}; `pgs doctor --list` names them\n")
        return USAGE_ERROR
    if overrides and options.config is None:
        sys.stderr.write(f"pgs: {overrides[0]}: without --config there is no key to set\n")
        return USAGE_ERROR
    loaded = load_config(options.config, overrides) if options.config is not None else None
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: spinning threads starve each other
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    return _examine(wanted, loaded, options.json)


def _examine(checks: list[Check], loaded: Loaded | None, wants_json: bool) -> int:
    begin = time.perf_counter()
    config = str(loaded.path) if loaded is not None else None
    printer = Printer(sys.stderr if wants_json else sys.stdout)
    if not wants_json:
        printer.heading(len(checks), config)
    patient = Patient(dict(os.environ), loaded)
    results: list[Result] = []
    with _wiped(printer), contextlib.redirect_stdout(sys.stderr):  # stdout is the report: libraries write there, too
        for result in run_checks(checks, patient, lambda check: printer.announce(check, _is_on_gpu())):
            results.append(result)
            printer.wipe() if wants_json else printer.result(result)
    seconds = time.perf_counter() - begin
    if wants_json:
        sys.stdout.write(as_json(results, config, seconds) + "\n")
    else:
        printer.summary(results, seconds)
    return 0 if is_well(results) else FAILED


def _is_on_gpu() -> bool:
    """Whether kernels are compiled for a GPU; asked without importing torch, which the check `gpu` does first."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())


@contextlib.contextmanager
def _wiped(printer: Printer) -> Iterator[None]:
    """However it ends, Ctrl-C too, no half line stays on the terminal."""
    try:
        yield
    finally:
        printer.wipe()
