"""Reads what the standard library says about itself: one `Entry` for each documented public name."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

SHORTEST_ANSWER = 45  # characters; a documentation text below that says little more than the name does
LONGEST_ANSWER = 420  # characters
METHOD_SHARE = 0.5  # methods outnumber all else, so only this share of them is asked about


@dataclass(frozen=True)
class Entry:
    """One documented thing of the standard library."""

    name: str  # as a user writes it: "textwrap.fill"
    kind: str  # module, class, function or method
    module: str
    summary: str  # the documentation's first sentence or paragraph, on one line
    text: str  # the documentation's leading paragraphs, at most LONGEST_ANSWER
    call: str | None  # "textwrap.fill(text, width=70, **kwargs)"


def read_entries(module_names: Iterable[str]) -> Iterator[Entry]:
    """Every documented public name of the modules, in order, each documentation text once."""
    seen: set[str] = set()
    for module_name in module_names:
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            continue  # not every platform has curses, termios or resource
        for name, kind, value in walk(module):
            entry = make_entry(name, kind, importable_name(module), value)
            if entry is not None and entry.text not in seen and is_asked_about(entry):
                seen.add(entry.text)
                yield entry


def walk(module: ModuleType) -> Iterator[tuple[str, str, Any]]:
    """(qualified name, kind, object) of a module, its classes and functions, and its classes' methods."""
    prefix = "" if module.__name__ == "builtins" else f"{importable_name(module)}."
    yield importable_name(module), "module", module
    for name, value in sorted(vars(module).items()):
        if not belongs_to(module, name, value):
            continue
        if inspect.isclass(value):
            yield prefix + name, "class", value
            for method_name, method in sorted(vars(value).items()):
                if not method_name.startswith("_") and inspect.isroutine(method):
                    yield f"{prefix}{name}.{method_name}", "method", getattr(value, method_name)
        elif inspect.isroutine(value):
            yield prefix + name, "function", value


def is_asked_about(entry: Entry) -> bool:
    return entry.kind != "method" or share_of(f"method {entry.name}") < METHOD_SHARE


def importable_name(module: ModuleType) -> str:
    return "os.path" if module.__name__ in ("posixpath", "ntpath") else module.__name__


def belongs_to(module: ModuleType, name: str, value: Any) -> bool:
    if name.startswith("_") or inspect.ismodule(value):
        return False
    exported = getattr(module, "__all__", None)
    if exported is not None:
        return name in exported
    return getattr(value, "__module__", None) == module.__name__


def make_entry(name: str, kind: str, module: str, value: Any) -> Entry | None:
    documentation = inspect.getdoc(value)
    if not documentation:
        return None
    paragraphs = prose_paragraphs(documentation, name.rsplit(".", 1)[-1])
    if not paragraphs:
        return None
    summary = first_sentence(paragraphs[0])
    text = leading_paragraphs(paragraphs)
    if len(summary) > 200 or len(text) < SHORTEST_ANSWER:
        return None
    call = None if kind == "module" else call_of(name, value)
    return Entry(name, kind, module, summary, text, call)


def prose_paragraphs(documentation: str, short_name: str) -> list[str]:
    """The text's paragraphs of prose, one line each; examples, tables, lists and signature lines are left out."""
    paragraphs: list[str] = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(documentation)):
        lines = [line.rstrip() for line in block.splitlines()]
        if lines and re.match(rf"(\w+\.)*{re.escape(short_name)}\s*\(", lines[0]):
            lines = lines[1:]  # C functions repeat their signature in the first line
        if not lines or not is_prose(lines):
            if paragraphs:
                break  # what follows usually explains the block left out
            continue
        paragraphs.append(" ".join(" ".join(lines).split()))
    if paragraphs:  # "heapq.py - Heap queue algorithm" says its own name first
        paragraphs[0] = re.sub(rf"^{re.escape(short_name)}(\.py)?\s*(:|-+)\s+", "", paragraphs[0])
    return paragraphs


def is_prose(lines: list[str]) -> bool:
    text = "\n".join(lines)
    looks_like_code = re.search(r">>>|^\s*[-=*+#|]+\s|[-=~^]{3,}|::|\b0x[0-9a-f]{6,}|\$Id", text, re.MULTILINE)
    return not looks_like_code and not any(line.startswith((" ", "\t", "@", ":")) for line in lines)


def first_sentence(paragraph: str) -> str:
    match = re.match(r"(.{12,}?[.!?])(?=\s+[A-Z`'\"(]|$)", paragraph)
    return with_full_stop(match.group(1) if match else paragraph)


def with_full_stop(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else sentence.rstrip(" :;,-") + "."


def leading_paragraphs(paragraphs: list[str]) -> str:
    """As many whole paragraphs as fit, else as many whole sentences of the first one."""
    taken: list[str] = []
    for paragraph in paragraphs:
        if taken and paragraph.endswith(":"):
            break  # it introduces something that was left out
        if len("\n\n".join([*taken, paragraph])) > LONGEST_ANSWER:
            break
        taken.append(paragraph)
    if taken:
        return with_full_stop("\n\n".join(taken))
    cut = paragraphs[0][:LONGEST_ANSWER]
    return cut[: cut.rfind(". ") + 1]


def call_of(name: str, value: Any) -> str | None:
    """The call as text; None where Python does not know it or where it would not help a reader."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    text = f"{name}{signature.replace(parameters=parameters, return_annotation=signature.empty)}"
    is_telling = not text.endswith(("(*args, **kwargs)", "(*args, **kwds)", "(*args)"))
    return text if is_telling and "<" not in text and len(text) <= 200 else None


def share_of(name: str) -> float:
    """A number in [0, 1) that depends on the name only."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
