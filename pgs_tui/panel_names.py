"""The panels of the dashboard: their names, their order, their digits."""

from __future__ import annotations

from typing import Literal, get_args

PanelName = Literal[
    "loss",
    "grad_norm",
    "tok_s",
    "dt",
    "lr",
    "moved",
    "parts",
    "gpu",
    "memory_over_steps",
    "ranks",
    "memory",
    "alerts",
    "log",
]
PANELS: tuple[PanelName, ...] = get_args(PanelName)
"""In the order in which they stand before a person moves one."""
STRIPS: tuple[PanelName, ...] = ("memory", "alerts", "log")
"""They take the whole width, below the others."""
BY_DIGIT: tuple[PanelName, ...] = ("loss", "grad_norm", "tok_s", "dt", "memory", "alerts", "log", "parts", "gpu")
"""What the digits from 1 on show and hide."""
WORDS: dict[PanelName, str] = {
    "loss": "loss",
    "grad_norm": "grad norm",
    "tok_s": "tok/s",
    "dt": "dt",
    "lr": "learning rate",
    "moved": "moved",
    "parts": "time parts",
    "gpu": "GPU",
    "memory_over_steps": "memory over steps",
    "ranks": "ranks",
    "memory": "memory",
    "alerts": "alerts",
    "log": "log",
}
"""How the panels are called."""
