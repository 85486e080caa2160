"""A model's chat template, rendered with the origin of every character."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jinja2

from engine.data.conversation import Turn
from engine.data.errors import DataError
from engine.data.template.clock import Clock
from engine.data.template.environment import template_environment
from engine.data.template.messages import MessageForms, OfferedTools, plain_messages, traced_messages
from engine.data.template.traced import TracedStr
from engine.data.template.watched import UnwatchableError, Watch
from engine.data.template.watched_environment import WatchedEnvironment

_TEMPLATE_ERRORS = (
    jinja2.TemplateError,
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    AssertionError,  # jinja's truncate
    RuntimeError,
)
_MARKS = ("\U0010fffc", "\U0010fffd")  # private use, and printed in probes alone

Tools = Sequence[Mapping[str, Any]]


class TemplateRefusedError(ValueError):
    """The template raised on a conversation; the message is the template's own."""


class UntracedTextError(DataError):
    """What the template prints for a conversation cannot be followed back to the data."""


@dataclass(frozen=True, slots=True)
class _Chat:
    """What one rendering is given."""

    turns: tuple[Turn, ...]
    tools: Tools
    add_generation_prompt: bool


class ChatTemplate:
    """The chat template that `tokenizer` carries.

    Raises:
        DataError: the tokenizer has none, or it is not valid jinja.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.forms = MessageForms()
        self.clock = Clock()
        self._tools = OfferedTools()
        try:
            self._source = tokenizer.get_chat_template()
        except ValueError as error:
            raise DataError(
                "The tokenizer has no chat template, so chats cannot be turned into text; take the instruct variant "
                "of the model, or put a chat_template.jinja beside its tokenizer."
            ) from error
        try:
            self._environment = template_environment(self.clock.strftime)
            self._compiled = self._environment.from_string(self._source)
        except jinja2.TemplateSyntaxError as error:
            raise DataError(f"The chat template is not valid jinja: {error.message}, line {error.lineno}.") from error

    def with_forms(self, forms: MessageForms) -> ChatTemplate:
        """The same template, given its messages in other forms."""
        other = copy(self)
        other.forms = forms
        return other

    def render(
        self,
        turns: tuple[Turn, ...],
        tools: Tools = (),
        add_generation_prompt: bool = False,
        compares: bool = True,
    ) -> TracedStr:
        """The text that the model sees for these turns.

        It is the very text of `tokenizer.apply_chat_template(..., tokenize=False)`, but for the date, which stays that
        of this object's making. With `compares`, that text is rendered, too, and compared.

        Raises:
            TemplateRefusedError: the template raises on these turns, for example on the order of roles.
            UntracedTextError: the two renderings differ, so the origins could not be trusted.
        """
        chat = _Chat(turns, tools, add_generation_prompt)
        plain = _guarded(self._render_plain, chat) if compares else None
        traced = _guarded(self._render_traced, chat)
        if plain is not None and traced != plain and not self._is_of_another_time(chat, plain):
            raise UntracedTextError(
                "The chat template does something that cannot be followed from the data to the text (the traced "
                f"rendering has {len(traced)} characters, the tokenizer's {len(plain)}), so no mask can be proved."
            )
        return traced if isinstance(traced, TracedStr) else TracedStr.from_template(traced)

    def render_watched(self, turns: tuple[Turn, ...], watch: Watch) -> str:
        """The same text as `render` without tools; `watch` takes note of what the template asks of the data.

        Raises:
            UnwatchableError: it does something with the data that the watch cannot describe.
            TemplateRefusedError: as `render`.
        """
        messages = traced_messages(turns, self.forms, watch.string)
        variables = {**self._variables(_Chat((), (), False)), "messages": messages}
        rendered = _guarded(lambda _: self._compiled_to_watch.render(**variables), _Chat(turns, (), False))
        if watch.is_lost:
            raise UnwatchableError("caught on its way")
        return str.__getitem__(rendered, slice(None))

    def _is_of_another_time(self, chat: _Chat, plain: str) -> bool:
        """Whether the date alone makes the difference."""
        if not self.clock.was_asked:
            return False
        with self.clock.going():
            return _guarded(self._render_traced, chat) in (plain, _guarded(self._render_plain, chat))

    def generation_spans(self, turns: tuple[Turn, ...], tools: Tools = ()) -> list[tuple[int, int]]:
        """Which characters of `render(turns, tools)` stand inside `{% generation %}` marks.

        Raises:
            TemplateRefusedError: as `render`.
        """
        marked = _guarded(self._render_marked, _Chat(turns, tools, False))
        start_mark, stop_mark = _MARKS
        spans: list[tuple[int, int]] = []
        position = start = 0
        for character in marked:
            if character == start_mark:
                start = position
            elif character == stop_mark:
                spans.append((start, position))
            else:
                position += 1
        return spans

    def _render_traced(self, chat: _Chat) -> str:
        return self._compiled.render(**self._variables(chat))

    def _render_marked(self, chat: _Chat) -> str:
        with self._environment.marking(*_MARKS):
            return str.__getitem__(self._render_traced(chat), slice(None))

    def _variables(self, chat: _Chat) -> dict[str, Any]:
        return {
            **self.tokenizer.special_tokens_map,
            "messages": traced_messages(chat.turns, self.forms),
            "tools": self._tools.traced(chat.tools),
            "documents": None,
            "add_generation_prompt": chat.add_generation_prompt,
        }

    def _render_plain(self, chat: _Chat) -> str:
        rendered: str = self.tokenizer.apply_chat_template(
            plain_messages(chat.turns, self.forms),
            tools=list(chat.tools) or None,
            tokenize=False,
            add_generation_prompt=chat.add_generation_prompt,
        )
        return rendered

    @cached_property
    def _compiled_to_watch(self) -> jinja2.Template:
        return template_environment(self.clock.strftime, kind=WatchedEnvironment).from_string(self._source)


def _guarded(render: Callable[[_Chat], str], chat: _Chat) -> str:
    try:
        return render(chat)
    except _TEMPLATE_ERRORS as error:
        raise TemplateRefusedError(str(error)) from error
