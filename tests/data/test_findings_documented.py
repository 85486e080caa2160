"""docs/masks.md lists every finding about chats and templates, with its severity."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = ["chat_checks", "template_checks", "tool_checks", "tokenizer_checks"]
TOLD = re.compile(r'"([A-Z]+_[A-Z_]+)",\s*(?:Severity\.)?(\w+)')
SEVERITIES = {"severity": "warning"}  # where the code decides, the table names the worse one


def told_by(check: str) -> set[tuple[str, str]]:
    source = (ROOT / "engine" / "data" / "audit" / f"{check}.py").read_text(encoding="utf-8")
    return {(code, SEVERITIES.get(severity, severity.lower())) for code, severity in TOLD.findall(source)}


def test_every_finding_is_documented_and_every_documented_one_exists() -> None:
    table = re.findall(r"^\| `([A-Z_]+)` \| (\w+) \|", (ROOT / "docs" / "masks.md").read_text(encoding="utf-8"), re.M)
    assert set(table) == set().union(*map(told_by, CHECKS))


@pytest.mark.parametrize("check", CHECKS)
def test_findings_are_found_in_the_source(check: str) -> None:
    assert told_by(check)
