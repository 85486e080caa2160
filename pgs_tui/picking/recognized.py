"""Tells our configs from other YAML files by their text alone: broken ones are to be shown, and parsing takes time."""

from __future__ import annotations

import re

_SECTION = re.compile(r"""^\ufeff?["']?(model|data|train|memory|parallel|logging)["']?[ \t]*:""", re.MULTILINE)
_MODEL = re.compile(
    r"""^[^#\n]*?(?<![\w.])["']?name_or_path["']?[ \t]*:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s#,{}\[\]"']+))?""",
    re.MULTILINE,
)
_OWN_KEY = re.compile(
    r"^[^#\n]*?(?<![\w.])(?:per_device_batch_size|gradient_accumulation_steps|max_seq_length|gradient_checkpointing)\b",
    re.MULTILINE,
)


def written_model(text: str) -> str | None:
    """What stands behind `name_or_path`; empty for a config without it; None for a text that is no config of ours.

    A config has a section `model` with that key, or two of our sections with a key that few other programs have.
    """
    if "\0" in text:
        return None
    sections = set(_SECTION.findall(text))
    named = _MODEL.search(text)
    is_flow = text.lstrip("\ufeff \t\r\n").startswith("{")
    if named and ("model" in sections or is_flow):
        return next((found for found in named.groups() if found), "")
    return "" if len(sections) > 1 and _OWN_KEY.search(text) else None
