"""One row from its raw form to tokens, with all that is to be said about it: the step that training, the audit and the
inspector share, so that they show the very same tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from engine.data.audit.chat_checks import is_odd
from engine.data.audit.checks import flags_of
from engine.data.audit.flags import RowFlag, Severity
from engine.data.conversation import Example
from engine.data.counted import counted
from engine.data.errors import BadRow, BadRowError
from engine.data.feeding.samples import LossMask
from engine.data.formats import parse_row
from engine.data.formats.messages import MESSAGES
from engine.data.masking.rules import MaskOptions
from engine.data.rendering.plan import PlannedDraft
from engine.data.rendering.rendered import Rendered, loss_masks
from engine.data.rendering.renderer import Renderer
from engine.data.sources.rows import RawRow


def _no_mask() -> LossMask:
    return np.zeros(0, dtype=np.bool_)


class RowOptions(Protocol):
    """What is read of the config's `data` section to turn one row into tokens."""

    @property
    def messages_field(self) -> str: ...
    @property
    def max_seq_length(self) -> int: ...
    @property
    def train_on_template_text(self) -> bool: ...
    @property
    def train_on_reasoning(self) -> bool: ...
    @property
    def last_turn_only(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Examined:
    """What became of one row.

    Either `bad` says why it cannot be used, or `example` and `rendered` are there. `has_loss`: [S] bool, for the whole
    row; training takes the first `kept` tokens, none (0) where nothing within the limit of length has loss.
    """

    row: int
    file: str
    line: int
    flags: tuple[RowFlag, ...] = ()
    bad: BadRow | None = None
    example: Example | None = None
    rendered: Rendered | None = None
    has_loss: LossMask = field(default_factory=_no_mask)
    kept: int = 0

    @property
    def num_tokens(self) -> int:
        """Tokens before any cut."""
        return len(self.has_loss)

    @property
    def is_truncated(self) -> bool:
        """The limit of length cuts tokens off."""
        return 0 < self.kept < self.num_tokens


class Examiner:
    """Turns raw rows into tokens with one tokenizer under the options of a config's `data` section.

    Raises:
        DataError: the tokenizer has no usable chat template, or no fast version.
    """

    def __init__(self, tokenizer: Any, options: RowOptions) -> None:
        self._options = options
        mask = MaskOptions(options.train_on_template_text, options.train_on_reasoning, options.last_turn_only)
        self.renderer = Renderer(tokenizer, mask)
        self._known_flags: dict[object, tuple[RowFlag, ...]] = {}

    def examine(self, rows: Sequence[RawRow | BadRow]) -> list[Examined]:
        """One result a row, in order. Many rows at once are faster: the tokenizer spreads them over the cores."""
        parsed = [self.parse(row) for row in rows]
        rendered = self.renderer.render([one for one in parsed if not isinstance(one, BadRow)])
        masks = iter(loss_masks([one for one in rendered if isinstance(one, Rendered)]))
        found = iter(rendered)
        results = [one if isinstance(one, BadRow) else next(found) for one in parsed]
        examined = [_bad(one) if isinstance(one, BadRow) else self._examined(one, next(masks)) for one in results]
        if self._options.messages_field == MESSAGES:
            return examined
        return [self._with_its_field(one, row) for one, row in zip(examined, rows, strict=True)]

    def parse(self, row: RawRow | BadRow) -> Example | BadRow:
        """The row in the one internal form, before the template and the tokenizer have seen it."""
        if isinstance(row, BadRow):
            return row
        try:
            return parse_row(row, self._options.messages_field)
        except BadRowError as error:
            return error.bad_row

    def _examined(self, found: Rendered, has_loss: LossMask) -> Examined:
        example, limit = found.example, self._options.max_seq_length
        is_trained = bool(has_loss[:limit].any())
        flags = (
            *self._flags_of(found),
            *_length_flags(example, has_loss, limit, is_trained),
        )
        kept = min(len(has_loss), limit) if is_trained else 0
        return Examined(example.row, example.file, example.line, flags, None, example, found, has_loss, kept)

    def _with_its_field(self, examined: Examined, row: RawRow | BadRow) -> Examined:
        """With a finding where the row has not the key that the config names."""
        named, example = self._options.messages_field, examined.example
        if example is None or isinstance(row, BadRow) or named in row.value:
            return examined
        message = f"there is no key {named!r} (data.messages_field); the row was read as {example.kind}"
        return replace(examined, flags=(*examined.flags, _flag(example, "MESSAGES_FIELD_MISSING", message)))

    def _flags_of(self, rendered: Rendered) -> Iterable[RowFlag]:
        """Chats of one plan have the same findings, unless there is something in their text to be found."""
        plan, draft, example = rendered.plan, rendered.draft, rendered.example
        if not isinstance(draft, PlannedDraft) or rendered.special_texts or is_odd(draft.texts):
            return flags_of(rendered, self.renderer.facts)
        known = self._known_flags.get(plan)
        if known is None:
            known = self._known_flags[plan] = tuple(flags_of(rendered, self.renderer.facts))
        return [flag.elsewhere(example.row, example.file, example.line) for flag in known]


def _bad(row: BadRow) -> Examined:
    return Examined(row.row, row.file, row.line, bad=row)


def _length_flags(example: Example, has_loss: LossMask, limit: int, is_trained: bool) -> Iterator[RowFlag]:
    if not is_trained:
        yield _flag(example, "NO_TRAINABLE_TOKENS", _no_trainable_tokens(has_loss, limit))
    elif len(has_loss) > limit:
        over = counted(len(has_loss) - limit, "token")
        message = f"{over} of {len(has_loss):,} are cut off, behind the limit of {limit} (data.max_seq_length)"
        yield _flag(example, "TRUNCATED", message)
        if has_loss[limit - 1] and has_loss[limit]:
            yield _flag(
                example, "END_TOKEN_CUT", f"the limit of {limit} tokens falls into an answer, which loses its end"
            )


def _no_trainable_tokens(has_loss: LossMask, limit: int) -> str:
    length = f"{counted(len(has_loss), 'token')}, limit {limit}"
    if has_loss.any():
        return f"nothing to train within the limit of length, the row is left out ({length})"
    return f"no answer to train, the row is left out ({length})"


def _flag(example: Example, code: str, message: str) -> RowFlag:
    return RowFlag(code, Severity.WARNING, example.row, example.file, example.line, message)
