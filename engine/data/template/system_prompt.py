"""What a template says in the system's name without the data's doing."""

from __future__ import annotations

import re

from engine.data.conversation import ROLES
from engine.data.template.probes import ANSWER, INSTRUCTION, QUESTION, Prober
from engine.data.template.special_tokens import SpecialTokens

_FEWEST_WORDS = 3  # less than that is the name of a role, or a tag


def added_system_prompt(prober: Prober) -> str:
    """The text that stands where the text of a system turn would; empty where there is none."""
    with_system, without = prober.show_bare(INSTRUCTION, QUESTION, ANSWER), prober.show_bare(QUESTION, ANSWER)
    if with_system is None or without is None:
        return ""
    pieces = with_system.pieces
    if len(pieces) < 2 or pieces[0].turn != 0:
        return ""
    before, after = with_system.before(pieces[0]), with_system.before(pieces[1])
    opening = without.first_text
    has_both = opening.startswith(before) and opening.endswith(after) and before and after
    return opening[len(before) : len(opening) - len(after)] if has_both else ""


def added_to_system_turn(prober: Prober, tokens: SpecialTokens) -> str:
    """The template's own words in front of a system turn of the data, and between it and the question."""
    with_system = prober.show_bare(INSTRUCTION, QUESTION, ANSWER)
    text, first = (with_system, 1) if with_system else (prober.show_bare(QUESTION, ANSWER), 0)
    question = text.of_turn(first) if text else []
    if text is None or not question:
        return ""
    stretches = [text.before(piece) for piece in text.pieces if piece.start <= question[0].start]
    return "\n".join(filter(None, (_own_words(stretch, tokens) for stretch in stretches)))


def _own_words(stretch: str, tokens: SpecialTokens) -> str:
    """What is left of template text without tokens and names of roles, if that is more than a tag."""
    left = tokens.added.sub("\n", stretch)
    lines = [line.strip() for line in left.splitlines() if line.strip().lower().strip(":#<>[]/ ") not in ROLES]
    said = "\n".join(filter(None, lines))
    return said if len(re.findall(r"[^\W\d_]{2,}", said)) >= _FEWEST_WORDS else ""
