"""A sample turn by turn, raw, or only what is trained."""

import pytest

from pgs_tui.inspection.blocks import Title, blocks_of, is_scaffold
from pgs_tui.inspection.shapes import Sample, Stretch
from tests.pgs_tui.inspection.samples import chat, tokens_of

CHAT = chat(("system", "Be brief."), ("user", "Capital of Peru?"), ("assistant", "Lima"))


def shown(sample: Sample, view) -> list[tuple[str | None, str]]:
    blocks = blocks_of(sample, view, tokens_of(sample).lit)
    return [(block.title.role if block.title else None, sample.text[block.start : block.stop]) for block in blocks]


def test_turn_by_turn_the_titles_stand_for_the_templates_own_words() -> None:
    assert [(role, text) for role, text in shown(CHAT, "turns") if text] == [
        ("system", "Be brief."),
        ("user", "Capital of Peru?"),
        ("assistant", "Lima<|im_end|>"),
    ]


def test_the_turns_are_numbered() -> None:
    titles = [block.title for block in blocks_of(CHAT, "turns", ()) if block.title]
    assert titles == [Title("system", 1), Title("user", 2), Title("assistant", 3)]


def test_a_turn_without_text_has_its_title_too() -> None:
    added = "<|im_start|>assistant\n<|im_end|>\n"
    sample = Sample(0, "f", 1, added, (Stretch(0, len(added), 1, "assistant", "header", False),))
    assert shown(sample, "turns") == [("assistant", "")]


def test_a_turn_without_text_that_belongs_to_no_turn_is_not_lost() -> None:
    between = "<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n"
    stretches = (
        Stretch(0, 2, 1, "user", "other_role", False),
        Stretch(2, 2 + len(between), None, None, "template", False),
    )
    sample = Sample(0, "f", 1, "Hi" + between, stretches)
    assert shown(sample, "turns") == [("user", "Hi"), ("template", between)]


def test_raw_is_the_whole_text() -> None:
    assert shown(CHAT, "raw") == [(None, CHAT.text)]


def test_only_what_is_trained() -> None:
    sample = chat(("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"))
    assert shown(sample, "trained") == [("assistant", "b<|im_end|>"), ("assistant", "d<|im_end|>")]


def test_text_that_the_template_adds_by_itself_is_shown_as_such() -> None:
    added = "<|im_start|>system\nYou are Fern.<|im_end|>\n<|im_start|>user\n"
    stretches = (
        Stretch(0, len(added), 1, "user", "template", False),
        Stretch(len(added), len(added) + 2, 1, "user", "other_role", False),
    )
    blocks = blocks_of(Sample(0, "f", 1, added + "Hi", stretches), "turns", ())
    assert blocks[0].title is not None
    assert blocks[0].title.note == "added by the template, not in the data"
    assert blocks[1].title == Title("user", 1)


@pytest.mark.parametrize(
    "text",
    [
        "<|im_start|>user\n",
        "<|im_end|>\n<|im_start|>assistant\n",
        "[INST] ",
        "\n\nHuman: ",
        "<start_of_turn>model\n",
        "\n",
    ],
)
def test_markup_and_names_of_roles_are_scaffold(text: str) -> None:
    assert is_scaffold(text)


@pytest.mark.parametrize("text", ["You are Fern.", "<|im_start|>system\nHi", "Today is Monday", "/no_think"])
def test_words_that_a_model_could_read_are_not(text: str) -> None:
    assert not is_scaffold(text)
