"""What is run on another machine: POSIX `sh`, one program a file, each constant; what it is about comes as words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Program:
    """A program for the far shell. `reads_stdin`: it runs until the channel ends, and nothing can follow it."""

    name: str
    reads_stdin: bool = False

    @property
    def text(self) -> str:
        return text_of(self.name)


@cache
def text_of(name: str) -> str:
    return (files(__name__) / f"{name}.sh").read_text(encoding="utf-8")


SURVEY = Program("survey")
PART = Program("part")
CHECK = Program("check")
FOLLOW = Program("follow", reads_stdin=True)
APPEND = Program("append")
SPIKE = Program("spike")
LIST = Program("list")
