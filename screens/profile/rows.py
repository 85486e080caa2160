"""The rows of the settings: what each is called, its value, and what it was."""

from __future__ import annotations

from pgs_tui.profiling.profiling import Profiling
from pgs_tui.profiling.settings import GPU, SETTINGS, Setting, shown_value
from pgs_tui.profiling.what_if import WhatIf
from pgs_tui.widgets.setting_list import SettingRow

ABOUT_GPU = "The GPU that the estimate is judged by: this machine's own, or one of the table. Enter lists all of them."


def rows_of(profiling: Profiling, words: str) -> tuple[SettingRow, ...]:
    """Every setting, and keys that were changed besides; only those with these words in name or key."""
    what_if = profiling.what_if
    others = [key for key in (what_if.changes if what_if else ()) if key not in {one.key for one in SETTINGS}]
    settings = (*SETTINGS, *(Setting(key, key.partition(".")[2]) for key in others))
    rows = (_row(profiling, one) for one in settings)
    return tuple(row for row in rows if words.lower() in f"{row.name} {row.key}".lower())


def _row(profiling: Profiling, setting: Setting) -> SettingRow:
    what_if = profiling.what_if
    if setting.key == GPU:
        return SettingRow(GPU, setting.name, setting.name, profiling.gpu_name, _gpu_before(what_if), ABOUT_GPU)
    if what_if is None:
        return SettingRow(setting.key, setting.name, setting.short_name, "…")
    kind = what_if.opened.kinds.get(setting.key)
    changed = what_if.is_changed(setting.key)
    return SettingRow(
        setting.key,
        setting.name,
        setting.short_name,
        shown_value(what_if.value(setting.key)),
        shown_value(what_if.opened.values.get(setting.key)) if changed else None,
        kind.description if kind else "",
    )


def _gpu_before(what_if: WhatIf | None) -> str | None:
    if what_if is None or what_if.wanted.target == what_if.first.target:
        return None
    return str(what_if.first.target)
