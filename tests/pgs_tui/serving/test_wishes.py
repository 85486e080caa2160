"""Of several wishes for the same thing only the newest counts."""

from pgs_tui.serving.wishes import Wish, Wishes


def sample(row: int) -> Wish:
    return Wish("sample", "sample", {"row": row})


def test_one_is_on_its_way_and_the_newest_waits() -> None:
    wishes = Wishes()
    assert wishes.add(sample(1)) == sample(1)
    assert wishes.add(sample(2)) is None
    assert wishes.add(sample(3)) is None
    assert wishes.answered("sample") == (False, sample(3)), "row 2 is never asked for, row 1 not shown"
    assert wishes.answered("sample") == (True, None)
    assert wishes.add(sample(4)) == sample(4)


def test_topics_do_not_wait_for_each_other() -> None:
    wishes = Wishes()
    assert wishes.add(sample(1)) is not None
    assert wishes.add(Wish("rows", "rows")) is not None


def test_back_to_what_is_on_its_way_needs_no_new_question() -> None:
    wishes = Wishes()
    wishes.add(sample(1))
    wishes.add(sample(2))
    wishes.add(sample(1))
    assert wishes.answered("sample") == (True, None)


def test_what_is_forgotten_is_dropped_when_it_comes() -> None:
    wishes = Wishes()
    wishes.add(sample(1))
    wishes.forget("sample")
    assert wishes.answered("sample") == (False, None)
    assert wishes.add(sample(2)) == sample(2)
