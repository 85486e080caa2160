"""Runs checks one after the other; what a check raises is a result too."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator

from engine.doctor.result import Check, Outcome, Patient, Result, failed, skipped
from engine.errors import UserError

Announce = Callable[[Check], None]


class NotHereError(Exception):
    """A check cannot be made here; the text says why."""


def run_checks(checks: Iterable[Check], patient: Patient, announce: Announce) -> Iterator[Result]:
    """One result a check, as they come; `announce` hears of each before it begins."""
    for check in checks:
        announce(check)
        begin = time.perf_counter()
        outcome = _outcome(check, patient)
        yield Result(check.name, outcome.status, time.perf_counter() - begin, outcome.found, outcome.fix)


def _outcome(check: Check, patient: Patient) -> Outcome:
    try:
        return check.examine(patient)
    except NotHereError as reason:
        return skipped(str(reason))
    except UserError as error:
        return failed(str(error), "do what the sentence says, then run `pgs doctor` again")
    except Exception as error:  # a check that breaks has found something, and the others still have to be made
        said = " ".join(str(error).split()) or "no message"
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        return failed(
            f"the check itself stopped at {place}: {type(error).__name__}: {said}",
            "a library may be broken or of another version: see the check `versions`, and install this program again",
        )
