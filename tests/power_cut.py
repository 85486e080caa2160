"""What a disk may hold after the power went at any moment of some work.

`cuts_of` does the work in a process of its own and notes, before each change of the disk, what stands there: what is
left of the process if it is killed then. A power cut leaves less, since of what was not flushed nothing need have
arrived. So the states that are surely on the disk are noted too: the bytes of a file at its last fsync, the names in a
folder at that folder's last fsync. `states_after` makes of both the trees that a disk with a journal may show: the
names that were not flushed all there or all missing, and the bytes that were not flushed missing, half there, or zeros.
"""

from __future__ import annotations

import os
import pickle
import stat
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

Promise = tuple[str, int]
"""What a user may rely on, and from which step on."""
Work = Callable[[Callable[[Promise], None]], None]
"""Changes the disk; tells what it is given of each promise as soon as it has made it."""
Bytes = Literal["kept", "missing", "half", "zeros"]
BROKEN: tuple[Bytes, ...] = ("missing", "half", "zeros")
ROOT = "."
CHANGES = {
    "os.rename": (0, 2),
    "os.remove": (0, 1),
    "os.rmdir": (0, 1),
    "os.mkdir": (0, 2),
    "os.symlink": (1, 2),
    "os.truncate": (0, None),
}
"""What Python tells before it does it: where among the arguments are the path and the folder it starts from."""


@dataclass
class Node:
    """A file, folder or link. `flushed` are its bytes or names as they surely are on the disk, `now` a file's bytes."""

    kind: Literal["file", "folder", "link"]
    flushed: Any = None
    now: bytes = b""
    target: str = ""


@dataclass
class Cut:
    """The moment before a change: what there is, by which path it stands there, and what was promised by then."""

    before: str
    nodes: dict[int, Node]
    places: dict[str, int]
    promised: list[Promise] = field(default_factory=list)


def cuts_of(root: Path, work: Work) -> list[Cut]:
    """Do the work below `root`, of which all is on the disk at first, and note each moment at which it could end."""
    report, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            noted = _noted(root, work)
            with os.fdopen(end, "wb") as pipe:
                pickle.dump(noted, pipe)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(end)
    with os.fdopen(report, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, "the work failed"
    cuts: list[Cut] = pickle.loads(told)
    return cuts


def states_after(cut: Cut, into: Path) -> Iterator[tuple[str, Path]]:
    """Every tree that may be found after the cut, each once, with words for it; the first is what a kill leaves."""
    is_torn = any(node.kind == "file" and node.now != node.flushed for node in cut.nodes.values())
    seen: set[tuple[object, ...]] = set()
    for names in ("kept", "missing"):
        for content in ("kept", *(BROKEN if is_torn else ())):
            copy = into / f"{names}-{content}"
            _build(cut, copy, names == "kept", content)
            found = _fingerprint(copy)
            if found not in seen:
                seen.add(found)
                yield f"before {cut.before}: names not flushed are {names}, bytes not flushed {content}", copy


@contextmanager
def quick_folder() -> Iterator[Path]:
    """An empty folder, in memory where there is such a disk: hundreds of trees are made in it and taken away."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


def _build(cut: Cut, into: Path, all_names: bool, content: Bytes) -> None:
    names: dict[int, dict[str, int]] = {}
    for place, number in cut.places.items():
        if place != ROOT:
            parent, _, name = place.rpartition("/")
            names.setdefault(cut.places[parent or ROOT], {})[name] = number

    def put(number: int, path: Path) -> None:
        node = cut.nodes[number]
        if node.kind == "link":
            path.symlink_to(node.target)
        elif node.kind == "file":
            path.write_bytes(_content(node, content))
        else:
            path.mkdir(parents=True)
            for name, inner in (names.get(number, {}) if all_names else (node.flushed or {})).items():
                put(inner, path / name)

    put(cut.places[ROOT], into)


def _content(node: Node, content: Bytes) -> bytes:
    """What was flushed, and so much of the rest; of a file that was written anew since then nothing is sure."""
    flushed: bytes = node.flushed or b""
    if not node.now.startswith(flushed):
        flushed = b""
    rest = node.now[len(flushed) :]
    return flushed + {"kept": rest, "missing": b"", "half": rest[: len(rest) // 2], "zeros": bytes(len(rest))}[content]


def _fingerprint(root: Path) -> tuple[object, ...]:
    """Equal for trees that look alike."""

    def told(path: Path) -> object:
        return str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None

    return tuple((str(path.relative_to(root)), told(path)) for path in sorted(root.rglob("*")))


def _noted(root: Path, work: Work) -> list[Cut]:
    disk = _Disk(root)
    os.fsync, os.write = disk.fsync, disk.write  # type: ignore[assignment]
    sys.addaudithook(disk.hear)
    work(disk.promised.append)
    disk.note("the end")
    disk.watching = False
    return disk.cuts


class _Disk:
    """Stands between the process and its disk: notes each change before it is made, and what was flushed."""

    def __init__(self, root: Path) -> None:
        self.cuts: list[Cut] = []
        self.promised: list[Promise] = []
        self.watching = True
        self._root = root.resolve()
        self._write = os.write
        self._nodes: dict[int, Node] = {}
        self._numbers: dict[int, int] = {}
        """By inode, which the disk gives to something else once it is free again."""
        for path in (self._root, *self._root.rglob("*")):
            self._flushed(path)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Python is about to do something."""
        if not self.watching:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes | os.PathLike) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self._change(Path(os.fsdecode(path)), event)
        elif event in CHANGES:
            place, folder = CHANGES[event]
            path = _path(arguments[place], arguments[folder] if folder is not None else -1)
            if self._change(path, event) and event in ("os.rename", "os.remove", "os.rmdir"):
                self._forget(_path(arguments[1], arguments[3]) if event == "os.rename" else path)

    def write(self, descriptor: int, data: bytes) -> int:
        """As os.write, with a moment at which half of it was written."""
        path = _of_descriptor(descriptor)
        if path is None or not self._change(path, "os.write"):
            return self._write(descriptor, data)
        half = self._write(descriptor, data[: len(data) // 2])
        self._change(path, "the other half of os.write")
        return half + self._write(descriptor, data[half:])

    def fsync(self, descriptor: int) -> None:
        """As os.fsync; that the real disk waits is not needed."""
        path = _of_descriptor(descriptor)
        if path is not None and self._change(path, "os.fsync"):
            self._flushed(path)

    def note(self, before: str) -> None:
        """Power could be lost now."""
        self.watching = False
        places = {str(path.relative_to(self._root)): self._number(path) for path in self._root.rglob("*")}
        for place, number in places.items():
            if self._nodes[number].kind == "file":
                self._nodes[number].now = (self._root / place).read_bytes()
        places[ROOT] = self._number(self._root)
        self.cuts.append(Cut(before, deepcopy(self._nodes), places, list(self.promised)))
        self.watching = True

    def _change(self, path: Path, event: str) -> bool:
        if not self.watching or not path.absolute().is_relative_to(self._root):
            return False
        self.note(f"{event} of {path.relative_to(self._root)}")
        return True

    def _forget(self, path: Path) -> None:
        """What stands there goes away, and its inode may soon be that of something else."""
        if path.exists() or path.is_symlink():
            self._numbers.pop(path.lstat().st_ino, None)

    def _flushed(self, path: Path) -> None:
        node = self._nodes[self._number(path)]
        if node.kind == "folder":
            node.flushed = {one.name: self._number(one) for one in path.iterdir()}
        elif node.kind == "file":
            node.flushed = node.now = path.read_bytes()

    def _number(self, path: Path) -> int:
        status = path.lstat()
        if status.st_ino not in self._numbers:
            self._numbers[status.st_ino] = number = len(self._nodes)
            if stat.S_ISLNK(status.st_mode):
                self._nodes[number] = Node("link", target=str(path.readlink()))
            else:
                self._nodes[number] = Node("folder" if stat.S_ISDIR(status.st_mode) else "file")
        return self._numbers[status.st_ino]


def _path(name: Any, folder: int) -> Path:
    path = Path(os.fsdecode(name))
    return path if path.is_absolute() or folder in (-1, None) else Path(f"/proc/self/fd/{folder}").readlink() / path


def _of_descriptor(descriptor: int) -> Path | None:
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:
        return None
