"""Findings about the tokenizer and its template, which concern every row alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.data.audit.flags import AuditFlag, Severity
from engine.data.template.facts import TemplateFacts


def tokenizer_flags(tokenizer: Any, facts: TemplateFacts) -> Iterator[AuditFlag]:
    """Findings about the tokenizer and its template, which concern every row alike."""
    bos = tokenizer.bos_token
    if not bos or facts.first_text.startswith(bos):
        return
    if tokenizer("x")["input_ids"][:1] == [tokenizer.bos_token_id]:
        message = f"the tokenizer would add {bos!r} in front, the chat template does not; the template is followed"
        yield AuditFlag("BOS_NOT_IN_TEMPLATE", Severity.INFO, 1, (), message)
