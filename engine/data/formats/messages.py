"""Rows of chat messages in OpenAI's form: `messages`, each with `role` and `content`."""

from __future__ import annotations

from typing import Any, Never

from engine.data.conversation import CONTENT, REASONING, ROLES, Conversation, Role, Turn, bad_row
from engine.data.errors import BadRowError
from engine.data.sources.rows import RawRow

_LATER_ROLES = ("tool", "function", "developer", "ipython")
_LATER_KEYS = ("tool_calls", "function_call")


def parse_conversation(raw: RawRow, messages_field: str) -> Conversation:
    """Check one row of chat messages.

    Raises:
        BadRowError: it is not a chat, or needs something that is not available yet.
    """
    if messages_field not in raw.value:
        found = ", ".join(repr(key) for key in raw.value) or "no key at all"
        _refuse(raw, "UNKNOWN_SCHEMA", f"no key {messages_field!r} (found: {found}); name it in data.messages_field")
    messages = raw.value[messages_field]
    if not isinstance(messages, list):
        _refuse(raw, "UNKNOWN_SCHEMA", f"{messages_field!r} must be a list of messages, found {_kind(messages)}")
    if not messages:
        _refuse(raw, "EMPTY_CHAT", f"{messages_field!r} is an empty list")
    if raw.value.get("tools"):
        _refuse(raw, "NOT_AVAILABLE", "tools are not available yet")
    return Conversation(
        raw.row, raw.file, raw.line, tuple(_turn(raw, number, message) for number, message in enumerate(messages))
    )


def _turn(raw: RawRow, number: int, message: Any) -> Turn:
    if not isinstance(message, dict):
        _refuse(
            raw, "BAD_MESSAGE", f"a message must be an object with role and content, found {_kind(message)}", number
        )
    role = _role(raw, number, message)
    for key in _LATER_KEYS:
        if message.get(key):
            _refuse(raw, "NOT_AVAILABLE", f"{key} are not available yet", number)
    texts: dict[str, Any] = {CONTENT: _content(raw, number, role, message)}
    reasoning = message.get(REASONING)
    if reasoning is not None:
        texts[REASONING] = _text(raw, number, REASONING, reasoning)
    return Turn(role, texts, _weight(raw, number, message) == 1)


def _role(raw: RawRow, number: int, message: dict[str, Any]) -> Role:
    given = message.get("role")
    role = next((role for role in ROLES if role == given), None)
    if given in _LATER_ROLES:
        _refuse(raw, "NOT_AVAILABLE", f"the role {given!r} is not available yet", number)
    if role is None:
        shown = "no role" if given is None else f"the role {given!r}"
        _refuse(raw, "UNKNOWN_ROLE", f"found {shown}; allowed are {', '.join(ROLES)}", number)
    return role


def _content(raw: RawRow, number: int, role: Role, message: dict[str, Any]) -> str:
    content = message.get(CONTENT)
    if isinstance(content, list):
        _refuse(raw, "NOT_AVAILABLE", "content as a list of parts is not available yet", number)
    if content is None and role == "assistant":
        return ""
    return _text(raw, number, CONTENT, content)


def _text(raw: RawRow, number: int, key: str, value: Any) -> str:
    if not isinstance(value, str):
        _refuse(raw, "BAD_MESSAGE", f"{key} must be a string, found {_kind(value)}", number)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        reason = f"{key} holds half of a surrogate pair (U+{ord(value[error.start]):04X}), which no text can contain"
        _refuse(raw, "BAD_MESSAGE", reason, number)
    return value


def _weight(raw: RawRow, number: int, message: dict[str, Any]) -> int:
    weight = message.get("weight")
    if weight is None:
        return 1
    if isinstance(weight, bool) or weight not in (0, 1):
        _refuse(raw, "BAD_WEIGHT", f"weight must be 0 or 1, found {weight!r}", number)
    return int(weight)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "nothing (null)" if value is None else names.get(type(value), type(value).__name__)


def _refuse(raw: RawRow, code: str, reason: str, turn: int | None = None) -> Never:
    raise BadRowError(bad_row(raw, code, reason, turn))
