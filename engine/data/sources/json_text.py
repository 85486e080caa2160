"""A JSON text that is parsed value by value while it is read, so that a large file never stands in memory whole."""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path
from typing import Any, BinaryIO, NoReturn
from zlib import crc32

from engine.data.errors import DataError
from engine.data.strict_json import why_not_json

_BLOCK = 2**20
_WHITE_SPACE = re.compile(r"[ \t\r\n]*")
_LONGEST_WORD = 16
"""No word, number sign or escape of JSON is longer: an error further from the end of what was read is a real one."""
_OPEN_TEXT = "Unterminated string"


class JsonText:
    """A position in a JSON text. `offset` is its byte, `line` and `column` its place, both from 1.

    `checksum` is the CRC-32 of all that was passed since the last time that it was set to 0.

    Raises:
        DataError: the text is not JSON, or not UTF-8; the message names file, line and column.
    """

    def __init__(self, path: Path, stream: BinaryIO, offset: int) -> None:
        self.path = path
        self.offset = offset
        self.line = 1
        self.column = 1
        self.checksum = 0
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")()
        # Values are parsed only to find where they end, so numbers need not be made, however long they are.
        self._parser = json.JSONDecoder(parse_int=len, parse_float=len)
        self._text = ""
        self._position = 0
        self._is_at_end = False

    def peek(self) -> str:
        """The next character that is no white space; empty at the end of the text."""
        while True:
            match = _WHITE_SPACE.match(self._text, self._position)
            assert match is not None
            self._advance(match.end())
            if self._position < len(self._text) or self._is_at_end:
                return self._text[self._position : self._position + 1]
            self._read_on()

    def expect(self, *expected: str) -> str:
        """The next character, which must be one of those; it is not taken yet."""
        character = self.peek()
        if not character:
            self._fail("the file ends too early")
        if character not in expected:
            self._fail(f"expected {' or '.join(expected)}")
        return character

    def take(self, *expected: str) -> str:
        """The next character, which must be one of those expected."""
        character = self.expect(*expected)
        self._advance(self._position + 1)
        return character

    def value(self) -> tuple[Any, bytes]:
        """The next value, its numbers replaced by their lengths, and its text."""
        self.peek()
        while True:
            try:
                value, end = self._parser.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                if self._is_at_end or not self._may_go_on(error):
                    self._advance(error.pos)
                    self._fail(why_not_json(error))
            except RecursionError:
                self._fail("nested too deeply")
            else:
                # A number or a word at the very end of what was read may have more to it.
                if end < len(self._text) or self._is_at_end:
                    content = self._text[self._position : end].encode()
                    self._advance(end, content)
                    return value, content
            self._read_on()

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith(_OPEN_TEXT) or error.pos > len(self._text) - _LONGEST_WORD

    def _read_on(self) -> None:
        """Read as much again as is waiting, so that a long value is parsed a few times only."""
        waiting = self._text[self._position :]
        block = self._stream.read(max(_BLOCK, len(waiting)))
        self._is_at_end = not block
        try:
            self._text = waiting + self._decode.decode(block, final=not block)
        except UnicodeDecodeError as error:
            found = error.object[error.start : error.start + 1].hex()
            raise DataError(
                f"{self.path}, after line {self.line}: byte 0x{found} is not UTF-8; save the file as UTF-8."
            ) from None
        self._position = 0

    def _advance(self, position: int, content: bytes | None = None) -> None:
        passed = self._text[self._position : position]
        content = passed.encode() if content is None else content
        self.offset += len(content)
        self.checksum = crc32(content, self.checksum)
        newlines = passed.count("\n")
        self.line += newlines
        self.column = len(passed) - passed.rfind("\n") if newlines else self.column + len(passed)
        self._position = position

    def _fail(self, reason: str) -> NoReturn:
        raise DataError(f"{self.path}, line {self.line}, column {self.column}: not valid JSON: {reason}.")
