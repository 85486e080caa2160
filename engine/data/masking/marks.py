"""Whether a template's `{% generation %}` marks say the same as the origins of its text.

The mask follows the origins. Marks that agree say nothing new; those that do not are told to the user, whose other
tools may trust them.
"""

from __future__ import annotations

from engine.data.conversation import Turn
from engine.data.masking.reasons import Segment, Why
from engine.data.masking.rules import MaskOptions, MaskRules
from engine.data.masking.segments import mask_segments
from engine.data.template.chat_template import ChatTemplate, TemplateRefusedError, UntracedTextError
from engine.data.template.facts import TemplateFacts
from engine.data.template.layout import data_pieces
from engine.data.template.probes import ANSWER, LATER, QUESTION, RESULT, THOUGHT, Prober, call
from engine.data.template.special_tokens import SpecialTokens

_PROBES: tuple[tuple[Turn, ...], ...] = (
    (QUESTION, ANSWER),
    (QUESTION, ANSWER, *LATER),
    (QUESTION, THOUGHT),
    (QUESTION, call(), RESULT, ANSWER),
)


def marks_fault(template: ChatTemplate, facts: TemplateFacts, tokens: SpecialTokens) -> str | None:
    """What is wrong with the marks, in words; None where they are right, or where there are none."""
    prefix = Prober(template).prefix
    rules = MaskRules(facts, tokens, MaskOptions(train_on_template_text=True))
    for probe in _PROBES:
        turns = (*prefix, *probe)
        try:
            spans = template.generation_spans(turns)
            if not spans:
                return None
            text = template.render(turns)
        except (TemplateRefusedError, UntracedTextError):
            continue
        printed = {piece.turn for piece in data_pieces(text)}
        if not all(number in printed for number, turn in enumerate(turns) if turn.is_answer):
            continue  # the template takes no such turn
        fault = _fault(str.__getitem__(text, slice(None)), mask_segments(text, turns, rules), spans)
        if fault is not None:
            return fault
    return None


def _fault(text: str, segments: list[Segment], spans: list[tuple[int, int]]) -> str | None:
    for segment in segments:
        marked = "".join(
            text[max(start, segment.start) : min(stop, segment.stop)]
            for start, stop in spans
            if start < segment.stop and segment.start < stop
        )
        whole = text[segment.start : segment.stop]
        if segment.loss and marked.strip() != whole.strip():
            missing = "the end of the answer" if segment.why is Why.TURN_END else "part of the answer"
            return f"they leave out {missing} ({whole.strip()!r})"
        if not segment.loss and marked.strip():
            covered = "the header" if segment.why is Why.HEADER else "text that no answer has to produce"
            return f"they cover {covered} ({marked.strip()!r})"
    return None
