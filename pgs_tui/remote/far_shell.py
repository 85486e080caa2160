"""A shell on another machine, asked by constant programs; its answers come in parts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgs_tui.remote.channel import Channel
from pgs_tui.remote.framing import Frames, new_mark
from pgs_tui.remote.lost import LinkLostError
from pgs_tui.remote.noise import NOISE_BYTES, Noise
from pgs_tui.remote.programs import Program, text_of

PATIENCE = 10.0
"""Seconds without a byte after which an answer counts as lost."""
ANSWER_BYTES = 8 * 2**20
_BEGIN, _END = "begin", "end "


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
    """One channel with one `sh` behind it. One program runs at a time; `close` may come from any thread.

    After an error the channel is closed: nobody knows how much of an answer is still to come.
    """

    def __init__(self, channel: Channel) -> None:
        self.host = channel.host
        self.noise = Noise()
        self._channel = channel
        self._turn = threading.Lock()
        self._started = False

    def ask(self, program: Program, *words: str | int, limit: int = ANSWER_BYTES, patience: float = PATIENCE) -> Answer:
        """Run the program and bring its whole answer, of at most `limit` bytes. Raises LinkLostError."""
        parts: list[tuple[str, list[bytes]]] = []
        size, status = 0, 0
        for name, data in self.pieces(program, *words, patience=patience):
            if name.startswith(_END):
                status = _status(name)
            elif data:
                size += len(data)
                parts[-1][1].append(data)
                if size > limit:
                    self.close()
                    raise LinkLostError(f"{self.host} answers with more than {limit:,} bytes")
            else:
                parts.append((name, []))
        return Answer(tuple((name, b"".join(pieces)) for name, pieces in parts), status)

    def pieces(
        self, program: Program, *words: str | int, patience: float | None = PATIENCE
    ) -> Iterator[tuple[str, bytes]]:
        """Run the program and bring its answer as it comes: `(part, b"")` where a part begins, then its bytes.

        At the end comes `("end STATUS", b"")`. Without `patience` it may be silent for ever. Raises LinkLostError.
        """
        with self._turn:
            ended = False
            try:
                for name, data in self._answer(program, words, patience):
                    ended = ended or name.startswith(_END)
                    yield name, data
            finally:
                if not ended:
                    self.close()

    def stream(self, program: Program, *words: str | int) -> FarStream:
        """Run a program that goes on until the channel ends; the shell is good for nothing else afterwards."""
        return FarStream(self, self.pieces(program, *words, patience=None))

    def close(self) -> None:
        """End the channel, and with it what runs over there."""
        self._channel.close()

    def _answer(
        self, program: Program, words: Sequence[str | int], patience: float | None
    ) -> Iterator[tuple[str, bytes]]:
        mark = new_mark()
        frames = Frames(mark)
        self._channel.write(self._opening() + _call(program, mark, words), PATIENCE)
        answers = False
        while True:
            for part, data, begins in frames.feed(self._read(patience, answers)):
                answers = answers or begins
                if part is None:
                    self._note(data)
                elif part != _BEGIN:
                    yield part, data
                if begins and part is not None and part.startswith(_END):
                    return

    def _opening(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        return text_of("prelude").encode()

    def _read(self, patience: float | None, answers: bool) -> bytes:
        try:
            return self._channel.read(patience)
        except LinkLostError as error:
            if not answers and self.noise.data:  # such as: this account is not available
                raise type(error)(f"{error}; {self.noise.told_of(self.host)}") from error
            raise

    def _note(self, data: bytes) -> None:
        self.noise = Noise(self.noise.data + data)
        if len(self.noise.data) > NOISE_BYTES:
            told = Noise(self.noise.data[:NOISE_BYTES]).told_of(self.host)
            raise LinkLostError(f"after {NOISE_BYTES // 1024} KiB there is still no answer: {told}")


class FarStream:
    """The bytes of a program that goes on until it is closed."""

    def __init__(self, shell: FarShell, pieces: Iterator[tuple[str, bytes]]) -> None:
        self.shell = shell
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        """What comes, as soon as it comes. Raises LinkLostError at the end, whatever its cause."""
        for name, data in self._pieces:
            if name.startswith(_END):
                self.close()
                raise LinkLostError(f"{self.shell.host}: `tail`, which follows the log over there, has ended")
            if data:
                yield data

    def close(self) -> None:
        self.shell.close()


def _status(end: str) -> int:
    digits = end.removeprefix(_END)
    return int(digits) if digits.isdecimal() else 1


def quoted(word: str) -> str:
    """The word as POSIX shells take it literally. NUL cannot be within a word."""
    assert "\0" not in word
    return "'" + word.replace("'", "'\\''") + "'"


def _call(program: Program, mark: str, words: Sequence[str | int]) -> bytes:
    """The program as one compound command, which the shell reads whole before it runs any of it."""
    arguments = " ".join(quoted(str(word)) for word in words)
    stdin = "" if program.reads_stdin else " </dev/null"
    text = f'mark={mark}\npart {_BEGIN}\n(\nset -- {arguments}\n{program.text}){stdin}\npart "{_END}$?"\n'
    return text.encode("utf-8", errors="surrogateescape")
