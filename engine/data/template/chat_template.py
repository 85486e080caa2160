"""A model's chat template, rendered with the origin of every character."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from engine.data.conversation import REASONING, Turn
from engine.data.errors import DataError
from engine.data.template.environment import template_environment
from engine.data.template.traced import ROLE, Origin, TracedStr

_TEMPLATE_ERRORS = (jinja2.TemplateError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError)


class TemplateRefusedError(ValueError):
    """The template raised on a conversation; the message is the template's own."""


class ChatTemplate:
    """The chat template that `tokenizer` carries.

    Raises:
        DataError: the tokenizer has none, or it is not valid jinja.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        try:
            source = tokenizer.get_chat_template()
        except ValueError as error:
            raise DataError(
                "The tokenizer has no chat template, so chats cannot be turned into text; take the instruct variant "
                "of the model, or put a chat_template.jinja beside its tokenizer."
            ) from error
        try:
            self._compiled = template_environment().from_string(source)
        except jinja2.TemplateSyntaxError as error:
            raise DataError(f"The chat template is not valid jinja: {error.message}, line {error.lineno}.") from error

    def render(self, turns: tuple[Turn, ...], add_generation_prompt: bool = False) -> TracedStr:
        """The text that the model sees for these turns.

        It is the very text of `tokenizer.apply_chat_template(..., tokenize=False)`, which is rendered too and compared.

        Raises:
            TemplateRefusedError: the template raises on these turns, for example on the order of roles.
            DataError: the two renderings differ, so the origins could not be trusted.
        """
        for _ in range(2):  # a template that prints the time may differ once, at a change of the second
            plain = self._guarded(self._render_plain, turns, add_generation_prompt)
            traced = self._guarded(self._render_traced, turns, add_generation_prompt)
            if traced == plain:
                return traced if isinstance(traced, TracedStr) else TracedStr.from_template(traced)
        raise DataError(
            "The chat template does something that cannot be followed from the data to the text (the traced "
            f"rendering has {len(traced)} characters, the tokenizer's {len(plain)}), so no mask can be proved."
        )

    def _guarded(self, render: Callable[[tuple[Turn, ...], bool], str], turns: tuple[Turn, ...], prompt: bool) -> str:
        try:
            return render(turns, prompt)
        except _TEMPLATE_ERRORS as error:
            raise TemplateRefusedError(str(error)) from error

    def _render_traced(self, turns: tuple[Turn, ...], add_generation_prompt: bool) -> str:
        return self._compiled.render(
            **self._tokenizer.special_tokens_map,
            messages=[_traced_message(number, turn) for number, turn in enumerate(turns)],
            tools=None,
            documents=None,
            add_generation_prompt=add_generation_prompt,
        )

    def _render_plain(self, turns: tuple[Turn, ...], add_generation_prompt: bool) -> str:
        rendered: str = self._tokenizer.apply_chat_template(
            [_message(turn) for turn in turns], tokenize=False, add_generation_prompt=add_generation_prompt
        )
        return rendered


def _message(turn: Turn) -> dict[str, Any]:
    """The turn as templates expect it. gpt-oss templates read the reasoning under another name."""
    message = {ROLE: turn.role, **turn.message}
    if REASONING in message:
        message["thinking"] = message[REASONING]
    return message


def _traced_message(number: int, turn: Turn) -> dict[str, Any]:
    traced: dict[str, Any] = {
        key: _traced(value, number, key) for key, value in {ROLE: turn.role, **turn.message}.items()
    }
    if REASONING in traced:
        traced["thinking"] = traced[REASONING]
    return traced


def _traced(value: Any, turn: int, path: str) -> Any:
    """The value with every string in it traced; the paths are those of `Turn.texts`."""
    if isinstance(value, str):
        return TracedStr.from_data(value, Origin(turn, path))
    if isinstance(value, Mapping):
        return {key: _traced(item, turn, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_traced(item, turn, f"{path}.{number}") for number, item in enumerate(value)]
    return value
