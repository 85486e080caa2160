"""Mirrors that are kept: one an address, for one program at a time, and not for ever."""

import os
from pathlib import Path

import pytest

from pgs_tui.cli import main
from pgs_tui.remote.address import Address
from pgs_tui.remote.mirrors import forget, mirrors_folder, own_mirror, tidy

BOX = Address("me@box", "runs/one")


def test_an_address_has_its_own_mirror_each_time(tmp_path: Path) -> None:
    first = own_mirror(BOX, tmp_path)
    first.close()
    same = own_mirror(Address("me@box", "runs//one/"), tmp_path)
    other = own_mirror(Address("me@box", "runs/two"), tmp_path)
    assert same.mirror.run.path == first.mirror.run.path != other.mirror.run.path
    assert first.is_kept and same.mirror.run.path.stat().st_mode & 0o777 == 0o700
    same.close()
    other.close()


def test_what_a_killed_dashboard_left_goes_and_what_is_used_stays(tmp_path: Path) -> None:
    used = own_mirror(BOX, tmp_path)
    also = own_mirror(BOX, tmp_path)
    assert not also.is_kept
    left = tmp_path / "also-left"
    left.mkdir()
    tidy(tmp_path)
    assert not left.exists()
    assert used.mirror.run.path.exists() and also.mirror.run.path.exists()
    also.close()
    used.close()
    assert [path.name for path in tmp_path.iterdir()] == [used.mirror.run.path.name]


@pytest.mark.parametrize(("most_runs", "most_bytes"), [(2, 2**30), (100, 2 * 10**5)])
def test_the_newest_are_kept(tmp_path: Path, most_runs: int, most_bytes: int) -> None:
    paths = []
    for number in range(4):
        own = own_mirror(Address("box", f"runs/{number}"), tmp_path)
        own.mirror.put(0, os.urandom(10**5 - 3 * 4096))
        own.close()
        os.utime(own.mirror.run.path, (number, number))
        paths.append(own.mirror.run.path)
    tidy(tmp_path, most_runs, most_bytes)
    assert [path.exists() for path in paths] == [False, False, True, True]


def test_all_can_be_forgotten_but_those_that_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for number in range(3):
        own = own_mirror(Address("box", f"runs/{number}"))
        own.mirror.put(0, os.urandom(10**6))
        own.close()
    used = own_mirror(BOX)
    assert main(["runs", "--forget"]) == 0
    told = capsys.readouterr().out
    assert "3 mirrors of runs on other machines removed, 3.0 MB; 1 mirror in use stays" in told
    assert list(mirrors_folder().iterdir()) == [used.mirror.run.path]
    used.close()
    assert main(["runs", "--forget"]) == 0 and "1 mirror of runs" in capsys.readouterr().out
    assert main(["runs", "--forget"]) == 0 and "no run on another machine" in capsys.readouterr().out
    for others in (["runs", "here", "--forget"], ["attach", "--forget"], ["runs", "--forget", "--json"]):
        assert main(others) == 2 and "--forget belongs to runs" in capsys.readouterr().err


def test_runs_that_lie_where_caches_are_kept_are_no_mirrors(tmp_path: Path) -> None:
    trained = tmp_path / "20261130-171300-quickstart" / "final" / "model.safetensors"
    trained.parent.mkdir(parents=True)
    trained.write_bytes(b"weights")
    own_mirror(BOX, tmp_path).close()
    tidy(tmp_path, most_runs=0)
    assert forget(tmp_path).removed == 0 and trained.exists()


def test_they_are_kept_where_caches_are() -> None:
    assert mirrors_folder({"XDG_CACHE_HOME": "/c"}) == Path("/c/pgs-tui/runs")
