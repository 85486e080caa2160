"""Text of the data as it may be printed: what cannot be seen gets a sign, and nothing in it reaches the terminal as a
command."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
_CONTROL_PICTURES = 0x2400
_DELETE, _DELETE_PICTURE = 0x7F, "␡"
_OPEN_SPACES = re.compile(r"(?<=\n) +| +(?=\n)|  +")
"""Spaces at either end of a line and runs of them, which would go unseen."""
_AT_START, _AT_END = re.compile(r"\A +"), re.compile(r" +\Z")


class Signs(dict[int, str | None]):
    """What is printed for each character: itself, or a sign for one that has no shape of its own.

    `encoding` is that of the place where the text is printed; what it lacks is shown by its number. With `is_plain` the
    signs are ASCII.
    """

    def __init__(self, encoding: str = "utf-8", is_plain: bool = False) -> None:
        super().__init__()
        self._encoding = encoding
        self.is_plain = is_plain or not _can_print("⏎⇥␛·⟦▌", encoding)
        self.newline = "<LF>" if self.is_plain else "⏎"

    def __missing__(self, code: int) -> str | None:
        self[code] = sign = self._sign_of(chr(code))
        return sign

    def show(self, text: str, is_start: bool = True, is_end: bool = True) -> str:
        """The text with signs; a newline is its sign followed by a real one.

        `is_start` and `is_end`: the text begins or ends a line, so that a space there would not be seen.
        """
        if not self.is_plain:
            patterns = (_OPEN_SPACES, *([_AT_START] if is_start else []), *([_AT_END] if is_end else []))
            for pattern in patterns:
                text = pattern.sub(lambda match: "·" * len(match.group()), text)
        if text and unicodedata.combining(text[0]) and not self.is_plain:
            text = "◌" + text  # or it would sit on whatever is printed in front
        return text.translate(self)

    def show_in_line(self, text: str, is_start: bool = True, is_end: bool = True) -> str:
        """The same without line breaks."""
        return self.show(text, is_start, is_end).replace("\n", "")

    def show_token(self, content: bytes) -> str:
        """The text of a token, or the bytes of one that is only a part of a character."""
        try:
            return self.show_in_line(content.decode())
        except UnicodeDecodeError:
            return "".join(f"<{byte:02X}>" for byte in content)

    def _sign_of(self, character: str) -> str:
        code = ord(character)
        if character == "\n":
            return f"{self.newline}\n"
        if code < 0x20 or code == _DELETE:
            return self._control(code)
        if (character != " " and unicodedata.category(character) in _HIDDEN) or not _can_print(
            character, self._encoding
        ):
            return f"<U+{code:04X}>"
        return character

    def _control(self, code: int) -> str:
        if self.is_plain:
            return {0x09: "<TAB>", 0x0D: "<CR>"}.get(code, f"<{code:02X}>")
        return "⇥" if code == 0x09 else _DELETE_PICTURE if code == _DELETE else chr(_CONTROL_PICTURES + code)


def width_of(character: str) -> int:
    """Terminal columns of a character that is printed."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _can_print(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def harmless(text: str, encoding: str | None) -> str:
    """Lines of ours that may hold a name of somebody else's: its control characters become signs, the lines stay."""
    signs = Signs(encoding or "ascii")
    return "\n".join(line.translate(signs) for line in text.split("\n"))
