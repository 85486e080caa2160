"""One sshd for all tests that need no other one, in one worker, as two servers would only share two cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pgs_tui.remote.ssh import Connection
from tests.remote.proxy import Proxy, proxy_to
from tests.remote.sshd import HOST, Sshd, serving
from tests.remote.watching import Watched


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
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


@pytest.fixture
def watch(
    proxy: Proxy, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Path], Watched]]:
    """Attaches to runs over the faulty line; what it attached to is left in the end."""
    monkeypatch.setenv("PGS_TUI_SSH", sshd.through(proxy.port))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    all_watched: list[Watched] = []

    def attached(folder: Path) -> Watched:
        all_watched.append(Watched(folder))
        return all_watched[-1]

    yield attached
    for watched in all_watched:
        watched.close()
    Connection(HOST).drop()


@pytest.fixture
def noisy(tmp_path: Path, watch: Callable[[Path], Watched], monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    """What `watch` attaches to is a machine whose shell prints on login."""
    login = tmp_path / "login.sh"
    login.write_text(r"""printf 'Welcome, today is Monday\n\033[33mquota ok\033[0m\n'; eval "$SSH_ORIGINAL_COMMAND" """)
    with serving(tmp_path / "noisy", f"ForceCommand . {login}") as server:
        monkeypatch.setenv("PGS_TUI_SSH", server.ssh)
        yield server
        Connection(HOST).drop()
