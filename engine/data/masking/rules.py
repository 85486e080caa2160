"""What the mask depends on besides the text: the config's options, and which answers are trained at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.data.blank import says_nothing
from engine.data.conversation import Turn
from engine.data.masking.reasons import Why
from engine.data.masking.think import think_stop
from engine.data.template.facts import TemplateFacts
from engine.data.template.special_tokens import SpecialTokens


@dataclass(frozen=True, slots=True)
class MaskOptions:
    """What the config says about the mask (`data.train_on_template_text` and its neighbours)."""

    train_on_template_text: bool = False
    train_on_reasoning: bool = True
    last_turn_only: bool = False

    def trains(self, why: Why) -> bool:
        """Whether text of an answer that is trained has loss for this reason."""
        return (
            why in (Why.ANSWER, Why.WRAPPING, Why.TURN_END)
            or (why is Why.REASONING and self.train_on_reasoning)
            or (why is Why.TEMPLATE_IN_ANSWER and self.train_on_template_text)
        )


@dataclass(frozen=True, slots=True)
class MaskRules:
    """Everything that the mask depends on besides the text."""

    facts: TemplateFacts
    tokens: SpecialTokens
    options: MaskOptions


def untrained_turns(turns: tuple[Turn, ...], options: MaskOptions) -> Iterator[Why | None]:
    """For each turn why nothing of it has loss although it is an answer, or None."""
    last = max((number for number, turn in enumerate(turns) if turn.is_answer), default=None)
    for number, turn in enumerate(turns):
        if not turn.trained:
            yield Why.WEIGHT_ZERO
        elif turn.is_empty or not (options.train_on_reasoning or _says_more_than_reasoning(turn)):
            yield Why.EMPTY_ANSWER
        elif options.last_turn_only and number != last:
            yield Why.NOT_LAST_TURN
        else:
            yield None


def _says_more_than_reasoning(turn: Turn) -> bool:
    return bool(turn.tool_calls) or not says_nothing(turn.content[think_stop(turn.content) :])
