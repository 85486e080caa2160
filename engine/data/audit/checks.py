"""Everything that is to be said about a rendered row."""

from __future__ import annotations

from collections.abc import Iterator

from engine.data.audit.chat_checks import conversation_flags
from engine.data.audit.flags import RowFlag
from engine.data.audit.plain_checks import document_flags, token_row_flags
from engine.data.audit.template_checks import rendering_flags
from engine.data.conversation import Conversation, Document
from engine.data.rendering.rendered import Rendered
from engine.data.template.facts import TemplateFacts


def flags_of(rendered: Rendered, facts: TemplateFacts | None) -> Iterator[RowFlag]:
    """The findings about one row, those about its data first; `facts` are None only where no row is a chat."""
    example = rendered.example
    if isinstance(example, Document):
        yield from document_flags(example, rendered)
    elif not isinstance(example, Conversation):
        yield from token_row_flags(example, rendered, facts)
    elif facts is not None:
        yield from conversation_flags(example)
        yield from rendering_flags(example, rendered, facts)
