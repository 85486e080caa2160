"""One line of `control.jsonl`: what a person asks of a running engine, written and read by the same rules.

    {"v": 1, "id": "9f0c3a7d2b1e", "t": 1767225600.0, "by": "lena@box", "cmd": "scale_lr", "args": {"factor": 0.5}}

Anybody's bytes may stand in the file, so reading is strict: exactly these fields, nothing guessed, nothing converted.
"""

from __future__ import annotations

import getpass
import json
import math
import os
import re
import socket
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, get_args

VERSION = 1
MAX_LINE_BYTES = 4096
MAX_BY = 80
"""Characters of `by`."""
LARGEST_FACTOR = 10.0
CommandName = Literal["stop", "checkpoint", "evaluate", "pause", "resume", "scale_lr"]
COMMANDS: tuple[CommandName, ...] = get_args(CommandName)
ARGUMENTS: Mapping[CommandName, tuple[str, ...]] = {"scale_lr": ("factor",)}
"""What a command needs besides its name; the others need nothing."""
_FIELDS = ("v", "id", "t", "by", "cmd", "args")
_ID = re.compile(r"[0-9a-f]{12,32}")


@dataclass(frozen=True, slots=True)
class Command:
    """A request that may be obeyed. `t` is the sender's clock, unix seconds, which nothing is decided by."""

    id: str
    t: float
    by: str
    cmd: CommandName
    args: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that is no command: `why` says so to a person; `id` is the line's own where it has one, else empty."""

    id: str
    why: str
    cmd: str = ""
    by: str = ""


class _RefusedError(Exception):
    """Why a line is no command."""


def new_command(cmd: CommandName, **args: float) -> Command:
    """What this user asks of a run now, with an id of its own, under which the engine's `ack` comes.

    Raises ValueError where `args` are not those of the command.
    """
    try:
        _check_args(cmd, args)
    except _RefusedError as refusal:
        raise ValueError(str(refusal)) from None
    return Command(uuid.uuid4().hex[:12], time.time(), who(), cmd, args)


def who() -> str:
    """`user@host` of this process, as it stands in `by`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    shown = "".join(letter for letter in f"{user}@{socket.gethostname()}" if letter.isprintable())
    return shown[:MAX_BY]


def encode_command(command: Command) -> str:
    """The command as one line of ASCII, without its newline."""
    record = {"v": VERSION, "id": command.id, "t": command.t, "by": command.by, "cmd": command.cmd}
    return json.dumps({**record, "args": dict(command.args)}, allow_nan=False)


def parse_command(line: bytes) -> Command | Refused:
    """The command that a line (without its newline) holds, or why it is none. Never raises."""
    if len(line) > MAX_LINE_BYTES:
        return Refused("", f"a command has at most {MAX_LINE_BYTES:,} bytes, this line has {len(line):,}")
    try:
        record = _object_of(line)
    except _RefusedError as refusal:
        return Refused("", str(refusal))
    try:
        return _command_of(record)
    except _RefusedError as refusal:
        return Refused(_known_id(record), str(refusal), _known_cmd(record), _known_by(record))


def _object_of(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode("utf-8"), object_pairs_hook=_object_once, parse_constant=_no_such_number)
    except (ValueError, RecursionError):  # of a line that is no JSON, or one of a thousand brackets
        raise _RefusedError(f"not a command: {line[:80].decode(errors='replace')!r}") from None
    if not isinstance(record, dict):
        raise _RefusedError(f"not a command but {type(record).__name__}: {line[:80].decode(errors='replace')!r}")
    return record


def _object_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _RefusedError("a field stands twice in the command")
    return record


def _no_such_number(text: str) -> NoReturn:
    raise _RefusedError(f"{text} is no number of JSON")


def _command_of(record: dict[str, Any]) -> Command:
    if type(record.get("v")) is not int or record["v"] != VERSION:
        raise _RefusedError(f"v: this engine reads commands of version {VERSION}, found {_shown(record.get('v'))}")
    missing = [name for name in _FIELDS if name not in record]
    unknown = [name for name in record if name not in _FIELDS]
    if missing or unknown:
        words = f"{', '.join(missing)} is missing" if missing else f"{_shown(unknown[0])} is not one of its fields"
        raise _RefusedError(f"a command has the fields {', '.join(_FIELDS)}: {words}")
    if not _known_id(record):
        raise _RefusedError(f"id: expected 12 to 32 hexadecimal digits, found {_shown(record['id'])}")
    if not _known_by(record):
        raise _RefusedError(f"by: expected 1 to {MAX_BY} visible characters, found {_shown(record['by'])}")
    if (moment := _number(record["t"])) is None:
        raise _RefusedError(f"t: expected unix seconds, found {_shown(record['t'])}")
    if not (cmd := _known_cmd(record)):
        raise _RefusedError(f"{_shown(record['cmd'])} is not available; possible are {', '.join(COMMANDS)}")
    return Command(record["id"], moment, record["by"], cmd, _check_args(cmd, record["args"]))


def _check_args(cmd: CommandName, args: object) -> dict[str, float]:
    """The arguments as numbers, if they are just those of this command. Raises _RefusedError."""
    wanted = ARGUMENTS.get(cmd, ())
    if not isinstance(args, dict) or sorted(args) != sorted(wanted):
        raise _RefusedError(f"args: {cmd} takes {' and '.join(wanted) or 'none'}, found {_shown(args)}")
    found = {name: _number(args[name]) for name in wanted}
    for name, number in found.items():
        if number is None or not 0 < number <= LARGEST_FACTOR:
            raise _RefusedError(
                f"{name}: expected more than 0 and at most {LARGEST_FACTOR:g}, found {_shown(args[name])}"
            )
    return {name: number for name, number in found.items() if number is not None}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None
    return number if math.isfinite(number) else None


def _known_id(record: dict[str, Any]) -> str:
    value = record.get("id")
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""


def _known_by(record: dict[str, Any]) -> str:
    value = record.get("by")
    return value if isinstance(value, str) and 0 < len(value) <= MAX_BY and value.isprintable() else ""


def _known_cmd(record: dict[str, Any]) -> CommandName | Literal[""]:
    value = record.get("cmd")
    return next((name for name in COMMANDS if name == value), "")


def _shown(value: object) -> str:
    """Short, and without anything that would steer a terminal."""
    text = ascii(value)
    return text if len(text) <= MAX_BY else f"{text[: MAX_BY - 3]}..."
