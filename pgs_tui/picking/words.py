"""What the list and the details say of a config, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgs_tui.format import gib, plain, value, whole
from pgs_tui.picking.checking import data_sets, what_trains

if TYPE_CHECKING:
    from engine.config import Config
    from engine.rundir import Liveness
    from pgs_tui.picking.collection import Entry
    from pgs_tui.picking.last_runs import LastRun

RUN_WORDS: dict[Liveness, tuple[str, str]] = {
    "live": ("●", "is going"),
    "starting": ("○", "is starting"),
    "elsewhere": ("●", "goes on elsewhere"),
    "finished": ("✔", "finished"),
    "stopped": ("■", "was stopped"),
    "failed": ("✖", "failed"),
    "killed": ("✖", "was killed"),
    "lost": ("✖", "was lost sight of"),
    "unreadable": ("?", "may not be read"),
}
"""A sign and words for each state of a run."""
_SPANS = ((86400.0 * 7, "w"), (86400.0, "d"), (3600.0, "h"), (60.0, "m"))


def age(seconds: float) -> str:
    """How long ago, in one unit: `now`, `5 m`, `3 h`, `2 d`, `9 w`."""
    return next((f"{seconds / span:.0f} {unit}" for span, unit in _SPANS if seconds >= span), "now")


def code_of(model: str) -> str:
    """What `model.trust_remote_code: true` means."""
    return (
        f"model.trust_remote_code is on: Python code that comes with {plain(model)} runs on this machine, as you, "
        "with all that you may do"
    )


def memory(entry: Entry, hopeless: bool = False) -> str:
    """`15.7 GiB`; `…` while it is being worked out, `–` where there is no answer, or `hopeless`ly none will come."""
    if entry.estimate is not None:
        return f"{gib(entry.estimate.total)} GiB"
    if entry.is_valid is False or entry.trouble or entry.asks_for_trust or hopeless:
        return "–"
    return "…"


def short_run(run: LastRun, now: float) -> str:
    """`✔ 3 h`."""
    return f"{RUN_WORDS[run.life][0]} {'now' if run.is_going else age(now - run.started)}"


def long_run(run: LastRun, now: float) -> str:
    """`✔ 3 h ago  1.92`, the loss at its end."""
    when = age(now - run.started)
    ago = "now" if run.is_going or when == "now" else f"{when} ago"
    loss = value(run.loss, 3) if run.loss is not None else ""
    return f"{RUN_WORDS[run.life][0]} {ago:<8} {loss:>5}".rstrip()


def told_run(run: LastRun, now: float) -> str:
    """`last run finished: step 200 of 200, loss 1.92, started 3 h ago`."""
    of_total = f" of {whole(run.total_steps)}" if run.total_steps else ""
    step = f": step {whole(run.step)}{of_total}" if run.step is not None else ""
    loss = f", loss {value(run.loss)}" if run.loss is not None else ""
    when = age(now - run.started)
    started = "just now" if when == "now" else f"{when} ago"
    return f"{RUN_WORDS[run.life][1]}{step}{loss}, started {started} ({run.id})"


def what_it_does(config: Config) -> str:
    """What is trained on what, and how much of it in a step."""
    train = config.train
    tokens = train.per_device_batch_size * config.data.max_seq_length * train.gradient_accumulation_steps
    count = train.per_device_batch_size
    lines = f"{count} {'line' if config.data.packing else 'chat'}{'' if count == 1 else 's'}"
    passes = f", {train.gradient_accumulation_steps} passes" if train.gradient_accumulation_steps > 1 else ""
    most = "" if config.data.packing else "at most "
    each = f"{lines} of {most}{whole(config.data.max_seq_length)} tokens{passes}"
    per_step = f"{most}{whole(tokens)} tokens a step"
    return f"{what_trains(config)} on {', '.join(data_sets(config)) or 'no data'}: {each}, {per_step}"


def how_it_trains(config: Config) -> str:
    """Optimizer, learning rate and what is traded for memory."""
    train, memory_keys = config.train, config.memory
    switches = {
        f"checkpointing {train.gradient_checkpointing}": train.gradient_checkpointing != "none",
        "gradient release": memory_keys.gradient_release,
        "tiled head": memory_keys.tiled_head,
        "offload": memory_keys.offload_activations,
        f"{memory_keys.layer_slices} slices": memory_keys.layer_slices > 1,
        "float8": memory_keys.float8_training,
        "compiled": config.model.compile,
        "random weights": config.model.init == "random",
    }
    chosen = [name for name, on in switches.items() if on]
    return " · ".join([f"{train.optimizer} at {train.learning_rate:g}", *chosen])
