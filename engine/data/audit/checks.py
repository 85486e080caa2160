"""Everything that is to be said about a rendered row."""

from __future__ import annotations

from collections.abc import Iterator

from engine.data.audit.chat_checks import conversation_flags, rendering_flags
from engine.data.audit.flags import RowFlag
from engine.data.conversation import Conversation
from engine.data.rendering.rendered import Rendered
from engine.data.template.facts import TemplateFacts


def flags_of(rendered: Rendered, facts: TemplateFacts) -> Iterator[RowFlag]:
    """The findings about one row, those about its data first."""
    example = rendered.example
    if isinstance(example, Conversation):
        yield from conversation_flags(example)
        yield from rendering_flags(example, rendered, facts)
