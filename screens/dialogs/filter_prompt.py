"""The line in which a filter of rows is written."""

from __future__ import annotations

from screens.dialogs.line_prompt import LinePrompt

HINT = "text, flag:TRUNCATED, role:tool, flagged; nothing shows all rows"


class FilterPrompt(LinePrompt):
    """Enter takes what is written, Esc nothing."""

    def __init__(self, written: str, hint: str = HINT, label: str = "/ only rows with") -> None:
        super().__init__(label, written, hint)
