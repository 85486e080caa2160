"""One chat message, in OpenAI's form or ShareGPT's, as a turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engine.data.conversation import CONTENT, REASONING, TOOL_CALLS, Role, Turn
from engine.data.formats.fields import checked_text, first_present, is_blank, optional_text, refuse, type_in_words
from engine.data.formats.tools import tool_calls, written_calls
from engine.data.sources.rows import RawRow

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "function_call": "assistant",
    "tool_call": "assistant",
    "tool": "tool",
    "function": "tool",
    "ipython": "tool",
    "observation": "tool",
    "tool_response": "tool",
    "function_response": "tool",
}
"""The names in use for the roles."""

_PLAIN_KEYS = {"role", CONTENT}
_MAY_SAY_NOTHING = ("assistant", "tool")
_ROLES_OF_CALLS = ("function_call", "tool_call")
_KEYS_OF_REASONING = (REASONING, "reasoning", "thinking")
_SWITCHES = ("train", "training", "loss")
_KEYS_OF_SYSTEM = ("system", "system_prompt")


def message(role: str, content: Any) -> dict[str, Any]:
    """A message in OpenAI's form."""
    return {"role": role, CONTENT: content}


def system_text(raw: RawRow) -> str:
    """The row's own system prompt, under `system` or `system_prompt`; empty where it has none."""
    if raw.value.keys().isdisjoint(_KEYS_OF_SYSTEM):
        return ""
    text = optional_text(raw, first_present(raw.value, *_KEYS_OF_SYSTEM) or "system")
    return text if text.strip() else ""


def turns_of(raw: RawRow, messages: Sequence[Any], are_trained: bool = True, first: int = 0) -> tuple[Turn, ...]:
    """The turns of a list of messages, the row's own system prompt in front of the very first.

    `are_trained` False keeps all of them out of the loss. `first` is the number of the first one in its conversation.

    Raises:
        BadRowError: a message breaks the rules, or there are two system prompts.
    """
    own = system_text(raw) if first == 0 else ""
    in_front = (Turn("system", {CONTENT: own}),) if own and not _begins_with_system(messages) else ()
    numbered = enumerate(messages, start=first + len(in_front))
    turns = tuple(_turn(raw, number, one, are_trained) for number, one in numbered)
    if own and not in_front and turns[0].content != own:
        refuse(raw, "TWO_SYSTEM_PROMPTS", "the row has a system prompt and its messages begin with another one", 0)
    return (*in_front, *turns)


def _begins_with_system(messages: Sequence[Any]) -> bool:
    first = messages[0] if messages else None
    return isinstance(first, dict) and _in_openai_form(first).get("role") == "system"


def _turn(raw: RawRow, number: int, given: Any, is_trained: bool) -> Turn:
    return _plain_turn(given, is_trained) or _any_turn(raw, number, given, is_trained)


def _plain_turn(given: Any, is_trained: bool) -> Turn | None:
    """The quick way for a message that has a role and ASCII text and nothing else, as most have."""
    if not isinstance(given, dict) or len(given) != len(_PLAIN_KEYS):
        return None
    name, text = given.get("role"), given.get(CONTENT)
    if not isinstance(name, str) or not isinstance(text, str) or not text.isascii():
        return None
    role = ROLES.get(name)
    return Turn(role, {CONTENT: text}, is_trained) if role is not None and name not in _ROLES_OF_CALLS else None


def _any_turn(raw: RawRow, number: int, given: Any, is_trained: bool) -> Turn:
    if not isinstance(given, dict):
        reason = f"a message must be an object with role and content, found {type_in_words(given)}"
        refuse(raw, "BAD_MESSAGE", reason, number)
    given = _in_openai_form(given)
    role = _role(raw, number, given)
    if given["role"] in _ROLES_OF_CALLS and is_blank(given.get(TOOL_CALLS)):
        given = {**given, CONTENT: "", TOOL_CALLS: written_calls(raw, number, given.get(CONTENT))}
    if given.keys() <= _PLAIN_KEYS:
        return Turn(role, {CONTENT: _content(raw, number, role, given)}, is_trained)
    values = {
        CONTENT: _content(raw, number, role, given),
        REASONING: _reasoning(raw, number, given),
        TOOL_CALLS: tool_calls(raw, number, given),
        "name": _short_text(raw, number, given, "name"),
        "tool_call_id": _short_text(raw, number, given, "tool_call_id"),
    }
    if role != "assistant" and (values[REASONING] or values[TOOL_CALLS]):
        found = "reasoning" if values[REASONING] else "tool calls"
        reason = f"a turn of the role {given['role']!r} has {found}, which only an answer can have"
        refuse(raw, "BAD_MESSAGE", reason, number)
    kept = {key: value for key, value in values.items() if value or key == CONTENT}
    return Turn(role, kept, _weight(raw, number, given) == 1 and is_trained)


def _in_openai_form(given: dict[str, Any]) -> dict[str, Any]:
    """`from` and `value`, ShareGPT's names, as `role` and `content`."""
    if "from" not in given and "value" not in given:
        return given
    renamed = dict(given)
    for name, theirs in (("role", "from"), (CONTENT, "value")):
        if renamed.get(name) is None and theirs in renamed:
            renamed[name] = renamed.pop(theirs)
    return renamed


def _role(raw: RawRow, number: int, given: Mapping[str, Any]) -> Role:
    name = given.get("role")
    role = ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        shown = "no role" if name is None else f"the role {name!r}"
        meant = name.strip().lower() if isinstance(name, str) else ""
        advice = f"did you mean {meant!r}?" if meant in ROLES else f"allowed are {', '.join(ROLES)}"
        refuse(raw, "UNKNOWN_ROLE", f"found {shown}; {advice}", number)
    return role


def _content(raw: RawRow, number: int, role: Role, given: Mapping[str, Any]) -> str | list[dict[str, str]]:
    content = given.get(CONTENT)
    if role in _MAY_SAY_NOTHING and (content is None or content == []):
        return ""
    if isinstance(content, list):
        if not content:
            refuse(raw, "BAD_MESSAGE", "content is an empty list of parts", number)
        return [_part(raw, number, part) for part in content]
    return checked_text(raw, CONTENT, content, number)


def _part(raw: RawRow, number: int, part: Any) -> dict[str, str]:
    if not isinstance(part, dict):
        reason = f"a part of the content must be an object with type and text, found {type_in_words(part)}"
        refuse(raw, "BAD_MESSAGE", reason, number)
    kind = part.get("type", "text")
    if kind != "text":
        reason = f"the content has a part of type {kind!r}; only text can be trained (type 'text')"
        refuse(raw, "NOT_TEXT", reason, number)
    return {"type": "text", "text": checked_text(raw, "the text of a part", part.get("text"), number)}


def _reasoning(raw: RawRow, number: int, given: Mapping[str, Any]) -> str:
    found = {
        key: checked_text(raw, key, given[key], number) for key in _KEYS_OF_REASONING if not is_blank(given.get(key))
    }
    if len(set(found.values())) > 1:
        refuse(raw, "BAD_MESSAGE", f"{' and '.join(found)} hold different reasoning; keep one of them", number)
    return next(iter(found.values()), "")


def _short_text(raw: RawRow, number: int, given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return "" if value is None else checked_text(raw, key, value, number)


def _weight(raw: RawRow, number: int, given: Mapping[str, Any]) -> int:
    """1 for loss and 0 for none, as `weight` or one of the switches that other trainers read says."""
    said = {"weight": _number_weight(raw, number, given.get("weight"))}
    said |= {key: _switch(raw, number, key, given.get(key)) for key in _SWITCHES}
    weights = {key: weight for key, weight in said.items() if weight is not None}
    if len(set(weights.values())) > 1:
        refuse(raw, "BAD_WEIGHT", f"{' and '.join(weights)} contradict each other; keep one of them", number)
    return next(iter(weights.values()), 1)


def _number_weight(raw: RawRow, number: int, weight: Any) -> int | None:
    if weight is not None and (isinstance(weight, bool) or weight not in (0, 1)):
        refuse(raw, "BAD_WEIGHT", f"weight must be 0 or 1, found {json.dumps(weight)}", number)
    return None if weight is None else int(weight)


def _switch(raw: RawRow, number: int, key: str, value: Any) -> int | None:
    if value is not None and value not in (0, 1):
        refuse(raw, "BAD_WEIGHT", f"{key} must be true or false, found {json.dumps(value)}", number)
    return None if value is None else int(value)
