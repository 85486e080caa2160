"""What the audit panel says in the room it has."""

import pytest

from pgs_tui.drawing.lines import text_of
from pgs_tui.inspection.shapes import AuditState, Flag
from pgs_tui.widgets.audit_panel import AuditPanel

FLAGS = (
    Flag("TRUNCATED", "warning", "/data/here/rows.jsonl, line 3: cut; also in line 9", 2, (2, 8)),
    Flag("SAME_ROLE_TWICE", "info", "[/] \x1b[31m", 1, (5,)),
)
STATE = AuditState(
    done=50,
    total=100,
    flags=FLAGS,
    roles=(("user", 300, 0), ("assistant", 100, 90)),
    lengths=((32, 5), (64, 10), (128, 20), (256, 40), (512, 1)),
)


def panel(state: AuditState) -> AuditPanel:
    made = AuditPanel(id="audit")
    made.state = state
    return made


def body(state: AuditState, width: int = 120, height: int = 5) -> list[str]:
    return [text_of(row) for row in panel(state).body(width, height)]


def test_findings_roles_and_lengths_stand_side_by_side() -> None:
    rows = body(STATE)
    assert rows[0].startswith("  ▲ 2 TRUNCATED  rows.jsonl, line 3: cut") and "trained" in rows[0]
    assert "user" in rows[1] and "0 %" in rows[1]
    assert "assistant" in rows[2] and "90 %" in rows[2]
    assert "≤  64" in rows[1] and rows[1].rstrip().endswith("15"), "the shortest ones together"


@pytest.mark.parametrize("width", [1, 20, 44, 80, 200])
@pytest.mark.parametrize("height", [1, 3, 5])
def test_no_more_lines_than_there_is_room_and_no_escape(width: int, height: int) -> None:
    rows = panel(STATE).body(width, height)
    assert len(rows) <= height
    assert "\x1b" not in "".join(text_of(row) for row in rows)


def test_a_running_audit_shows_how_far_it_is_and_a_finished_one_that_it_is_done() -> None:
    assert text_of(panel(STATE).value()).endswith("50 %")
    done = AuditState(done=100, total=100, finished=True)
    assert text_of(panel(done).value()) == "✔ 100 rows"
    assert "nothing to complain about" in body(done)[0]
    assert "nothing found so far" in body(AuditState(total=100))[0]


def test_an_audit_that_stopped_says_why() -> None:
    broken = AuditState(done=3, total=100, error="the file changed")
    assert text_of(panel(broken).value()) == "✖ stopped"
    assert "the file changed" in body(broken)[0]


def test_in_one_line_the_findings_are_counted() -> None:
    assert "TRUNCATED 2" in text_of(panel(STATE).brief(80))


def test_the_fill_of_packs_is_told() -> None:
    full = AuditState(done=1, total=1, finished=True, fill=0.97)
    assert [text_of(form) for form in panel(full).summary()] == ["packs are 97 % full"]
