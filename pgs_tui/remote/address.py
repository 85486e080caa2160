"""Where a run on another machine is: `user@host:path`, as scp and rsync write it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_HOST = r"(?:[A-Za-z0-9._][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\])"
_TARGET = re.compile(rf"(?:[A-Za-z0-9._][A-Za-z0-9._+-]*@)?{_HOST}")
_SPLIT = re.compile(r"((?:[^:/\[\]]*@)?(?:\[[^\]]*\]|[^:/\[\]]*)):(.*)", re.DOTALL)


class AddressError(ValueError):
    """What looks like an address on another machine, but cannot be one."""


@dataclass(frozen=True, slots=True)
class Address:
    """A path on another machine. `target` is what `ssh` takes; a relative `path` begins at the home over there."""

    target: str
    path: str

    def __str__(self) -> str:
        return f"{self.target}:{self.path}"

    @property
    def host(self) -> str:
        """The argument for `ssh`, which wants an IPv6 address without its brackets."""
        return self.target.replace("[", "").replace("]", "")

    @property
    def far_path(self) -> str:
        """The path as a program over there takes it: relative to the home, and never like an option."""
        path = self.path
        if path == "~" or path.startswith("~/"):
            path = path[2:].lstrip("/")
        return path if path.startswith("/") else f"./{path}"

    def __truediv__(self, name: str) -> Address:
        return Address(self.target, f"{self.path.rstrip('/')}/{name}" if self.path.strip("/") else f"{self.path}{name}")


def address_of(text: str) -> Address | None:
    """The address that the text is, or None for a path on this machine: one that exists, or has a slash before a colon.

    Raises AddressError for a host or a path that no shell over there should ever see.
    """
    found = _SPLIT.fullmatch(text)
    if found is None or _exists(text):
        return None
    target, path = found.groups()
    if not _TARGET.fullmatch(target):
        raise AddressError(
            f"{text!a}: {target!a} is no host that ssh could be given: it is [user@]host, of letters, digits, "
            "'.', '_' and '-', or an IPv6 address in brackets; other names go into ~/.ssh/config"
        )
    if any(character in path for character in "\0\n\r"):
        raise AddressError(f"{text!a}: a path on another machine cannot hold line ends or NUL")
    if path.startswith("~") and path[1:2] not in ("", "/"):
        raise AddressError(f"{text!a}: another user's home is written out, such as {target}:/home/{path[1:]}")
    return Address(target, path)


def _exists(text: str) -> bool:
    try:
        return os.path.lexists(Path(text).expanduser())
    except (ValueError, RuntimeError, OSError):  # a NUL within, a user who is not known here
        return False
