"""Every command in the README exists as written there: its subcommand, flags, overrides and config."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.config import load_config
from tests.setup.conftest import REPOSITORY

README = REPOSITORY / "README.md"
QUICKSTART = REPOSITORY / "configs" / "quickstart.yaml"
OPERATORS = {"|", "||", "&&", ";", "&", ">", ">>", "<"}


@dataclass(frozen=True)
class Command:
    """One command of ours: `program` is run.sh, test.sh, pgs-tui or pgs."""

    text: str
    program: str
    arguments: tuple[str, ...]

    @property
    def overrides(self) -> list[str]:
        """The --section.field arguments with their values, as the command line gives them."""
        found: list[str] = []
        for place, argument in enumerate(self.arguments):
            if re.match(r"--[a-z]\w*\.\w+", argument):
                found += [argument] if "=" in argument else list(self.arguments[place : place + 2])
        return found

    @property
    def flags(self) -> list[str]:
        """Ordinary flags, without their values."""
        return [a.split("=")[0] for a in self.arguments if a.startswith("-") and "." not in a.split("=")[0]]

    @property
    def subcommand(self) -> str | None:
        first = self.arguments[0] if self.arguments else ""
        return first if re.fullmatch(r"[a-z][a-z-]*", first) else None

    @property
    def configs(self) -> list[str]:
        return [a for a in self.arguments if a.startswith(("configs/", "./configs/"))]


def _commands() -> list[Command]:
    blocks = re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", README.read_text(), flags=re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [command for line in lines for command in _commands_in(line)]


def _commands_in(line: str) -> list[Command]:
    lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if word in OPERATORS:
            found.append([])
        else:
            found[-1].append(word)
    return [command for words in found if (command := _command(line, words))]


def _command(line: str, words: list[str]) -> Command | None:
    while words and (re.match(r"[A-Z_]+=", words[0]) or words[0] in {"nohup", "exec", "time"}):
        words = words[1:]
    if words[:3] == ["python", "-m", "engine"]:
        words = ["pgs", *words[3:]]
    if not words or Path(words[0]).name not in {"run.sh", "test.sh", "pgs-tui", "pgs"}:
        return None
    return Command(line, Path(words[0]).name, tuple(words[1:]))


@functools.cache
def _help(program: str, subcommand: str | None) -> str:
    command = [Path(sys.executable).with_name(program), *([subcommand] if subcommand else []), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{program} {subcommand or ''}: {done.stderr}"
    return done.stdout


COMMANDS = _commands()


def test_the_readme_shows_the_two_commands_in_under_200_lines() -> None:
    assert {"run.sh", "test.sh"} <= {command.program for command in COMMANDS}
    assert len(README.read_text().splitlines()) < 200


def test_every_code_block_says_what_it_is() -> None:
    fences = [line for line in README.read_text().splitlines() if line.startswith("```")]
    assert all(fence != "```" for fence in fences[::2]), "a block without a language is not checked"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.text.strip())
def test_the_command_is_real(command: Command) -> None:
    for config in command.configs:
        assert (REPOSITORY / config).is_file(), config
    if command.overrides:
        config = REPOSITORY / command.configs[0] if command.configs else QUICKSTART
        load_config(config, command.overrides)
    if command.program == "test.sh":
        return
    program = "pgs-tui" if command.program == "run.sh" else command.program
    text = _help(program, command.subcommand)
    assert command.subcommand is None or command.subcommand in text
    for flag in command.flags:
        assert re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text), f"{flag} is not in the help"
