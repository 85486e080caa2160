"""The chat templates of real models: the text is transformers' own, loss lies on the answers, and trl's marks agree.

New templates in a new version of trl are tested as they come.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

from engine.data.conversation import Conversation
from engine.data.masking.reasons import Segment, Why
from engine.data.masking.rules import MaskOptions, MaskRules
from engine.data.masking.segments import mask_segments
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from engine.data.template.chat_template import ChatTemplate
from engine.data.template.forms import adapted_template
from engine.data.template.layout import data_pieces
from engine.data.template.messages import plain_messages
from engine.data.template.special_tokens import special_tokens
from tests.data.template.real import CHATS, NAMES, WITH_MARKS, tokenizer_of

REFUSALS = (
    "must alternate",  # of tool turns, too
    "System role not supported",
    "single tool-calls at once",
    "Only user and assistant roles",
)
"""Why the templates refuse some of the chats."""


@cache
def renderer_of(name: str) -> Renderer:
    return Renderer(tokenizer_of(name))


@cache
def template_of(name: str) -> ChatTemplate:
    return adapted_template(tokenizer_of(name))


@cache
def rendered_chats(name: str) -> dict[str, Rendered]:
    """Those of the chats that the template takes."""
    rendered = dict(zip(CHATS, renderer_of(name).render(list(CHATS.values())), strict=True))
    for found in rendered.values():
        assert isinstance(found, Rendered) or any(reason in found.reason for reason in REFUSALS), found
    return {chat: found for chat, found in rendered.items() if isinstance(found, Rendered)}


def plain(text: str) -> str:
    return str.__getitem__(text, slice(None))


def own_text(name: str, conversation: Conversation, turns: int | None = None, prompt: bool = False) -> str:
    """What transformers makes of the chat, or of its first turns."""
    text = tokenizer_of(name).apply_chat_template(
        plain_messages(conversation.turns[:turns], template_of(name).forms),
        tools=list(conversation.tools) or None,
        tokenize=False,
        add_generation_prompt=prompt,
    )
    assert isinstance(text, str)
    return text


def masked_anew(name: str, rendered: Rendered, options: MaskOptions) -> list[Segment]:
    """The mask under other options."""
    facts, example = renderer_of(name).facts, rendered.example
    assert facts is not None and isinstance(example, Conversation)
    return mask_segments(rendered.text, example.turns, MaskRules(facts, special_tokens(tokenizer_of(name)), options))


@pytest.mark.parametrize("name", NAMES)
def test_a_real_template(name: str) -> None:
    chats = rendered_chats(name)
    assert "two rounds" in chats
    for chat, rendered in chats.items():
        the_text_is_transformers_own(name, CHATS[chat], rendered)
        loss_lies_in_answers_and_not_in_what_inference_supplies(name, CHATS[chat], rendered)
        all_text_of_printed_answers_is_trained_with_their_ends(name, CHATS[chat], rendered)
        whatever_a_call_is_written_in_is_trained_with_it(name, CHATS[chat], rendered)
    for chat in ("reasoning under its key", "reasoning in the text"):
        without_reasoning_the_rest_is_trained_alone(name, chats[chat])


def the_text_is_transformers_own(name: str, chat: Conversation, rendered: Rendered) -> None:
    assert plain(rendered.text) == own_text(name, chat)
    assert rendered.input_ids == tokenizer_of(name)(plain(rendered.text), add_special_tokens=False)["input_ids"]


def loss_lies_in_answers_and_not_in_what_inference_supplies(name: str, chat: Conversation, rendered: Rendered) -> None:
    assert [segment.stop for segment in rendered.segments[:-1]] == [s.start for s in rendered.segments[1:]]
    assert all(one <= other for one, other in pairwise(rendered.starts))
    for token, label in enumerate(rendered.labels):
        segment = rendered.segment_of(token)
        assert label in (-100, rendered.input_ids[token])
        assert label == -100 or (segment.turn is not None and chat.turns[segment.turn].is_answer)
    last = len(chat.turns) - 1
    prompt = own_text(name, chat, last, prompt=True)
    if plain(rendered.text).startswith(prompt):
        assert all(s.start >= len(prompt) for s in rendered.segments if s.loss and s.turn == last)


def all_text_of_printed_answers_is_trained_with_their_ends(name: str, chat: Conversation, rendered: Rendered) -> None:
    facts = renderer_of(name).facts
    assert facts is not None
    done = {
        place
        for segment in rendered.segments
        if segment.loss or segment.why is Why.SUPPLIED
        for place in range(segment.start, segment.stop)
    }
    for number, turn in enumerate(chat.turns):
        pieces = [piece for piece in data_pieces(rendered.text) if piece.turn == number]
        if not turn.is_answer or not pieces:
            continue
        trained = {(piece.origin, piece.index) for piece in pieces if done.issuperset(range(piece.start, piece.stop))}
        assert trained == {(piece.origin, piece.index) for piece in pieces}  # names beside results are echoes of these
        if facts.ends.last is not None or number < len(chat.turns) - 1:
            assert any(s.turn == number and s.why is Why.TURN_END and s.loss for s in rendered.segments)


def whatever_a_call_is_written_in_is_trained_with_it(name: str, chat: Conversation, rendered: Rendered) -> None:
    facts = renderer_of(name).facts
    assert facts is not None
    for segment in rendered.segments:
        if segment.why is Why.TEMPLATE_IN_ANSWER and segment.turn is not None and chat.turns[segment.turn].tool_calls:
            assert plain(rendered.text)[segment.start : segment.stop].strip() == facts.leads.empty.strip()


def without_reasoning_the_rest_is_trained_alone(name: str, rendered: Rendered) -> None:
    segments = masked_anew(name, rendered, MaskOptions(train_on_reasoning=False))
    trained = "".join(plain(rendered.text)[s.start : s.stop] for s in segments if s.loss)
    assert "It is two." in trained
    assert not any(word in trained for word in ("counting", "think", "thought", "analysis"))


BEHIND_THE_END = {
    "phi3_training": "<|eos|>",
    "phi3_5_training": "<|eos|>",
    "deepseekv3_training": "<｜tool▁outputs▁end｜>",
    "deepseek_r1_distill_training": "<｜tool▁outputs▁end｜>",
}
"""What these marks cover besides: phi's end of text behind the end of the answer, which ends the generation already,
and the token that closes the tool's turn."""

ENDS_LEFT_OUT = {"diffusion_gemma_training": "<|tool_response>"}
"""Here the marks end before the token with which the model hands over to the tool."""


@pytest.mark.parametrize("name", WITH_MARKS)
def test_trls_marks_agree(name: str) -> None:
    """Mask and marks are the same but for three things, and those named above.

    House rules: the header has no loss, nor what the generation prompt writes of the answer itself (an opened think
    block); the newline behind the end has none; answers that the template leaves out have none.
    """
    for chat, rendered in rendered_chats(name).items():
        conversation, whole = CHATS[chat], plain(rendered.text)
        marked = {
            position
            for start, stop in template_of(name).generation_spans(conversation.turns, conversation.tools)
            for position in range(start, stop)
        }
        printed = {piece.turn for piece in data_pieces(rendered.text)}
        hidden = any(turn.is_answer and number not in printed for number, turn in enumerate(conversation.turns))
        for segment in masked_anew(name, rendered, MaskOptions(train_on_template_text=True)):
            text = whole[segment.start : segment.stop]
            inside = "".join(whole[i] for i in range(segment.start, segment.stop) if i in marked)
            if segment.loss:
                assert inside == text or text == ENDS_LEFT_OUT.get(name), (chat, text)
            elif segment.why not in (Why.HEADER, Why.SUPPLIED) and not hidden:
                assert inside.strip() in ("", BEHIND_THE_END.get(name)), (chat, text)
