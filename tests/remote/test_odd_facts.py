"""What a broken or hostile machine says of a run is taken for nothing, and ends nothing here."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgs_tui.remote.facts import FileFacts, facts_of, file_facts, last_event_time
from pgs_tui.remote.far_shell import Answer
from pgs_tui.remote.mirror import Mirror


@pytest.mark.parametrize("t", [b"1" + b"0" * 400, b"9" * 5000, b'"now"', b"[", b"[" * 9000, b"{}", b"null"])
def test_a_last_event_at_no_time_at_all(tmp_path: Path, t: bytes) -> None:
    mirror = Mirror(tmp_path / "mirror")
    mirror.put(0, b'{"t": ' + t + b"}\n")
    assert last_event_time(mirror) is None
    mirror.close()


def test_a_size_that_no_file_has() -> None:
    assert file_facts(f"{2**63 - 1} 7") == FileFacts(2**63 - 1, 7)
    assert file_facts(f"{2**63} {10**20 - 1}") == FileFacts(None, None)
    assert file_facts("-5 ²") == FileFacts(None, None)


def test_a_run_that_never_told_who_it_is_starts_only_while_its_news_is_fresh() -> None:
    facts = facts_of(Answer(()), 0.0)
    assert facts.life(looked_for=1.0, last_event_age=None) == facts.life(1.0, 2.0) == "starting"
    assert facts.life(looked_for=1.0, last_event_age=86_400.0) == "gone"
