"""What a chat template puts around any answer, found by rendering small chats."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from engine.data.conversation import CONTENT, REASONING, TOOL_CALLS, Turn
from engine.data.errors import DataError
from engine.data.template.chat_template import ChatTemplate
from engine.data.template.ends import TurnEnds, find_turn_ends
from engine.data.template.header import header_in
from engine.data.template.messages import MessageForms
from engine.data.template.probes import (
    ANSWER,
    INSTRUCTION,
    LATER,
    QUESTION,
    THOUGHT,
    WRITTEN_THOUGHT,
    Prober,
    Shown,
    call,
)
from engine.data.template.special_tokens import SpecialTokens
from engine.data.template.system_prompt import added_system_prompt, added_to_system_turn


@dataclass(frozen=True, slots=True)
class Leads:
    """What the template prints between what inference supplies and the first text of the data in an answer.

    `content`: in front of the content of every answer, whatever else the answer has. `empty`: in front of an answer
    without reasoning, in its place, such as an empty think block. `call` and `reasoning`: in front of the name of
    a tool and of reasoning. `reasoning_close`: between reasoning and what is printed in front of every content.
    `content_before_call`: in front of the content of an answer that goes on to call a tool, which some templates take
    for thinking aloud.
    """

    content: str = ""
    content_before_call: str = ""
    empty: str = ""
    call: str = ""
    reasoning: str = ""
    reasoning_close: str = ""


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What holds for every chat.

    `generation_prompt` is the header that inference supplies before an answer; `has_generation_prompt` is False where
    the template prints none for inference, so that the header of its answers is taken. `ends` says how an answer ends.
    `added_system_prompt` is what the template says in the system's name when the data has no system turn, and
    `added_to_system_turn` what it says there in any case. `is_prefix_stable`: the rendering of the first turns is the
    beginning of the whole chat's; `keeps_reasoning`: that of answers with reasoning, too. `first_text` is what the
    template prints before any text of the data. `prints_date`: the text depends on the day. `takes_system`: a chat
    may begin with a system turn. `forms` are those in which it gets its messages. `marks_fault` says what is wrong
    with its `{% generation %}` marks, if anything is. `prompt_beyond_chats` is the part of the generation prompt that
    no answer of a chat stands behind, though at inference it does.
    """

    generation_prompt: str
    has_generation_prompt: bool
    leads: Leads
    ends: TurnEnds
    added_system_prompt: str
    added_to_system_turn: str
    is_prefix_stable: bool
    keeps_reasoning: bool
    first_text: str
    prints_date: bool
    takes_system: bool
    forms: MessageForms
    marks_fault: str | None = None
    prompt_beyond_chats: str = ""


def turn_tokens(facts: TemplateFacts, tokens: SpecialTokens) -> set[str]:
    """The added tokens that open an answer and end it; not all tokenizers call them special."""
    opening = tokens.added.search(facts.generation_prompt)
    return {*([opening.group()] if opening else []), *facts.ends.all}


def find_facts(template: ChatTemplate, tokens: SpecialTokens) -> TemplateFacts:
    """Probe the template.

    Raises:
        DataError: it refuses the plainest chat, or treats text in a way that cannot be followed.
    """
    prober = Prober(template)
    short = prober.show(QUESTION, ANSWER)
    assert short is not None
    _check_traced(short, prober.first)
    given = _generation_prompt(prober, tokens)
    prompt = given or _header_of_every_answer(prober, short, tokens)
    return TemplateFacts(
        generation_prompt=prompt,
        has_generation_prompt=prompt == given,
        leads=_find_leads(prober, short, prompt, tokens),
        ends=find_turn_ends(prober, short, tokens, prompt),
        added_system_prompt=added_system_prompt(prober),
        added_to_system_turn=added_to_system_turn(prober, tokens),
        is_prefix_stable=_is_prefix_stable(prober, ANSWER),
        keeps_reasoning=_is_prefix_stable(prober, THOUGHT) and _is_prefix_stable(prober, WRITTEN_THOUGHT),
        first_text=short.first_text,
        prints_date=template.clock.was_asked,
        takes_system=prober.show_bare(INSTRUCTION, QUESTION, ANSWER) is not None,
        forms=template.forms,
        prompt_beyond_chats=_prompt_beyond_chats(prober, given, tokens),
    )


def _check_traced(text: Shown, first: int) -> None:
    """Wherever the text of a turn is printed, it must be known as the data's."""
    if not text.of_turn(first) and not text.of_turn(first + 1):
        raise DataError(
            "The chat template prints neither the user's nor the assistant's text, be it a plain string or a list of "
            "parts; look at it, or take the template of the model's instruct variant."
        )
    for turn in (QUESTION, ANSWER):
        for match in re.finditer(re.escape(turn.content), text.text):
            if not any(piece.start <= match.start() and match.end() <= piece.stop for piece in text.pieces):
                raise DataError(
                    f"The chat template treats the text of {turn.role} turns in a way that cannot be followed from "
                    "the data to the text, so no mask can be proved; simplify the template."
                )


def _generation_prompt(prober: Prober, tokens: SpecialTokens) -> str:
    with_prompt, without = prober.show(QUESTION, prompt=True), prober.show(QUESTION)
    if with_prompt is None:
        return ""
    common = tokens.common_prefix(with_prompt.tail, without.tail if without else "")
    return with_prompt.tail[len(common) :]


def _prompt_beyond_chats(prober: Prober, prompt: str, tokens: SpecialTokens) -> str:
    """What is left of the prompt behind the header of the answer that repeats most of it."""
    rests: list[str] = []
    for turn in (ANSWER, THOUGHT, WRITTEN_THOUGHT):
        chat = prober.show(QUESTION, turn)
        if chat is None or not chat.of_turn(prober.first + 1):
            continue
        header = header_in(chat.text, prompt, tokens.added)
        rests.append(prompt[header[1] - header[0] :] if header else prompt)
    shortest = min(rests, key=len, default="")
    return shortest if shortest.strip() else ""


def _header_of_every_answer(prober: Prober, short: Shown, tokens: SpecialTokens) -> str:
    """What a template without a generation prompt prints between any question and its answer."""
    question = prober.show(QUESTION)
    longer = prober.show(QUESTION, ANSWER, *LATER)
    gaps = [text.before(text.of_turn(prober.first + 1)[0]) for text in (short, longer) if text]
    if question is None or not gaps:
        return ""
    common = gaps[0] if len(gaps) == 1 else tokens.common_prefix(*gaps)
    header = common[len(tokens.common_prefix(question.tail, common)) :]
    return header.rstrip(" ") if header.strip() else ""


def _find_leads(prober: Prober, short: Shown, prompt: str, tokens: SpecialTokens) -> Leads:
    answer = prober.first + 1
    supplied = prober.show(QUESTION, prompt=True) or prober.show(QUESTION)

    def lead(text: Shown | None, field: str) -> str | None:
        """What stands between the header and the first piece of the answer, if that piece is of this field."""
        pieces = text.of_turn(answer) if text else []
        if text is None or not pieces or not pieces[0].origin.field.startswith(field):
            return None
        gap = text.before(pieces[0])
        header = header_in(gap, prompt, tokens.added)
        if header is not None:
            return gap[header[1] :]
        return gap[len(tokens.common_prefix(supplied.tail, gap)) :] if supplied else ""

    plain = lead(short, CONTENT) or ""
    thought = prober.show(QUESTION, THOUGHT)
    between = _before_last_content(thought, answer)
    thought_aloud = prober.show(QUESTION, WRITTEN_THOUGHT)
    written = lead(thought_aloud, CONTENT)
    others = [
        lead(prober.show(QUESTION, ANSWER, *LATER), CONTENT),
        between,
        written if _begins_with_all(thought_aloud, answer) else _before_last_content(thought_aloud, answer),
    ]
    shows_reasoning = thought is not None and bool(thought.of_turn(answer, REASONING))
    closes_reasoning = shows_reasoning and between == plain
    is_everywhere = all(other is None or other.endswith(plain) for other in others) and not closes_reasoning
    content, empty = (plain, "") if is_everywhere else ("", plain)
    called = lead(_show_call(prober, call()), TOOL_CALLS) or ""
    return Leads(
        content=content,
        content_before_call=_before_content_and_call(prober, lead, content, empty),
        empty=empty,
        call=called.removeprefix(empty),
        reasoning=(lead(thought, REASONING) or "") if shows_reasoning else "",
        reasoning_close=(between or "").removesuffix(content) if shows_reasoning else "",
    )


def _before_content_and_call(
    prober: Prober, lead: Callable[[Shown | None, str], str | None], content: str, empty: str
) -> str:
    """`Leads.content_before_call`; what reasoning takes the place of is no part of it."""
    words = lead(_show_call(prober, call("qzx words")), CONTENT)
    if words is None or (content and words.endswith(content)):
        return content
    words = words.removeprefix(empty)
    thought = Turn("assistant", {**call("qzx words").message, REASONING: THOUGHT.reasoning})
    between = _before_last_content(_show_call(prober, thought), prober.first + 1)
    return words if between is None or between.endswith(words) else content


def _show_call(prober: Prober, turn: Turn) -> Shown | None:
    return prober.show(QUESTION, turn, with_tool=True) or prober.show(QUESTION, turn)


def _before_last_content(text: Shown | None, answer: int) -> str | None:
    pieces = text.of_turn(answer, CONTENT) if text else []
    return text.before(pieces[-1]) if text and pieces else None


def _begins_with_all(text: Shown | None, answer: int) -> bool:
    """Whether the content is printed from its beginning on, tags of reasoning and all."""
    pieces = text.of_turn(answer, CONTENT) if text else []
    return bool(pieces) and pieces[0].index == 0


def _is_prefix_stable(prober: Prober, answer: Turn) -> bool:
    short, longer = prober.show(QUESTION, answer), prober.show(QUESTION, answer, *LATER)
    return short is None or longer is None or longer.text.startswith(short.text)
