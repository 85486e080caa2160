"""A tokenizer's added tokens as patterns for the template's own text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """Patterns for a tokenizer's added tokens, the longest first: those flagged special, and all of them."""

    special: re.Pattern[str]
    added: re.Pattern[str]

    def split(self, text: str) -> list[str]:
        """Added tokens whole, everything else in single characters."""
        position = 0
        parts: list[str] = []
        for match in self.added.finditer(text):
            parts += [*text[position : match.start()], match.group()]
            position = match.end()
        return [*parts, *text[position:]]

    def common_prefix(self, first: str, second: str) -> str:
        """What both begin with, in whole tokens."""
        pairs = zip(self.split(first), self.split(second), strict=False)
        common: list[str] = []
        for one, other in pairs:
            if one != other:
                break
            common.append(one)
        return "".join(common)


def special_tokens(tokenizer: Any) -> SpecialTokens:
    """The patterns for `tokenizer`; they match nothing where it has no such token."""
    added = [(token.content, token.special) for token in tokenizer.added_tokens_decoder.values()]
    return SpecialTokens(
        special=_any_of([content for content, is_special in added if is_special]),
        added=_any_of([content for content, _ in added]),
    )


def _any_of(contents: list[str]) -> re.Pattern[str]:
    longest_first = sorted(filter(None, contents), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
