"""Reads a YAML file into nodes that keep the written text and its place.

PyYAML supplies the parser; what a plain word means is decided later, key by key, because only the schema knows whether
`off` is a choice or a boolean.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from engine.config.errors import ConfigError, Place, Problem
from engine.config.nodes import Entry, Mapping, Node, Scalar, Sequence

_PLAIN = "plain"
_TEXT = "text"
_COLLECTION = "collection"
_KNOWN_TAGS = frozenset({_PLAIN, _TEXT, _COLLECTION})
_STRING_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_MERGE_KEY = "<<"
_DATASET_SUFFIXES = (".jsonl", ".ndjson", ".parquet", ".arrow")
LARGEST_CONFIG = 2**20
MOST_VALUES = 20_000
"""Aliases of aliases can stand for more values than there is memory."""
BYTE_ORDER_MARK = "\ufeff"

_ADVICE_FOR_SYNTAX = {
    "mapping values are not allowed here": "check the indentation; a text with a colon and a space needs quotes",
    "could not find expected ':'": "each line needs the form `key: value`",
    "expected <block end>": "check the indentation: keys of one section start in the same column",
    "expected ',' or": "close the bracket, and put commas between the items",
    "found unexpected end of stream": "close the quotes",
    "cannot start any token": "put the text in quotes",
    "found another document": "delete the `---` or what follows it",
    "undefined alias": "define the anchor above its use, or put the text in quotes",
}
# The parser notices these at the end of the file; what matters is where the open thing starts.
_LEFT_OPEN = ("could not find expected ':'", "found unexpected end of stream", "expected ',' or")


class NodeParser(Reader, Scanner, Parser, Composer, BaseResolver):
    """PyYAML without any opinion on plain words: it only marks which scalars stood in quotes."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: object) -> str:
        if kind is not yaml.ScalarNode:
            return _COLLECTION
        return _PLAIN if isinstance(implicit, tuple) and implicit[0] else _TEXT


@dataclass(frozen=True, slots=True)
class Document:
    """A read file: its top mapping, and what is wrong with its form (a key that stands twice)."""

    root: Mapping
    problems: tuple[Problem, ...]


def read_yaml(path: Path) -> Document:
    """Reads a config file.

    Raises ConfigError, with one sentence, for a file that is missing, unreadable, empty, not YAML, or no config.
    """
    return parse_document(read_text(path).removeprefix(BYTE_ORDER_MARK), str(path))


def parse_document(text: str, source: str) -> Document:
    """Reads the text of a config; `source` is what the places call it."""
    if not text.strip():
        raise ConfigError([Problem("", "the config is empty", place=Place(source))])
    if _is_table_of_rows(text):
        raise _dataset_error(Path(source))
    converter = _Converter(source, text.splitlines())
    node = _parse(text, source)
    if node is None:
        raise ConfigError([Problem("", "the config is empty: it holds only comments", place=Place(source))])
    if not isinstance(node, yaml.MappingNode):
        found = "a list" if isinstance(node, yaml.SequenceNode) else "a single value"
        reason = f"the top level must be a mapping, found {found}"
        problem = Problem("", reason, found=found, allowed="sections such as `model:` and `train:`")
        raise ConfigError([problem.at(converter.place_of(node))])
    root = converter.convert(node, "")
    assert isinstance(root, Mapping)
    return Document(root, tuple(converter.problems))


def parse_value(text: str, source: str) -> Node:
    """Reads one value written in YAML (the value of a flag); raises ConfigError for broken syntax."""
    node = _parse(text, source)
    place = Place(source)
    if node is None:
        return Scalar("", quoted=False, place=place)
    converter = _Converter(source, [], fixed_place=place)
    value = converter.convert(node, "")
    if converter.problems:
        raise ConfigError(converter.problems)
    return value


def read_text(path: Path) -> str:
    """The text of a config file as it stands there, with its line ends and a byte-order mark.

    Raises ConfigError, with one sentence, for a file that is missing, unreadable or no config.
    """
    place = Place(str(path))
    try:
        size = path.stat().st_size
        if path.is_dir():
            advice = "name a YAML file inside it"
            raise ConfigError([Problem("", "this is a folder, not a config file", advice=advice, place=place)])
        if path.suffix.lower() in _DATASET_SUFFIXES:
            raise _dataset_error(path)
        if size > LARGEST_CONFIG:
            raise ConfigError([Problem("", f"too large for a config: {size / 2**20:.0f} MiB", place=place)])
        return path.read_bytes().decode()
    except FileNotFoundError:
        raise ConfigError([Problem("", f"no such file: {path}")]) from None
    except UnicodeDecodeError:
        problem = Problem("", "this is not a text in UTF-8", advice="save the config as plain text in UTF-8")
        raise ConfigError([problem.at(place)]) from None
    except OSError as error:
        raise ConfigError([Problem("", f"cannot be read: {error.strerror}", place=place)]) from None


def _dataset_error(path: Path) -> ConfigError:
    reason = "this looks like a dataset, not a config"
    advice = "name it under data.dataset in a YAML file, and start with that file"
    return ConfigError([Problem("", reason, advice=advice, place=Place(str(path)))])


def _is_table_of_rows(text: str) -> bool:
    """Whether the first line is a whole JSON object that is not a config itself."""
    first_line = text.lstrip().partition("\n")[0].strip()
    if not first_line.startswith("{"):
        return False
    try:
        row = json.loads(first_line)
    except ValueError:
        return False
    return isinstance(row, dict) and "model" not in row


def _parse(text: str, source: str) -> yaml.Node | None:
    try:
        return NodeParser(text).get_single_node()
    except (yaml.MarkedYAMLError, ReaderError) as error:
        raise ConfigError([_explain_syntax(error, text, source)]) from None
    except RecursionError:
        raise ConfigError([Problem("", "nested too deeply for a config", place=Place(source))]) from None


def _explain_syntax(error: yaml.MarkedYAMLError | ReaderError, text: str, source: str) -> Problem:
    lines = text.splitlines()
    advice: str | None
    if isinstance(error, ReaderError):
        before = text[: error.position]
        line, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
        reason, advice = "a character that cannot be shown stands here", "delete it"
    else:
        is_open = any(words in (error.problem or "") for words in _LEFT_OPEN)
        mark = error.context_mark if is_open else error.problem_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        reason = f"not valid YAML: {error.problem or error.context}"
        advice = next((way for words, way in _ADVICE_FOR_SYNTAX.items() if words in reason), None)
    if tabs := [number for number, content in enumerate(lines, start=1) if _is_indented_by_tab(content)]:
        reason = "a tab stands where YAML allows only spaces"
        where = ", ".join(str(number) for number in tabs)
        advice = f"indent with spaces (line {where})" if len(tabs) == 1 else f"indent with spaces (lines {where})"
        line, column = tabs[0] - 1, lines[tabs[0] - 1].index("\t")
    elif "expected '<document start>'" in reason:
        reason = "not valid YAML: the text goes on after its end"
    elif "found another document" in reason:
        reason = "a second document starts here, and a config is one document"
    elif "\\t" in reason:
        reason, advice = "a tab stands where YAML allows only spaces", "put a space between key and value"
    excerpt = lines[line] if line < len(lines) else ""
    return Problem("", reason, advice=advice, place=Place(source, line + 1, column + 1, excerpt))


def _is_indented_by_tab(line: str) -> bool:
    indentation = line[: len(line) - len(line.lstrip())]
    return "\t" in indentation and bool(line.strip()) and not line.lstrip().startswith("#")


class _Converter:
    """Turns PyYAML's nodes into ours and collects what is wrong with their form."""

    def __init__(self, source: str, lines: list[str], fixed_place: Place | None = None) -> None:
        self._source = source
        self._lines = lines
        self._fixed_place = fixed_place
        self._open: set[int] = set()
        self._values = 0
        self.problems: list[Problem] = []

    def place_of(self, node: yaml.Node) -> Place:
        """Where the node starts; it is marked up to its end, or to the end of its first line."""
        if self._fixed_place:
            return self._fixed_place
        start, end = node.start_mark, node.end_mark
        excerpt = self._lines[start.line] if start.line < len(self._lines) else ""
        width = end.column - start.column if end.line == start.line else len(excerpt) - start.column
        return Place(self._source, start.line + 1, start.column + 1, excerpt, max(width, 1))

    def convert(self, node: yaml.Node, key: str) -> Node:
        """The node as one of ours; `key` is its path, for messages."""
        place = self.place_of(node)
        self._values += 1
        if self._values > MOST_VALUES:
            reason = f"the file comes to more than {MOST_VALUES:,} values"
            raise ConfigError([Problem("", reason, advice="write the aliases out", place=place)])
        if id(node) in self._open:
            self.problems.append(Problem(key, "this anchor contains itself", advice="write the value out", place=place))
            return Scalar("", quoted=False, place=place)
        if node.tag not in _KNOWN_TAGS | _STRING_TAGS:
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            advice = "delete the tag, or put the text in quotes"
            problem = Problem(key, f"the tag {tag} is not allowed in a config", found=tag, advice=advice, place=place)
            self.problems.append(problem)
        if isinstance(node, yaml.ScalarNode):
            return Scalar(node.value, quoted=node.tag != _PLAIN, place=place)
        self._open.add(id(node))
        converted: Node
        if isinstance(node, yaml.SequenceNode):
            converted = Sequence(tuple(self.convert(item, key) for item in node.value), place)
        else:
            assert isinstance(node, yaml.MappingNode)
            converted = Mapping(tuple(self._entries(node, key)), place)
        self._open.discard(id(node))
        return converted

    def _entries(self, node: yaml.MappingNode, key: str) -> list[Entry]:
        written: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            place = self.place_of(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem(key, "a key must be a single word", place=place))
                continue
            name = key_node.value
            path = f"{key}.{name}" if key else name
            value = self.convert(value_node, path)
            if name == _MERGE_KEY and key_node.tag == _PLAIN:
                for entry in self._merged_entries(value, path):
                    merged.setdefault(entry.key, entry)
            elif name in written:
                self.problems.append(_duplicate(path, written[name].place, place))
            else:
                written[name] = Entry(name, place, value)
        return [*written.values(), *(entry for name, entry in merged.items() if name not in written)]

    def _merged_entries(self, value: Node, path: str) -> list[Entry]:
        mappings = value.items if isinstance(value, Sequence) else (value,)
        entries: list[Entry] = []
        for mapping in mappings:
            if isinstance(mapping, Mapping):
                entries += mapping.entries
            else:
                self.problems.append(Problem(path, "only a mapping can be merged with <<", place=mapping.place))
        return entries


def _duplicate(path: str, first: Place, second: Place) -> Problem:
    reason = f"this key stands twice, in line {first.line} and in line {second.line}"
    return Problem(path, reason, advice="delete one of the two", place=second)
