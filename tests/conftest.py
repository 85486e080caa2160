"""What all tests share: the long clone test starts first, made-up examples are the same every time, and missing system
programs are said plainly."""

from __future__ import annotations

import gc
import os
import shutil
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import settings

# The same examples every time, however slow the machine is; --hypothesis-profile=default looks for others.
settings.load_profile("ci")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["PGS_DATA_CACHE"] = "off"  # no test finds what another one tokenized; those of the cache turn it on
    config.addinivalue_line("markers", "needs(program): is not run where this system program is missing")


@pytest.fixture(autouse=True)
def collector_goes_on() -> Iterator[None]:
    """Commands that live no longer than the program switch it off, and a test that calls one lives on."""
    yield
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the clone test: it mostly waits for an installation, while the other tests use the cores.

    Then the groups, each of which one worker runs alone: begun late, the other worker would wait for it at the end.
    """
    items.sort(
        key=lambda item: (item.get_closest_marker("clone") is None, item.get_closest_marker("xdist_group") is None)
    )
    for item in items:
        for marker in item.iter_markers("needs"):
            program: str = marker.args[0]
            if shutil.which(program) is None:
                item.add_marker(pytest.mark.skip(reason=f"needs {program}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    missing: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        _, _, reason = report.longrepr
        if reason.startswith("Skipped: needs "):
            missing[reason.removeprefix("Skipped: needs ")] += 1
    for program, count in missing.items():
        terminalreporter.write_line(f"{count} tests were not run for want of {program}: install it and run again")
