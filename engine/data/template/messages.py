"""Turns as the messages that a chat template reads, in the forms that this template can read."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.data.conversation import CONTENT, REASONING, ROLE, TOOL_CALLS, Turn
from engine.data.paths import ARGUMENTS, mapped_strings
from engine.data.template.traced import Origin, TracedStr, concat
from engine.data.template.traced_json import SharedObject, dumps

OTHER_NAMES_OF_REASONING = ("thinking", "reasoning")
"""Keys under which some templates look for the reasoning; they get it under all of them."""

TOOLS = "tools"

_KEPT_TOOLS = 64


@dataclass(frozen=True, slots=True)
class MessageForms:
    """In which of several usual forms a template takes its messages.

    `content`: as the data has it (`any`), as strings alone, or as lists of parts alone. `bare_calls`: a turn that has
    nothing but tool calls has no content at all, not an empty string. `arguments_as_json`: the arguments of a tool call
    are a string of JSON, not an object.
    """

    content: Literal["any", "text", "parts"] = "any"
    bare_calls: bool = False
    arguments_as_json: bool = False


def traced_messages(
    turns: Iterable[Turn], forms: MessageForms, make: Callable[[str, Origin], str] = TracedStr.from_data
) -> list[dict[str, Any]]:
    """The messages with every string of the data traced by `make`; the paths are those of `Turn.texts`."""
    return [_message(turn, forms, _tracer(number, make)) for number, turn in enumerate(turns)]


def plain_messages(turns: Iterable[Turn], forms: MessageForms) -> list[dict[str, Any]]:
    """The same messages with plain strings."""
    return [_message(turn, forms, _untraced) for turn in turns]


class OfferedTools:
    """The tools that rows offer, traced to no turn, so that their text stays the data's.

    Most rows of a data set offer the same ones, so the last ones are kept.
    """

    def __init__(self) -> None:
        self._traced: OrderedDict[str, list[Any]] = OrderedDict()

    def traced(self, tools: Sequence[Mapping[str, Any]]) -> list[Any] | None:
        """The tools with every string traced; None where there is none."""
        if not tools:
            return None
        key = json.dumps(tools)
        traced = self._traced.pop(key, None) or _traced_tools(tools)
        self._traced[key] = traced
        if len(self._traced) > _KEPT_TOOLS:
            self._traced.popitem(last=False)
        return list(traced)


def _traced_tools(tools: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [SharedObject(tool) for tool in mapped_strings(tools, _tracer(None, TracedStr.from_data), TOOLS, keys=True)]


def _tracer(turn: int | None, make: Callable[[str, Origin], str]) -> Callable[[str, str], str]:
    return lambda text, path: make(text, Origin(turn, path))


def _untraced(text: str, _: str) -> str:
    return text


def _message(turn: Turn, forms: MessageForms, trace: Callable[[str, str], str]) -> dict[str, Any]:
    given = {key: value for key, value in turn.message.items() if value is not None}  # as transformers does
    message: dict[str, Any] = {ROLE: trace(turn.role, ROLE), **mapped_strings(given, trace)}
    if REASONING in message:
        message = {**dict.fromkeys(OTHER_NAMES_OF_REASONING, message[REASONING]), **message}
    if TOOL_CALLS in message:
        if forms.arguments_as_json:
            message[TOOL_CALLS] = [_with_json_arguments(call) for call in message[TOOL_CALLS]]
        if forms.bare_calls and not message.get(CONTENT):
            message.pop(CONTENT, None)
    if CONTENT in message:
        message[CONTENT] = _content(message[CONTENT], forms)
    return message


def _content(content: Any, forms: MessageForms) -> Any:
    if forms.content == "parts" and isinstance(content, str):
        return [{"type": "text", "text": content}]
    if forms.content == "text" and isinstance(content, list):
        return concat(part.get("text", "") for part in content)
    return content


def _with_json_arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = dumps(function[ARGUMENTS], ensure_ascii=False, indent=None, separators=None, sort_keys=False)
    return {**call, "function": {**function, ARGUMENTS: arguments}}
