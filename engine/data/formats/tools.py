"""Tools that a row offers, and calls of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.data.formats.fields import (
    checked_text,
    fault_in,
    first_present,
    is_blank,
    parsed_json,
    refuse,
    type_in_words,
)
from engine.data.sources.rows import RawRow

_KEYS_OF_TOOLS = ("tools", "functions")


def row_tools(raw: RawRow) -> tuple[Mapping[str, Any], ...]:
    """The tools that the row offers under `tools` (or `functions`), each as `{"type": "function", "function": {...}}`.

    They may be a list or a string of JSON that holds one, wrapped or bare.

    Raises:
        BadRowError: they are something else.
    """
    if raw.value.keys().isdisjoint(_KEYS_OF_TOOLS):
        return ()
    key = next((key for key in _KEYS_OF_TOOLS if not is_blank(raw.value.get(key))), None)
    if key is None:
        return ()
    tools = _unpacked(raw, key, raw.value[key])
    if not isinstance(tools, list):
        refuse(
            raw,
            "BAD_TOOLS",
            f"{key} must be a list of tools, or a string of JSON with one, found {type_in_words(tools)}",
        )
    return tuple(_tool(raw, f"{key}[{number}]", tool) for number, tool in enumerate(tools))


def _tool(raw: RawRow, name: str, tool: Any) -> Mapping[str, Any]:
    tool = _unpacked(raw, name, tool)
    if not isinstance(tool, dict):
        refuse(raw, "BAD_TOOLS", f"{name} must be an object that describes a function, found {type_in_words(tool)}")
    fault = fault_in(tool)
    if fault is not None:
        refuse(raw, "BAD_TOOLS", f"{name} cannot be used: {fault}")
    if tool.get("type") not in (None, "function"):
        refuse(raw, "BAD_TOOLS", f"{name} has the type {tool['type']!r}; allowed is 'function'")
    function = tool.get("function")
    if not isinstance(function, dict):
        function = {key: value for key, value in tool.items() if key != "type"}
    if not isinstance(function.get("name"), str) or is_blank(function["name"]):
        refuse(raw, "BAD_TOOLS", f"{name} has no name")
    return {**(tool if "function" in tool else {}), "type": "function", "function": function}


def _unpacked(raw: RawRow, name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parsed_json(value)
    except ValueError as error:
        refuse(raw, "BAD_TOOLS", f"{name} is a string that is not JSON: {error}")


def tool_calls(raw: RawRow, number: int, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of one message, from `tool_calls` or the older `function_call`, as such or as a string of JSON.

    Raises:
        BadRowError: a call has no name, or its arguments are no object.
    """
    calls = message.get("tool_calls")
    if is_blank(calls):
        calls = [] if is_blank(message.get("function_call")) else message["function_call"]
    return [_call(raw, number, call) for call in written_calls(raw, number, calls)]


def written_calls(raw: RawRow, number: int, calls: Any) -> list[Any]:
    """A list of calls, from such a list, from one call, or from a string of JSON with either.

    Raises:
        BadRowError: it is a string and not JSON.
    """
    try:
        calls = parsed_json(calls) if isinstance(calls, str) else calls
    except ValueError as error:
        refuse(raw, "BAD_TOOL_ARGUMENTS", f"the tool call is a string that is not JSON: {error}", number)
    return calls if isinstance(calls, list) else [calls]


def _call(raw: RawRow, number: int, call: Any) -> dict[str, Any]:
    function = call.get("function", call) if isinstance(call, dict) else call
    if not isinstance(function, dict):
        what = "the function of a tool call" if isinstance(call, dict) else "a tool call"
        reason = f"{what} must be an object with name and arguments, found {type_in_words(function)}"
        refuse(raw, "BAD_TOOL_CALL", reason, number)
    if is_blank(function.get("name")):
        refuse(raw, "BAD_TOOL_CALL", "a tool call needs the name of its function", number)
    name = checked_text(raw, "the name of a tool call", function["name"], number)
    identity = call.get("id")
    return {
        **({} if is_blank(identity) else {"id": checked_text(raw, "the id of a tool call", identity, number)}),
        "type": "function",
        "function": {"name": name, "arguments": _arguments(raw, number, name, function)},
    }


def _arguments(raw: RawRow, number: int, name: str, function: Mapping[str, Any]) -> dict[str, Any]:
    """An object, whether it was written as one, as a string of JSON, or (in a table) as a list of keys and values."""
    arguments = function.get(first_present(function, "arguments", "parameters") or "arguments")
    if isinstance(arguments, str):
        try:
            arguments = parsed_json(arguments) if arguments.strip() else {}
        except ValueError as error:
            refuse(raw, "BAD_TOOL_ARGUMENTS", f"the arguments of {name!r} are not JSON: {error}", number)
    elif raw.is_columnar:
        arguments = _from_pairs(arguments)
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        reason = f"the arguments of {name!r} must be an object, found {type_in_words(arguments)}"
        refuse(raw, "BAD_TOOL_ARGUMENTS", reason, number)
    fault = fault_in(arguments)
    if fault is not None:
        refuse(raw, "BAD_TOOL_ARGUMENTS", f"the arguments of {name!r} cannot be used: {fault}", number)
    return arguments


def _from_pairs(arguments: Any) -> Any:
    """A map that was exported as a list of [key, value] or of {key, value}."""
    if not isinstance(arguments, list):
        return arguments
    if not arguments:
        return {}
    if all(isinstance(pair, dict) and "key" in pair and pair.keys() <= {"key", "value"} for pair in arguments):
        return {pair["key"]: pair["value"] for pair in arguments if "value" in pair and isinstance(pair["key"], str)}
    if all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in arguments):
        return {key: value for key, value in arguments if value is not None}
    return arguments
