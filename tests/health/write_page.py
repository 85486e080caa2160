"""Writes the table of alerts into docs/alerts.md: `python -m tests.health.write_page`."""

from __future__ import annotations

import re

from engine.health.table import as_markdown

from .test_page import PAGE

if __name__ == "__main__":
    around = re.compile(r"(<!-- table -->\n\n).*?(\n<!-- end of the table -->)", flags=re.DOTALL)
    PAGE.write_text(around.sub(lambda found: found[1] + as_markdown() + found[2], PAGE.read_text()))
