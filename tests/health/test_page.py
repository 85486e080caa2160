"""The page on alerts holds the table as it is in the code."""

from __future__ import annotations

import re
from pathlib import Path

from engine.health.table import as_markdown

PAGE = Path(__file__).parents[2] / "docs" / "alerts.md"


def test_the_page_holds_the_table() -> None:
    (written,) = re.findall(r"<!-- table -->\n\n(.*?)\n<!-- end of the table -->", PAGE.read_text(), flags=re.DOTALL)
    assert written == as_markdown(), "write it anew: python -m tests.health.write_page"
