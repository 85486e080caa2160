"""One sshd for all tests that need no other one, in one worker, as two servers would only share two cores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pgs_tui.remote.ssh import Connection
from tests.remote.proxy import Proxy, proxy_to
from tests.remote.sshd import HOST, Sshd, serving


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and "sshd" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("sshd"))


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """A server on loopback; `PGS_TUI_SSH=sshd.ssh` makes this project's `ssh` know it as `box`."""
    with serving(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
def proxy(sshd: Sshd) -> Iterator[Proxy]:
    """A line to that server that can be slow, silent and cut; `sshd.through(proxy.port)` is its PGS_TUI_SSH."""
    with proxy_to(sshd.port) as line:
        yield line


@pytest.fixture
def box(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """A connection that stands."""
    monkeypatch.setenv("PGS_TUI_SSH", sshd.ssh)
    connection = Connection(HOST)
    connection.open()
    yield connection
    connection.drop()
