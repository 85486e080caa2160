"""Sets of chats to measure with, made out of documentation texts of Python's library: the same ones each time."""

from __future__ import annotations

import importlib
import inspect
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TOPICS: tuple[str, ...] = ("argparse", "asyncio", "collections", "datetime", "decimal", "email.message", "functools")
TOPICS += ("http.client",)
TOPICS += ("inspect", "itertools", "json", "logging", "os", "pathlib", "random", "re", "shutil", "socket", "sqlite3")
TOPICS += ("statistics", "string", "subprocess", "tarfile", "threading", "typing", "unittest.mock", "zipfile")

Message = dict[str, Any]


def write_typical_chats(path: Path, rows: int) -> None:
    """Chats of 2 to 8 turns and some 400 to 1,500 tokens; what they say are documentation texts of Python's library."""
    draw, say = _speaker()

    def row() -> dict[str, Any]:
        pairs = draw.randint(1, 4)
        length = draw.randint(1_600, 6_000) // pairs  # characters, about four a token
        return {"messages": [message for _ in range(pairs) for message in _pair(*say(length))]}

    _write(path, rows, row)


def write_reasoning_chats(path: Path, rows: int) -> None:
    """Chats of one to three questions, of which each answer begins with its reasoning in think tags."""
    draw, say = _speaker()

    def row() -> dict[str, Any]:
        messages: list[Message] = []
        for _ in range(draw.randint(1, 3)):
            question, answer = say(draw.randint(300, 1_200))
            thought = say(draw.randint(600, 2_400))[1]
            messages += _pair(question, f"<think>\n{thought}\n</think>\n\n{answer}")
        return {"messages": messages}

    _write(path, rows, row)


def write_tool_chats(path: Path, rows: int) -> None:
    """Chats with two to five tools on offer and one to three calls, each with its result and a word about it."""
    draw, say = _speaker()

    def row() -> dict[str, Any]:
        tools = [_tool(draw.choice(TOPICS), say(200)[1]) for _ in range(draw.randint(2, 5))]
        messages: list[Message] = [{"role": "system", "content": say(200)[1]}]
        for _ in range(draw.randint(1, 3)):
            name = draw.choice(tools)["function"]["name"]
            question, answer = say(draw.randint(200, 800))
            arguments = {"query": question, "limit": draw.randint(1, 50)}
            call = {"type": "function", "function": {"name": name, "arguments": arguments}}
            messages.append({"role": "user", "content": question})
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            messages.append({"role": "tool", "content": say(400)[1]})
            messages.append({"role": "assistant", "content": answer})
        return {"messages": messages, "tools": tools}

    _write(path, rows, row)


def _speaker() -> tuple[random.Random, Callable[[int], tuple[str, str]]]:
    """A source of chance, and a function that gives a question and an answer of so many characters."""
    texts = [text for topic in TOPICS for text in documentation_of(topic)]
    draw = random.Random(0)

    def say(length: int) -> tuple[str, str]:
        name, answer = draw.choice(texts)
        while len(answer) < length:
            answer += "\n\n" + draw.choice(texts)[1]
        return f"What does {name} do? Answer at length, please.", answer[:length]

    return draw, say


def _pair(question: str, answer: str) -> list[Message]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def _tool(name: str, description: str) -> dict[str, Any]:
    properties = {"query": {"type": "string", "description": "what to look for"}, "limit": {"type": "integer"}}
    parameters = {"type": "object", "properties": properties, "required": ["query"]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _write(path: Path, rows: int, row: Callable[[], dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row()) + "\n" for _ in range(rows))


def documentation_of(module_name: str) -> Iterator[tuple[str, str]]:
    """Names and documentation texts of a module, its classes and their methods."""
    module = importlib.import_module(module_name)
    for name, value in vars(module).items():
        for inner, member in [(name, value), *(vars(value).items() if isinstance(value, type) else ())]:
            text = inspect.getdoc(member) if callable(member) else None
            if isinstance(text, str) and len(text) > 80 and not inner.startswith("_"):
                yield f"{module_name}.{inner}", text
