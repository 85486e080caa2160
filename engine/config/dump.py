"""Writes a config as YAML with every default in it, so that it always loads again to the same config."""

from __future__ import annotations

from typing import Any

import yaml

from engine.config.kinds import kinds
from engine.config.nodes import WORDS_MEANT_AS_NULL, meaning_of
from engine.config.schema import SECTIONS, Config, Section

_MEANING_OF_NULL = {
    "data.eval_samples": "all",
    "data.eval_every": "at the end only",
    "train.max_steps": "epochs decides",
    "train.betas": "the optimizer's own",
    "train.max_grad_norm": "no clipping",
    "train.save_steps": "at the end and on a stop only",
}
_NEVER_FOLD = 10**9


def dump_config(config: Config) -> str:
    """The config as YAML text, all keys written out."""
    return "\n".join(_section_text(name, config) for name in SECTIONS)


def _section_text(name: str, config: Config) -> str:
    lines = [f"{name}:"]
    for key, value in getattr(config, name):
        line = _yaml_line(key, value, is_choice=bool(kinds()[f"{name}.{key}"].choices))
        if value is None and (meaning := _MEANING_OF_NULL.get(f"{name}.{key}")):
            line = f"{line}  # {meaning}"
        lines += [f"  {part}" for part in line.splitlines()]
    return "\n".join(lines) + "\n"


def _yaml_line(key: str, value: object, is_choice: bool) -> str:
    if is_choice and isinstance(meaning_of(str(value)), str):
        return f"{key}: {value}"
    if key == "epochs" and isinstance(value, float) and value.is_integer():
        value = int(value)
    text: str = yaml.dump(
        {key: value},
        Dumper=ConfigDumper,
        default_flow_style=False,
        allow_unicode=True,
        width=_NEVER_FOLD,
        sort_keys=False,
    )
    return text.rstrip("\n")


class ConfigDumper(yaml.SafeDumper):
    """Puts a text in quotes whenever our own reader, or another YAML reader, would take it for something else."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        misread = not isinstance(meaning_of(text), str) or text.lower() in WORDS_MEANT_AS_NULL
        return self.represent_scalar("tag:yaml.org,2002:str", text, style='"' if misread or "\n" in text else None)

    def represent_items(self, items: tuple[Any, ...]) -> yaml.SequenceNode:
        in_one_line = not isinstance(items[0], str | Section) if items else True
        return self.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=in_one_line)


ConfigDumper.add_representer(str, ConfigDumper.represent_text)
ConfigDumper.add_multi_representer(Section, lambda dumper, section: dumper.represent_dict(section.model_dump()))
ConfigDumper.add_representer(tuple, ConfigDumper.represent_items)
