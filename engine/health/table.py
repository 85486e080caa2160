"""The table of alerts as Markdown, for docs/alerts.md."""

from __future__ import annotations

import re

from engine.health.symptom import ADAMW, LION, Remedy, Symptom
from engine.health.symptoms import SYMPTOMS

HEADER = "| code | severity | what it means | what to do |\n|---|---|---|---|\n"


def as_markdown() -> str:
    """A row for each code, in the order of the table."""
    return HEADER + "".join(f"{_row(code, symptom)}\n" for code, symptom in SYMPTOMS.items())


def _row(code: str, symptom: Symptom) -> str:
    severity: str = symptom.severity
    if symptom.grave_after is not None:
        severity += f", {symptom.grave} from {symptom.grave_after} steps on"
    meaning = re.sub(r"\{\w+\}", "…", symptom.meaning)
    todo = "; ".join([*map(_remedy, symptom.remedies), *([symptom.beyond] if symptom.beyond else [])])
    return f"| `{code}` | {severity} | {meaning} | {todo} |"


def _remedy(remedy: Remedy) -> str:
    why = remedy.why if isinstance(remedy.why, str) else remedy.why(None, {})
    who = {LION: " (Lion)", ADAMW: " (AdamW)"}.get(remedy.optimizers, "")
    return f"`{remedy.key}`{who}: {why}"
