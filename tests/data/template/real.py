"""The chat templates of real models, as trl ships them, with a byte tokenizer that knows their special tokens."""

from __future__ import annotations

import importlib.resources
import re
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from engine.data.conversation import Conversation, Role, Turn
from tests.data.conftest import byte_tokenizer

FOLDER = Path(str(importlib.resources.files("trl") / "chat_templates"))
NAMES = sorted(path.stem for path in FOLDER.glob("*.jinja"))
WITH_MARKS = [name for name in NAMES if "generation %}" in (FOLDER / f"{name}.jinja").read_text(encoding="utf-8")]

SPECIAL = re.compile(
    r"<\|[^|<>\n']{1,40}\|>|<｜[^｜]{1,40}｜>|<\|[a-z_]{2,20}>|<[a-z_]{2,20}\|>|\[/?INST\]|\[gMASK\]"
    r"|</?(?:bos|eos|s|sop|start_of_turn|end_of_turn|end_of_utterance|start_of_image)>"
)
ORDINARY = re.compile(r"</?(?:think|tool_call|tool_response|tools|arg_key|arg_value)>")

CALL_ID, OTHER_ID = "call00001", "call00002"


@cache
def tokenizer_of(name: str) -> PreTrainedTokenizerFast:
    """Bytes, and the template's special tokens as one token each; think and tool tags are added tokens."""
    source = (FOLDER / f"{name}.jinja").read_text(encoding="utf-8")
    tokenizer = byte_tokenizer(source)
    special = [AddedToken(text, special=True, normalized=False) for text in sorted(set(SPECIAL.findall(source)))]
    tokenizer.backend_tokenizer.add_special_tokens(special)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in sorted(set(ORDINARY.findall(source)))])
    return tokenizer


def turn(role: Role, content: str, **message: Any) -> Turn:
    return Turn(role, {"content": content, **message})


def call(name: str, arguments: dict[str, Any], call_id: str = CALL_ID) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def conversation(*turns: Turn, tools: tuple[dict[str, Any], ...] = ()) -> Conversation:
    return Conversation(0, "real.jsonl", 1, turns, tools)


TOOL = {
    "type": "function",
    "function": {
        "name": "get_rain",
        "description": "Rain of a day.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Where."}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
NESTED = {"city": "São Paulo", "days": 3, "wet": True, "share": 0.5, "more": {"unit": "mm", "of": ["a", "b"]}, "no": {}}

CHATS = {
    "two rounds": conversation(
        turn("user", "First?"), turn("assistant", "The one."), turn("user", "Second?"), turn("assistant", "The other.")
    ),
    "with a system turn": conversation(
        turn("system", "Be brief and kind."), turn("user", "Who?"), turn("assistant", "Nobody at all.")
    ),
    "reasoning under its key": conversation(
        turn("user", "One?"),
        turn("assistant", "It is one.", reasoning_content="counting to one"),
        turn("user", "Two?"),
        turn("assistant", "It is two.", reasoning_content="counting to two"),
    ),
    "reasoning in the text": conversation(
        turn("user", "Two?"), turn("assistant", "<think>\ncounting to two\n</think>\n\nIt is two.")
    ),
    "a call and its result": conversation(
        turn("user", "Rain in Oslo?"),
        turn("assistant", "", tool_calls=[call("get_rain", {"city": "Oslo"})]),
        turn("tool", '{"mm": 4}', name="get_rain", tool_call_id=CALL_ID),
        turn("assistant", "Yes, four."),
        tools=(TOOL,),
    ),
    "a call with nested arguments": conversation(
        turn("user", "Rain?"),
        turn("assistant", "", tool_calls=[call("get_rain", NESTED)]),
        turn("tool", "much", name="get_rain", tool_call_id=CALL_ID),
        turn("assistant", "Much of it."),
        tools=(TOOL,),
    ),
    "two calls after words": conversation(
        turn("user", "Rain here and there?"),
        turn(
            "assistant",
            "I shall look.",
            tool_calls=[call("get_rain", {"city": "Here"}), call("get_rain", {"city": "There"}, OTHER_ID)],
        ),
        turn("tool", "none", name="get_rain", tool_call_id=CALL_ID),
        turn("tool", "some", name="get_rain", tool_call_id=OTHER_ID),
        turn("assistant", "Only there."),
        tools=(TOOL,),
    ),
    "a call at the end": conversation(
        turn("user", "Rain in Oslo?"),
        turn("assistant", "", tool_calls=[call("get_rain", {"city": "Oslo"})]),
        tools=(TOOL,),
    ),
    "words and a call at the end": conversation(
        turn("user", "Rain in Oslo?"),
        turn("assistant", "I shall look.", tool_calls=[call("get_rain", {"city": "Oslo"})]),
        tools=(TOOL,),
    ),
    "reasoning before a call": conversation(
        turn("user", "Rain in Oslo?"),
        turn("assistant", "", reasoning_content="ask the tool", tool_calls=[call("get_rain", {"city": "Oslo"})]),
        turn("tool", "4 mm", name="get_rain", tool_call_id=CALL_ID),
        turn("assistant", "Yes, four.", reasoning_content="read it"),
        tools=(TOOL,),
    ),
}
