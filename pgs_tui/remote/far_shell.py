"""A shell on another machine, asked by constant programs; each answer comes in parts between lines nobody can guess."""

from __future__ import annotations

import os
import secrets
import select
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from pgs_tui.remote.noise import NOISE_BYTES, Noise
from pgs_tui.remote.programs import Program, text_of
from pgs_tui.visible import shown

PATIENCE = 10.0
"""Seconds without a byte after which an answer counts as lost."""
ANSWER_BYTES = 8 * 2**20
_CHUNK = 64 * 1024
_REASON_BYTES = 4096
_BEGIN, _END = "begin", "end"


class LinkLostError(OSError):
    """There is no connection to the other machine, or there is none any more; the text says why."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True)
class Answer:
    """The parts of an answer in their order; `status` is the exit status of the program."""

    parts: tuple[tuple[str, bytes], ...]
    status: int = 0

    def __contains__(self, name: str) -> bool:
        return any(found == name for found, _ in self.parts)

    def __getitem__(self, name: str) -> bytes:
        """The part of that name, empty where there is none; of several the first."""
        return next((data for found, data in self.parts if found == name), b"")

    def text(self, name: str) -> str:
        return self[name].decode("utf-8", errors="replace").strip()


class FarShell:
    """One channel with one `sh` behind it. One program runs at a time; `close` may come from any thread."""

    def __init__(self, command: Sequence[str], host: str, environment: Mapping[str, str] | None = None) -> None:
        self.host = host
        self.noise = Noise()
        self._turn = threading.Lock()
        self._started = False
        self._held = b""
        self._said = b""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env=environment,
            )
        except OSError as error:
            raise LinkLostError(f"{command[0]} cannot be started: {error.strerror}") from error
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    def ask(self, program: Program, *words: str | int, limit: int = ANSWER_BYTES, patience: float = PATIENCE) -> Answer:
        """Run the program and bring its whole answer, of at most `limit` bytes. Raises LinkLostError."""
        parts: list[tuple[str, list[bytes]]] = []
        size, status = 0, 0
        for name, data in self.pieces(program, *words, patience=patience):
            if name.startswith(f"{_END} "):
                status = int(name.split()[1])
                continue
            size += len(data)
            if size > limit:
                self.close()
                raise LinkLostError(f"{self.host} answers with more than {limit:,} bytes")
            if not data:
                parts.append((name, []))
            else:
                parts[-1][1].append(data)
        return Answer(tuple((name, b"".join(pieces)) for name, pieces in parts), status)

    def pieces(
        self, program: Program, *words: str | int, patience: float | None = PATIENCE
    ) -> Iterator[tuple[str, bytes]]:
        """Run the program and bring its answer as it comes: `(part, b"")` where a part begins, then its bytes.

        At the end comes `("end STATUS", b"")`. Without `patience` it may be silent for ever. Raises LinkLostError.
        """
        with self._turn:
            mark = f"pgs-{secrets.token_hex(16)}"
            self._write(self._opening() + _call(program, mark, words), patience)
            yield from self._framed(mark.encode(), patience)

    def stream(self, program: Program, *words: str | int) -> FarStream:
        """Run a program that goes on until the channel ends; the shell is good for nothing else afterwards."""
        return FarStream(self, self.pieces(program, *words, patience=None))

    def close(self) -> None:
        """End the channel, and with it what runs over there."""
        self._process.terminate()
        self._process.wait()
        for pipe in self._pipes:
            if not self._turn.locked():
                pipe.close()

    @property
    def _pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None and stdout is not None and stderr is not None
        return stdin, stdout, stderr

    def _opening(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        return text_of("prelude").encode()

    def _framed(self, mark: bytes, patience: float | None) -> Iterator[tuple[str, bytes]]:
        """Cut what comes by its frame lines. Only bytes that could begin one are held back."""
        data, self._held = self._held, b""
        part = ""
        while True:
            begin = data.find(mark)
            stop = data.find(b"\n", begin) if begin >= 0 else -1
            if stop >= 0:
                name = data[begin + len(mark) + 1 : stop].decode("ascii", errors="replace")
                before, data = data[:begin], data[stop + 1 :]
                if not part:
                    self._note(before)
                elif before and part != _BEGIN:
                    yield part, before
                part = name
                if name.startswith(f"{_END} "):
                    self._held = data
                    yield name, b""
                    return
                if name != _BEGIN:
                    yield name, b""
                continue
            safe = begin if begin >= 0 else len(data) - _overlap(data, mark)
            if part and part != _BEGIN and safe:
                yield part, data[:safe]
                data = data[safe:]
            elif not part and len(data) > NOISE_BYTES:
                self._note(data)
                raise LinkLostError(f"{self.noise.told_of(self.host)}; {NOISE_BYTES // 1024} KiB and still no answer")
            data += self._read(patience)

    def _note(self, before: bytes) -> None:
        if before.strip():
            self.noise = Noise((self.noise.data + before)[:NOISE_BYTES])

    def _read(self, patience: float | None) -> bytes:
        """The next bytes from over there. Raises LinkLostError when none come, or none can come any more."""
        _, stdout, stderr = self._pipes
        end = None if patience is None else time.monotonic() + patience
        watched = [stdout, stderr]
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            ready, _, _ = select.select(watched, [], [], left)
            if not ready:
                raise LinkLostError(f"{self.host} has not answered for {patience:.0f} s")
            if stderr in ready:
                said = os.read(stderr.fileno(), _CHUNK)
                self._said = (self._said + said)[-_REASON_BYTES:]
                if not said:
                    watched.remove(stderr)
            if stdout in ready:
                data = os.read(stdout.fileno(), _CHUNK)
                if not data:
                    raise LinkLostError(self._why_ended())
                return data

    def _write(self, data: bytes, patience: float | None) -> None:
        stdin = self._pipes[0]
        while data:
            _, ready, _ = select.select([], [stdin], [], patience)
            if not ready:
                raise LinkLostError(f"{self.host} has not taken anything for {patience:.0f} s")
            try:
                data = data[os.write(stdin.fileno(), data) :]
            except BrokenPipeError as error:
                raise LinkLostError(self._why_ended()) from error

    def _why_ended(self) -> str:
        lines = [line for line in self._said.decode("utf-8", errors="replace").splitlines() if line.strip()]
        return f"{self.host}: {shown(lines[-1].strip())}" if lines else f"the connection to {self.host} has ended"


class FarStream:
    """The bytes of a program that goes on until it is closed."""

    def __init__(self, shell: FarShell, pieces: Iterator[tuple[str, bytes]]) -> None:
        self._shell = shell
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        """What comes, as soon as it comes. Raises LinkLostError at the end, whatever its cause."""
        for name, data in self._pieces:
            if name.startswith(f"{_END} "):
                raise LinkLostError(f"{self._shell.host}: the log's `tail` has ended over there")
            if data:
                yield data

    def close(self) -> None:
        self._shell.close()


def quoted(word: str) -> str:
    """The word as POSIX shells take it literally. NUL cannot be within a word."""
    assert "\0" not in word
    return "'" + word.replace("'", "'\\''") + "'"


def _call(program: Program, mark: str, words: Sequence[str | int]) -> bytes:
    """The program as one compound command, which the shell reads whole before it runs any of it."""
    arguments = " ".join(quoted(str(word)) for word in words)
    stdin = "" if program.reads_stdin else " </dev/null"
    text = f'mark={mark}\npart {_BEGIN}\n(\nset -- {arguments}\n{program.text}){stdin}\npart "{_END} $?"\n'
    return text.encode("utf-8", errors="surrogateescape")


def _overlap(data: bytes, mark: bytes) -> int:
    """How many bytes at the end could be the beginning of the mark."""
    for size in range(min(len(data), len(mark) - 1), 0, -1):
        if mark.startswith(data[-size:]):
            return size
    return 0
