"""The bytes that a token stands for, as the tokenizer's vocabulary writes them."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_WORD_START = "▁"  # how SentencePiece writes a space


class TokenBytes:
    """Looks up the bytes of one tokenizer's tokens."""

    def __init__(self, tokenizer: Any) -> None:
        backend = tokenizer.backend_tokenizer
        spec = json.loads(backend.to_str())
        self._piece = backend.id_to_token
        self._added = {token["id"]: token["content"] for token in spec["added_tokens"]}
        steps = _steps(spec.get("decoder")) | _steps(spec.get("pre_tokenizer"))
        self._is_byte_level = "ByteLevel" in steps
        self._has_byte_pieces = "ByteFallback" in steps

    def of(self, token_id: int) -> bytes:
        """The bytes of one id; none for an id that the vocabulary does not have."""
        if token_id in self._added:
            return str(self._added[token_id]).encode()
        piece = self._piece(token_id)
        if piece is None:
            return b""
        if self._is_byte_level:
            return b"".join(_byte_of(character) for character in piece)
        match = _BYTE_PIECE.fullmatch(piece) if self._has_byte_pieces else None
        return bytes([int(match[1], 16)]) if match else str(piece).replace(_WORD_START, " ").encode()


def _steps(part: Any) -> set[str]:
    """The types of all steps in a part of a tokenizer's description, nested ones included."""
    if isinstance(part, dict):
        inner = set().union(*map(_steps, part.values())) if part else set()
        return inner | ({part["type"]} if isinstance(part.get("type"), str) else set())
    return set().union(*map(_steps, part)) if isinstance(part, list) else set()


def _byte_of(character: str) -> bytes:
    byte = _byte_level_alphabet().get(character)
    return character.encode() if byte is None else bytes([byte])


@cache
def _byte_level_alphabet() -> dict[str, int]:
    """How byte-level tokenizers write each byte: printable ones as themselves, the others from U+0100 on, in order."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + number): byte for number, byte in enumerate(others)}
