"""Reading a sample with a cursor that walks from token to token."""

import pytest

from pgs_tui.inspection.boxes import token_text
from pgs_tui.inspection.reader import Reader
from tests.pgs_tui.inspection.samples import chat, tokens_of

CHAT = chat(("user", "What is the capital of Peru?"), ("assistant", "Lima is"), ("user", "More"), ("assistant", "No"))


def reading(sample=CHAT, cells: int = 40, height: int = 10, **tokens) -> Reader:
    reader = Reader(sample, losses="losses" in tokens)
    reader.fit(cells, height, False)
    reader.add(tokens_of(sample, **tokens))
    return reader


def under_cursor(reader: Reader) -> str:
    token = reader.token
    assert token is not None
    return reader.sample.text[token.start : token.stop]


def seen(reader: Reader) -> list[str]:
    return [
        "".join(piece.text for piece in row.pieces) or (row.title.role if row.title else "") for row in reader.rows()
    ]


def test_it_begins_at_the_first_text_that_is_shown() -> None:
    assert under_cursor(reading()) == "What"


def test_the_cursor_walks_over_tokens_and_jumps_what_is_left_out() -> None:
    reader = reading()
    walked = [under_cursor(reader)]
    for _ in range(8):
        reader.step(1)
        walked.append(under_cursor(reader))
    assert walked == [
        "What",
        " is",
        " the",
        " capital",
        " of",
        " Peru?<|im_end|>",
        "Lima",
        " is<|im_end|>",
        "More<|im_end|>",
    ]
    for _ in range(8):
        reader.step(-1)
    assert under_cursor(reader) == "What"
    reader.step(-1)
    assert under_cursor(reader) == "What", "there is nothing before it"


def test_before_the_tokens_are_there_it_says_which_it_needs() -> None:
    reader = Reader(CHAT)
    reader.fit(40, 10, False)
    assert reader.wanted() == 0
    assert reader.token is None
    reader.step(1)
    assert reader.cursor == CHAT.text.index("What")
    reader.add(tokens_of(CHAT))
    assert reader.wanted() is None


def test_a_window_is_only_asked_for_where_one_is_missing() -> None:
    sample = chat(("user", "word " * 4000), ("assistant", "ok"))
    reader = Reader(sample)
    reader.fit(40, 10, False)
    reader.add(tokens_of(sample, 0, 1000))
    assert reader.wanted() is None
    reader.to_end()
    at = reader.wanted()
    assert at is not None and at > 19_000
    reader.add(tokens_of(sample, 3990, 1000))
    assert under_cursor(reader) == "ok<|im_end|>"


def test_the_line_above_and_below_in_the_same_column() -> None:
    reader = reading(chat(("user", "one two three\nx\nfour five six"), ("assistant", "ok")))
    reader.step(2)
    reader.step_rows(1)
    assert reader.sample.text[reader.cursor] == "\n", "a shorter line"
    reader.step_rows(1)
    assert under_cursor(reader) == " five", "the column is remembered"
    reader.step_rows(-2)
    assert under_cursor(reader) == " two" or under_cursor(reader) == " three"


def test_up_from_the_first_line_shows_its_title() -> None:
    reader = reading(height=4)
    reader.to_end()
    for _ in range(10):
        reader.step_rows(-1)
    assert seen(reader)[0] == "user"


def test_trained_parts_are_gone_to_one_after_the_other() -> None:
    reader = reading()
    assert reader.to_trained(1) and reader.sample.text[reader.cursor :].startswith("Lima")
    assert reader.to_trained(1) and reader.sample.text[reader.cursor :].startswith("No<")
    assert not reader.to_trained(1)
    assert reader.to_trained(-1) and reader.sample.text[reader.cursor :].startswith("Lima")
    assert not reader.to_trained(-1)


def test_the_answer_of_a_long_sample_is_one_key_away() -> None:
    reader = reading(chat(("user", "word " * 40_000), ("assistant", "ok")))
    assert reader.to_trained(1)
    assert under_cursor(reader) == "ok<|im_end|>"
    assert any("ok<|im_end|>" in text for text in seen(reader))


def test_what_the_limit_cuts_off_can_be_gone_to_as_well() -> None:
    reader = reading(lit=(), kept_stop=10)
    assert not reader.is_lit(CHAT.text.index("Lima"))
    assert reader.to_trained(1) and reader.sample.text[reader.cursor :].startswith("Lima")


@pytest.mark.parametrize("toggle", ["boxes", "raw"])
def test_the_cursor_stays_where_it_is_when_the_view_changes(toggle: str) -> None:
    reader = reading(chat(("user", "word " * 2000), ("assistant", "ok")), height=12)
    reader.page(3)
    reader.step(3)
    before = reader.token
    change = (
        reader.toggle_boxes if toggle == "boxes" else lambda: reader.show("raw" if reader.view == "turns" else "turns")
    )
    change()
    assert reader.token == before
    assert any(row.start <= reader.cursor < row.stop for row in reader.rows())
    change()
    assert reader.token == before


def test_only_what_is_trained_moves_the_cursor_there_and_says_when_there_is_nothing() -> None:
    reader = reading()
    reader.show("trained")
    assert seen(reader) == ["assistant", "Lima is<|im_end|>", "assistant", "No<|im_end|>"]
    assert under_cursor(reader) == "Lima"
    nothing = reading(lit=())
    nothing.show("trained")
    assert nothing.is_empty
    nothing.show("turns")
    assert under_cursor(nothing) == "What"


def test_a_window_that_becomes_smaller_keeps_the_cursor_in_sight() -> None:
    reader = reading(chat(("user", "word " * 2000), ("assistant", "ok")), height=30)
    reader.page(5)
    cursor = reader.cursor
    for cells, height in ((20, 5), (1, 1), (200, 2), (2, 60), (40, 30)):
        reader.fit(cells, height, False)
        assert reader.cursor == cursor
        assert any(row.start <= cursor < row.stop for row in reader.rows())


def test_boxes_show_every_token_with_its_id_below() -> None:
    reader = reading(cells=60)
    reader.toggle_boxes()
    boxes = [row for row in reader.rows() if row.kind == "boxes"]
    assert [piece.text for piece in boxes[0].pieces][:3] == ["What", "·is", "·the"]
    assert boxes[0].notes[:3] == ("102", "103", "104")
    assert boxes[0].numbers[:3] == (2, 3, 4)


def test_no_token_stands_in_two_boxes() -> None:
    reader = reading(chat(("user", "word " * 1000), ("assistant", "ok")), height=10**4)
    reader.toggle_boxes()
    numbers = [number for row in reader.rows() for number in row.numbers]
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 1000


def test_parts_of_a_character_are_its_bytes() -> None:
    sample = chat(("user", "hi"), ("assistant", "\U0001f600"))
    reader = reading(sample, by_byte=True)
    place = sample.text.index("\U0001f600")
    parts = reader.tokens_between(place, place + 1)
    assert [token_text(sample.text, token)[0] for token in parts] == ["<F0>", "<9F>", "<98>", "<80>"]
    reader.to_trained(1)
    walked = []
    for _ in range(4):
        assert reader.token is not None
        walked.append(reader.token.part)
        reader.step(1)
    assert walked == [1, 2, 3, 4], "each of them can be stood on"


def test_nineteen_byte_tokens_of_a_text_with_hidden_characters_are_nineteen_boxes() -> None:
    text = "a\u200bb\ufeffc\u00add\u00a0e\n\n f"
    sample = chat(("user", text), ("assistant", "x"))
    reader = reading(sample, by_byte=True)
    place = sample.text.index(text)
    tokens = reader.tokens_between(place, place + len(text))
    assert len(tokens) == 19
    shown = [token_text(sample.text, token) for token in tokens]
    assert [one for one, _ in shown][:4] == ["a", "<E2>", "<80>", "<8B>"]
    assert [one for one, _ in shown][-4:] == ["⏎", "⏎", "·", "f"]
    assert sum(hidden for _, hidden in shown) == 3 + 3 + 2 + 2


def test_the_worst_tokens_come_first() -> None:
    sample = chat(("user", "a b c d e"), ("assistant", "one two three four five six"))
    inside = [sample.text.index("one") <= place < len(sample.text) - 1 for place in tokens_of(sample).starts]
    first = inside.index(True)
    losses = [
        None if not lit else float("nan") if place == first + 3 else place / 2 for place, lit in enumerate(inside)
    ]
    reader = reading(sample, losses=tuple(losses))
    order = []
    for _ in range(6):
        assert reader.token is not None
        order.append(reader.token.number - first)
        reader.worst(1)
    assert order == [3, 5, 4, 2, 1, 0], "what is not a number is the worst of all"
    assert reader.token is not None and reader.token.number - first == 3, "and then from the start"
    assert reader.loss_rank() == (1, 6)
