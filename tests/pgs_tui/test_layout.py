"""Which panels are shown where, and that a person's layout comes back as it was left."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgs_tui import layout_file
from pgs_tui.history.axis import AXES
from pgs_tui.layout import LOGGABLE, SMOOTHINGS, Layout
from pgs_tui.panel_names import BY_DIGIT, PANELS, STRIPS, WORDS
from pgs_tui.room import Room, grid_of

SMALL, USUAL, LARGE, HUGE = Room(60, 15), Room(80, 24), Room(120, 36), Room(200, 50)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "pgs-tui"


panels = st.sampled_from(PANELS)
rooms = st.builds(Room, st.integers(1, 400), st.integers(1, 120), st.booleans())
layouts = st.builds(
    Layout,
    order=st.permutations(PANELS).map(tuple),
    hidden=st.frozensets(panels),
    log_axes=st.frozensets(st.sampled_from(LOGGABLE)),
    smoothing=st.sampled_from(SMOOTHINGS),
    axis=st.sampled_from(AXES),
)
some_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | panels,
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["order", "hidden", "axis"]), inner),
    max_leaves=20,
)


def test_larger_terminals_show_more_panels() -> None:
    charts = [[one for one in Layout().visible(room) if one not in STRIPS] for room in (USUAL, LARGE, HUGE)]
    assert charts[0] == ["loss", "grad_norm", "tok_s", "dt"]
    assert charts[1] == [*charts[0], "lr", "moved"]
    assert charts[2] == [*charts[1], "parts", "gpu", "memory_over_steps"]
    assert set(Layout().visible(SMALL)) == {*charts[0], *STRIPS}


def test_ranks_are_compared_only_where_there_are_several() -> None:
    assert "ranks" not in Layout().visible(HUGE)
    assert "ranks" in Layout().visible(replace(HUGE, several_ranks=True))
    assert "ranks" in Layout().toggled("ranks", HUGE).visible(HUGE), (
        "who asks for the panel gets it, and why it is empty"
    )


def test_every_panel_can_be_brought_and_hidden_again() -> None:
    for panel in PANELS:
        once = Layout().toggled(panel, USUAL)
        assert (panel in once.visible(USUAL)) != (panel in Layout().visible(USUAL))
        assert once.toggled(panel, USUAL) == Layout()


def test_what_was_hidden_in_a_small_terminal_stays_hidden_in_a_large_one() -> None:
    assert "dt" not in Layout().toggled("dt", USUAL).visible(HUGE)


def test_a_panel_moves_past_its_neighbour_on_the_screen_and_no_further_than_the_edge() -> None:
    moved = Layout().moved("loss", 1, USUAL)
    assert moved.visible(USUAL)[:2] == ("grad_norm", "loss")
    assert moved.moved("loss", -1, USUAL) == Layout()
    assert Layout().moved("loss", -1, USUAL) == Layout()
    assert Layout().toggled("grad_norm", USUAL).moved("loss", 1, USUAL).visible(USUAL)[:2] == ("tok_s", "loss")
    assert Layout().moved("log", -1, USUAL).visible(USUAL)[-3:] == ("memory", "log", "alerts")
    assert Layout().moved("dt", 1, USUAL) == Layout(), "among the charts it is the last one"


def test_one_panel_alone_and_then_all_again() -> None:
    alone = Layout().maximised("grad_norm")
    assert alone.visible(USUAL) == ("grad_norm",)
    assert alone.maximised("grad_norm").visible(USUAL) == Layout().visible(USUAL)
    assert alone.maximised("log").visible(USUAL) == ("log",)
    assert alone.toggled("dt", USUAL).alone is None


def test_digits_and_words_name_panels() -> None:
    assert len(set(BY_DIGIT)) == 9
    assert set(WORDS) == set(PANELS)


@given(layouts, panels, st.sampled_from([-1, 1]), rooms)
def test_whatever_is_done_every_panel_stays_and_is_shown_once(layout: Layout, panel, by: int, room: Room) -> None:
    for changed in (layout.moved(panel, by, room), layout.toggled(panel, room), layout.maximised(panel)):
        assert sorted(changed.order) == sorted(PANELS)
        shown = changed.visible(room)
        assert len(set(shown)) == len(shown)


@given(rooms, st.integers(0, 13))
def test_the_grid_has_a_cell_for_every_chart(room: Room, count: int) -> None:
    grid = grid_of(count, room)
    assert grid.columns >= 1
    assert grid.columns * len(grid.rows) >= count
    assert count == 0 or grid.columns * (len(grid.rows) - 1) < count, "no row is empty"


def test_the_wider_the_more_charts_beside_each_other() -> None:
    assert [grid_of(9, room).columns for room in (Room(46, 60), USUAL, LARGE, HUGE)] == [1, 2, 3, 3]
    assert grid_of(10, HUGE).columns == 4
    assert grid_of(4, HUGE).columns == 2, "few charts are wide ones"
    assert grid_of(4, Room(60, 40)).columns == 1, "a narrow and high terminal has them below each other"
    assert grid_of(4, SMALL).rows == ("1fr", "1"), "a low terminal has curves in its first row"
    assert grid_of(4, Room(80, 8)).rows == ("1", "1")


@given(layouts)
def test_what_is_written_is_read(layout: Layout) -> None:
    assert layout_file.read(layout_file.written(layout)) == layout


@given(some_json | st.dictionaries(st.sampled_from(["order", "hidden", "brought", "smoothing", "axis"]), some_json))
def test_whatever_stands_in_the_file_gives_a_layout_or_none(record: object) -> None:
    layout = layout_file.read(json.dumps(record))
    assert layout is None or (sorted(layout.order) == sorted(PANELS) and layout_file.read(layout_file.written(layout)))


def test_names_of_another_version_are_dropped_and_new_panels_come_last() -> None:
    layout = layout_file.read('{"order": ["dt", "weather", "dt", "loss"], "hidden": ["moon", "log"], "axis": "x"}')
    assert layout is not None
    assert layout.order[:2] == ("dt", "loss")
    assert sorted(layout.order) == sorted(PANELS)
    assert layout.hidden == {"log"}
    assert layout.axis == "step"


def test_the_layout_comes_back() -> None:
    assert layout_file.load() == (Layout(), "")
    layout = replace(Layout().toggled("dt", USUAL).moved("log", -1, USUAL), axis="time", smoothing=None)
    assert layout_file.save(layout.maximised("loss")) == ""
    assert layout_file.load() == (layout, "")
    assert layout_file.load()[0].alone is None, "what was maximised is not remembered"


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "\x00", "{" * 5000, "[" * 200_000])
def test_a_broken_file_is_said_and_the_usual_layout_shown(state: Path, text: str) -> None:
    state.mkdir()
    (state / "dashboard.json").write_text(text)
    layout, note = layout_file.load()
    assert layout == Layout()
    assert "dashboard.json is no layout" in note
    assert layout_file.save(layout) == ""
    assert layout_file.load() == (layout, "")


def test_a_place_that_takes_no_file_is_said(state: Path) -> None:
    state.write_text("a file where the folder should be")
    assert "could not be read" in layout_file.load()[1]
    assert "for this time only" in layout_file.save(Layout())


def test_a_user_without_a_home_has_a_layout_for_this_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))
    assert layout_file.load()[0] == Layout()
    assert "for this time only" in layout_file.save(Layout())
