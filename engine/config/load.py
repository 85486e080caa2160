"""From a YAML file and flags to a checked config, or to every reason why not at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.config.checks import check_config
from engine.config.collect import Collected, Written, collect
from engine.config.errors import ConfigError, Note, Place, Problem, in_order_of_writing
from engine.config.kinds import kinds
from engine.config.nodes import Mapping as WrittenMapping
from engine.config.nodes import Node
from engine.config.nodes import Sequence as WrittenList
from engine.config.not_yet import is_available, not_available
from engine.config.overrides import read_overrides
from engine.config.paths import problem_with_file, resolve
from engine.config.schema import SECTIONS, Config, Source
from engine.config.values import Reading, RefusedValueError
from engine.config.yaml_source import BYTE_ORDER_MARK, Document, parse_document, read_yaml

_REQUIRED = "model.name_or_path"
_RECIPES_FOLDER = "configs"
_RUN_FOLDER = re.compile(r"\d{8}-\d{6}-(?P<name>.+)")
_CONFIG_OF_A_RUN = "config.yaml"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A checked config, what there is to know about it, and where it came from.

    `paths_as_written` has, by key, the values whose paths the config holds in full.
    """

    config: Config
    notes: tuple[str, ...]
    path: Path
    name: str
    paths_as_written: Mapping[str, object] = field(default_factory=dict)


def load_config(path: str | Path, overrides: Sequence[str] = (), *, check_files: bool = True) -> Loaded:
    """Loads the config at `path`, with flags such as `["--train.epochs", "2"]` over it.

    `check_files=False` leaves out whether data and folders exist: for looking at a config away from its files.
    Raises ConfigError with every problem of file and flags, in the order of writing.
    """
    return _load(read_yaml(Path(path)), Path(path), overrides, check_files)


def load_text(text: str, path: str | Path, overrides: Sequence[str] = ()) -> Loaded:
    """Loads the text of a config as if it stood in the file `path`, without a look at the files that it names.

    Raises ConfigError like `load_config`.
    """
    document = parse_document(text.removeprefix(BYTE_ORDER_MARK), str(path))
    return _load(document, Path(path), overrides, check_files=False)


def _load(document: Document, path: Path, overrides: Sequence[str], check_files: bool) -> Loaded:
    flags = read_overrides(overrides)
    collected = collect(document.root, flags, path.absolute().parent)
    values = _read_all(collected, check_files)
    config = _build(values)
    problems, notes = check_config(config, values.refused)
    problems = [*document.problems, *collected.problems, *values.problems, *problems, *flags.problems]
    if problems:
        problems = [problem.at(problem.place or _place_of(problem.key, collected, path)) for problem in problems]
        raise ConfigError(in_order_of_writing(problems))
    notes = [note.at(_place_of(note.key, collected, path)) for note in notes]
    notes += [*collected.notes, *values.notes, *flags.notes]
    told = tuple(str(note) for note in in_order_of_writing(notes))
    return Loaded(config, told, path.absolute(), config_name(path), values.paths_as_written)


def config_name(path: str | Path) -> str:
    """The name of a config: its path below the nearest `configs` folder without suffix, else its stem.

    `configs/qwen35_4b/a100_40gb.yaml` is `qwen35_4b/a100_40gb`; the config in a run's folder has the run's name.
    """
    path = Path(path).absolute()
    run = _RUN_FOLDER.fullmatch(path.parent.name)
    if run and is_config_of_a_run(path):
        return run["name"]
    parents = path.parent.parts
    if _RECIPES_FOLDER not in parents:
        return path.stem
    nearest = len(parents) - 1 - parents[::-1].index(_RECIPES_FOLDER)
    return "/".join((*parents[nearest + 1 :], path.stem))


def is_config_of_a_run(path: Path) -> bool:
    """Whether this is the config that a run wrote into its own folder."""
    return path.name == _CONFIG_OF_A_RUN and _RUN_FOLDER.fullmatch(path.absolute().parent.name) is not None


@dataclass(slots=True)
class _Values:
    """The values that could be read, by full key, and what was said about the others."""

    read: dict[str, object] = field(default_factory=dict)
    paths_as_written: dict[str, object] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def refuse(self, key: str, problem: Problem) -> None:
        """Keeps the key's default in place of what was written, and the reason."""
        self.refused.add(key)
        self.problems.append(problem)


def _read_all(collected: Collected, check_files: bool) -> _Values:
    values = _Values()
    for key, written in collected.values.items():
        reading = Reading(key)
        try:
            value = reading.read(kinds()[key], written.node)
        except RefusedValueError as refusal:
            for problem in refusal.problems:
                values.refuse(key, _as_not_available(problem))
            continue
        values.notes += reading.notes
        values.read[key], problems = _resolve_paths(key, value, written, check_files)
        if values.read[key] != value:
            values.paths_as_written[key] = value
        for problem in problems:
            values.refuse(key, problem)
    if _REQUIRED not in collected.values:
        allowed = "a hub name such as Qwen/Qwen3.5-4B, or a local folder"
        values.refuse(_REQUIRED, Problem(_REQUIRED, "this key is required", allowed=allowed))
    return values


def _as_not_available(problem: Problem) -> Problem:
    """A value that cannot be read, of a key that is not available at all, is refused for that reason."""
    if is_available(problem.key):
        return problem
    return not_available(problem.key, problem.found).at(problem.place)


def _resolve_paths(key: str, value: object, written: Written, check_files: bool) -> tuple[object, list[Problem]]:
    """The value with its paths made absolute, and what is wrong with the files behind them."""
    if isinstance(value, tuple) and any(isinstance(item, Source) for item in value):
        return _resolve_sources(key, value, written, check_files)
    if not isinstance(value, str | tuple):
        return value, []
    items = value if isinstance(value, tuple) else (value,)
    nodes: tuple[Node, ...] = written.node.items if isinstance(written.node, WrittenList) else (written.node,)
    resolved: list[object] = []
    problems: list[Problem] = []
    for item, node in zip(items, nodes, strict=False):
        path = resolve(key, item, written.base) if isinstance(item, str) else item
        resolved.append(path)
        if check_files and isinstance(item, str) and (problem := problem_with_file(key, item, str(path))):
            problems.append(problem.at(node.place))
    return (tuple(resolved) if isinstance(value, tuple) else resolved[0]), problems


def _resolve_sources(
    key: str, sources: tuple[Source, ...], written: Written, check_files: bool
) -> tuple[object, list[Problem]]:
    nodes = written.node.items if isinstance(written.node, WrittenList) else (written.node,)
    resolved: list[Source] = []
    problems: list[Problem] = []
    for source, node in zip(sources, nodes, strict=True):
        path = resolve(key, source.path, written.base)
        resolved.append(source.model_copy(update={"path": path}))
        if check_files and (problem := problem_with_file(key, source.path, path)):
            problems.append(problem.at(_place_of_path(node)))
    return tuple(resolved), problems


def _place_of_path(node: Node) -> Place:
    """Where the path of a source stands: a text alone is the path."""
    entries = node.entries if isinstance(node, WrittenMapping) else ()
    return next((entry.value.place for entry in entries if entry.key == "path"), node.place)


def _build(values: _Values) -> Config:
    """The config of the values that could be read; a refused one is at its default, for the checks of the others."""
    sections: dict[str, dict[str, object]] = {section: {} for section in SECTIONS}
    readable = {key: value for key, value in values.read.items() if key not in values.refused}
    if _REQUIRED in values.refused:
        readable[_REQUIRED] = "unknown"
    for key, value in readable.items():
        section, _, name = key.partition(".")
        sections[section][name] = value
    return Config.model_validate({name: SECTIONS[name](**given) for name, given in sections.items()})


def _place_of(key: str, collected: Collected, path: Path) -> Place:
    return collected.place_of(key) or Place(str(path))
