"""How many of the tokens are trained: by role, and by where the mask of a row comes from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from engine.data.conversation import Conversation, Document, Example, TokenRow, role_of
from engine.data.rendering.rendered import Rendered

TEMPLATE = "template"
TOKENS = "tokens"


class Mask(Enum):
    """Who decides what is trained in a row."""

    CHAT = "the chat template"
    GIVEN = "the row itself, or its split into prompt and completion"
    TEXT = "nobody: all of plain text is trained"


@dataclass(slots=True)
class MaskShare:
    """Rows whose masks come from the same place, and their tokens; `possible` are all but each row's first one."""

    rows: int = 0
    possible: int = 0
    loss_tokens: int = 0

    @property
    def is_all_trained(self) -> bool:
        """Every token that can have loss has it."""
        return 0 < self.possible == self.loss_tokens


@dataclass(slots=True)
class TrainedShares:
    """Tokens and loss tokens of all kept rows."""

    masks: dict[Mask, MaskShare] = field(default_factory=lambda: {mask: MaskShare() for mask in Mask})
    _tokens: Counter[str] = field(default_factory=Counter)
    _loss_tokens: Counter[str] = field(default_factory=Counter)
    _roles_of_plans: dict[object, list[str]] = field(default_factory=dict)

    def add(self, rendered: Rendered, kept: int) -> None:
        """Count the first `kept` tokens of a row, of which the very first never has loss."""
        start = loss_tokens = 0
        tokens = self._tokens
        for role, loss, stop in zip(self._roles(rendered), rendered.draft.losses, rendered.token_stops, strict=True):
            if stop > kept:
                stop = kept
            tokens[role] += stop - start
            if loss and stop > start:
                trained = stop - (start or 1)
                self._loss_tokens[role] += trained
                loss_tokens += trained
            start = stop
        share = self.masks[_mask_of(rendered.example)]
        share.rows += 1
        share.possible += kept - 1
        share.loss_tokens += loss_tokens

    def _roles(self, rendered: Rendered) -> list[str]:
        """Whose each segment is; the same for all rows of one plan."""
        known = self._roles_of_plans.get(rendered.plan) if rendered.plan is not None else None
        if known is None:
            known = [_role_of(rendered.example, segment.turn) for segment in rendered.segments]
            if rendered.plan is not None:
                self._roles_of_plans[rendered.plan] = known
        return known

    @property
    def tokens(self) -> int:
        return self._tokens.total()

    @property
    def loss_tokens(self) -> int:
        return self._loss_tokens.total()

    def by_role(self) -> dict[str, tuple[int, int]]:
        """Tokens and loss tokens of each role, the largest role first."""
        return {role: (tokens, self._loss_tokens[role]) for role, tokens in self._tokens.most_common() if tokens}


def _role_of(example: Example, turn: int | None) -> str:
    """The role in whose name tokens are counted; what is nobody's is the template's."""
    return TOKENS if isinstance(example, TokenRow) else role_of(example, turn) or TEMPLATE


def _mask_of(example: Example) -> Mask:
    if isinstance(example, Conversation):
        return Mask.CHAT
    is_plain = isinstance(example, Document) and example.kind == "text"
    return Mask.TEXT if is_plain else Mask.GIVEN
