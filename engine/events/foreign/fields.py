"""What a value is, by the name that a tool gives it: a key of a dict, a column of a table, a tag of TensorBoard."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

Field = Literal["step", "total", "epoch", "loss", "lr", "grad_norm", "dt", "tok_s", "tokens_seen", "eval_loss", "t"]

_NAMES: dict[str, Field] = {
    **dict.fromkeys(("step", "global_step", "train_step", "iter", "iteration", "trainer/global_step", "_step"), "step"),
    **dict.fromkeys(("total_steps", "max_steps"), "total"),
    **dict.fromkeys(("epoch",), "epoch"),
    **dict.fromkeys(("loss", "train_loss", "training_loss", "loss_step", "train_loss_step", "loss/train"), "loss"),
    **dict.fromkeys(("lr", "learning_rate"), "lr"),
    **dict.fromkeys(
        ("grad_norm", "gradient_norm", "gnorm", "global_grad_norm", "global_gradient_norm", "grad_norm_total"),
        "grad_norm",
    ),
    **dict.fromkeys(("dt", "step_time", "iter_time", "time_per_step", "seconds_per_step", "sec/step", "s/step"), "dt"),
    **dict.fromkeys(
        ("tok/s", "tok_s", "tokens/s", "tokens/sec", "tokens_per_second", "tokens_per_sec", "tokens_per_s"), "tok_s"
    ),
    **dict.fromkeys(("num_tokens", "num_input_tokens_seen", "tokens_seen", "total_tokens"), "tokens_seen"),
    **dict.fromkeys(
        ("eval", "eval_loss", "val_loss", "valid_loss", "validation_loss", "loss/val", "loss/eval", "loss/validation"),
        "eval_loss",
    ),
    **dict.fromkeys(("timestamp", "_timestamp", "wall_time"), "t"),
}
_GROUPS = frozenset(("train", "training", "trainer", "optim", "optimizer", "perf", "throughput"))
_EVALUATIONS = frozenset(("eval", "val", "valid", "validation"))


@lru_cache(maxsize=4096)
def field_of(name: str) -> Field | None:
    """The field that a name means, None for one that is not known.

    `train/` and the like before it say nothing more, `eval/` before a loss makes it that of an evaluation. A learning
    rate of one of several groups of weights (`lr-AdamW/pg1`) is the learning rate.
    """
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    if plain in _NAMES:
        return _NAMES[plain]
    group, slash, rest = plain.partition("/")
    if slash and group in _EVALUATIONS:
        return "eval_loss" if _NAMES.get(rest) == "loss" else None
    if slash and group in _GROUPS:
        return _NAMES.get(rest) if not rest.startswith("train") else None
    return "lr" if plain.startswith(("lr_", "learning_rate/")) else None
