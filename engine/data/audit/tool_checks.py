"""Findings about tools: calls, results, and what is offered."""

from __future__ import annotations

from collections.abc import Iterator

from engine.data.audit.flags import RowFlag, Severity, turn_flag
from engine.data.conversation import Conversation


def tool_flags(conversation: Conversation) -> Iterator[RowFlag]:
    """Calls without a result, results without a call, calls of tools that are not offered."""
    turns = conversation.turns
    offered = {tool["function"].get("name") for tool in conversation.tools if isinstance(tool.get("function"), dict)}
    has_called = False
    for number, turn in enumerate(turns):
        has_called |= bool(turn.tool_calls)
        follower = turns[number + 1].role if number + 1 < len(turns) else None
        if turn.tool_calls and follower not in (None, "tool"):
            message = f"calls a tool, but a turn of the {follower} follows instead of a result"
            yield turn_flag(conversation, "TOOL_CALL_WITHOUT_RESULT", Severity.WARNING, message, number)
        if turn.role == "tool" and not has_called:
            message = "a tool's result without a call before it"
            yield turn_flag(conversation, "TOOL_RESULT_WITHOUT_CALL", Severity.WARNING, message, number)
        for name in (call["function"]["name"] for call in turn.tool_calls):
            if offered and name not in offered:
                message = f"calls {name!r}, which is not among the tools that the row offers"
                yield turn_flag(conversation, "UNKNOWN_TOOL", Severity.WARNING, message, number)
