"""The machine under a run: CPU and memory of its process tree, the container's limit, the disk."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from engine.events import Host
from engine.units import GIB


@dataclass(frozen=True)
class MachineMemory:
    """Bytes that can still be taken, and in total: the container's where it has a limit, else the machine's."""

    available: int
    total: int


def machine_memory(root: Path = Path("/"), machine: MachineMemory | None = None) -> MachineMemory:
    """Memory that this process can still take.

    Every control group above it may have a limit (cgroup v2 `memory.max`, v1 `memory.limit_in_bytes`); the tightest
    counts. File cache that the kernel gives back on demand does not count as used. `root` is where /proc and /sys
    lie, `machine` what the whole machine has; both are read from the system unless given.
    """
    if machine is None:
        virtual = psutil.virtual_memory()
        machine = MachineMemory(available=virtual.available, total=virtual.total)
    for limit, used in _group_limits(root):
        if limit < machine.total:
            machine = MachineMemory(available=min(machine.available, max(0, limit - used)), total=limit)
    return machine


def _group_limits(root: Path) -> Iterator[tuple[int, int]]:
    """(limit, used) of each control group from this process's own up to the top."""
    for line in _lines(root / "proc/self/cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            base = root / "sys/fs/cgroup/memory"
        else:
            continue
        # Inside a container the path may be the host's, which does not exist here; its top is then ours.
        own = base / path.lstrip("/")
        groups = [own, *(parent for parent in own.parents if parent.is_relative_to(base))]
        for group in groups:
            limit, used = _number(group / names[0]), _number(group / names[1])
            if limit is not None and used is not None:
                yield limit, used - _cache(group / "memory.stat", names[2])


def _cache(stat: Path, key: str) -> int:
    for line in _lines(stat):
        name, _, value = line.partition(" ")
        if name == key:
            return int(value)
    return 0


def _number(path: Path) -> int | None:
    """The number in a control file; None if there is no file, or no limit in it ("max")."""
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdecimal() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def pressure(of: Literal["io", "cpu"], root: Path = Path("/")) -> float | None:
    """Percent of the last ten seconds in which some process waited for it; None where Linux does not count it."""
    for line in _lines(root / "proc/pressure" / of):
        if found := re.match(r"some avg10=(\d+(?:\.\d+)?) ", line):
            return float(found[1])
    return None


class HostReader:
    """Reads the process tree below `pid` (default: this process) and the disk that holds `folder`."""

    def __init__(
        self,
        folder: Path,
        pid: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        memory: Callable[[], MachineMemory] = machine_memory,
    ) -> None:
        self._folder = folder
        self._root = psutil.Process(pid)
        self._clock = clock
        self._memory = memory
        self._before: dict[int, float] = {}
        self._read_at: float | None = None

    def processes(self) -> list[psutil.Process]:
        """The process and all below it that live now."""
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def read(self, processes: list[psutil.Process]) -> Host:
        """One `host` event; the CPU's share is counted since the reading before, 0 at the first."""
        seconds: dict[int, float] = {}
        resident = 0
        for process in processes:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    resident += process.memory_info().rss
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            seconds[process.pid] = times.user + times.system
        memory = self._memory()
        return Host(
            cpu=self._share(seconds),
            rss=resident / GIB,
            disk_free=shutil.disk_usage(self._folder).free / GIB,
            cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            memory_available=memory.available / GIB,
            memory_total=memory.total / GIB,
            io_pressure=pressure("io"),
            cpu_pressure=pressure("cpu"),
        )

    def _share(self, seconds: dict[int, float]) -> float:
        """Percent of one core since the last call; processes seen for the first time count from now on."""
        now, before, read_at = self._clock(), self._before, self._read_at
        self._before, self._read_at = seconds, now
        if read_at is None or now <= read_at:
            return 0.0
        spent = sum(value - before[pid] for pid, value in seconds.items() if pid in before)
        return max(0.0, 100 * spent / (now - read_at))
