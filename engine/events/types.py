"""The events of a run: what the engine writes to `events.jsonl` and every reader understands.

One frozen dataclass per kind. Sizes of memory are GiB, durations are seconds, shares are 0 to 1 unless a field says
percent. A field that was not measured is None; a number that is not finite stays NaN or infinity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

Severity = Literal["info", "warning", "error", "critical"]
AlertState = Literal["open", "update", "closed"]
EndStatus = Literal["finished", "stopped", "failed"]
CheckpointKind = Literal["step", "best", "final"]
PhaseName = Literal[
    "downloading",
    "loading model",
    "reading data",
    "tokenizing",
    "compiling",
    "rehearsing",
    "training",
    "evaluating",
    "saving",
    "paused",
]
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """The model in training: its name, all its weights, and how many of them are trained."""

    name: str
    params: int
    trainable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The engine has loaded everything and is about to train.

    `judged` are the codes of the alerts that the engine raises itself, so that a reader judges only the rest; a log of
    an earlier version has none. `slow_paths` say, a sentence each, what runs slower on this machine than it could.
    """

    kind: ClassVar[str] = "start"
    run: str
    command: str
    config: str
    model: ModelInfo
    device: str
    world_size: int = 1
    gpus: tuple[str, ...] = ()
    total_steps: int | None = None
    judged: tuple[str, ...] = ()
    slow_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What the engine is doing now; `done` of `total` counts `unit` ("rows", "bytes") where such a count exists."""

    kind: ClassVar[str] = "phase"
    name: str
    progress: float | None = None
    done: int | None = None
    total: int | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFlag:
    """One finding about the data: how many rows it touches and the first of them."""

    code: str
    severity: Severity
    count: int
    message: str
    first_rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The findings about the data, and its counts (rows read, kept, tokens, loss tokens ...)."""

    kind: ClassVar[str] = "audit"
    flags: tuple[AuditFlag, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Where a step's seconds went. `optimizer` is None when the update happens inside the backward pass."""

    data: float | None = None
    forward: float | None = None
    backward: float | None = None
    optimizer: float | None = None
    gc: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMemory:
    """The accelerator's memory at the end of a step, GiB."""

    allocated: float | None = None
    reserved: float | None = None
    peak: float | None = None
    weights: float | None = None
    gradients: float | None = None
    optimizer: float | None = None
    activations: float | None = None
    other: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One optimizer step, counted from 1.

    `loss` is the mean over the loss tokens of the whole batch, None when it had none; `hidden_norm` is the norm of its
    gradient at the last hidden state, by which steps are judged before any weight moves; `grad_norm` is taken before
    clipping; `dt` leaves out evaluation and saving; `tok_s` counts real tokens, `slots` padding too.
    """

    kind: ClassVar[str] = "step"
    step: int
    epoch: float
    loss: float | None
    lr: float
    grad_norm: float | None
    dt: float
    tokens: int
    slots: int
    loss_tokens: int
    tok_s: float
    ce_loss: float | None = None
    clip_scale: float | None = None
    time: StepTime = field(default_factory=StepTime)
    mem: StepMemory = field(default_factory=StepMemory)
    hidden_norm: float | None = None
    moved: float | None = None
    skipped: bool = False
    recompiles: int | None = None
    rows: tuple[int, ...] = ()
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the GPU's memory was expected to come to before training began, GiB.

    `peak` is the most that a step of the longest batch allocates at once, `reserved` what the allocator takes for it;
    `components` are the parts of the peak by name, and `decides` is the phase of a step in which it is reached. `tok_s`
    is the speed expected of such steps, tokens a second with padding; None where this GPU's rate is not known.
    """

    kind: ClassVar[str] = "estimate"
    peak: float
    reserved: float
    components: dict[str, float]
    decides: str
    tok_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Eval:
    """Mean loss over the evaluation data after `step` steps; `best` says that none was lower before.

    It took `seconds`, 0 where that was not measured.
    """

    kind: ClassVar[str] = "eval"
    step: int
    loss: float
    name: str = "eval"
    tokens: int = 0
    best: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One device, once a second. `error` says why numbers are missing (lost card, MIG slice, no permission)."""

    kind: ClassVar[str] = "gpu"
    index: int
    uuid: str
    name: str = ""
    utilisation: float | None = None
    """Percent."""
    used_by_us: float | None = None
    used_by_others: float | None = None
    total: float | None = None
    temperature: float | None = None
    """Degrees Celsius."""
    power: float | None = None
    """Watts."""
    throttle: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The machine, once a second. `cpu` is the engine's share in percent of one core; memory in GiB.

    `io_pressure` and `cpu_pressure` are the percentages of the last ten seconds in which some process waited for a
    disk, for a core, by Linux's count.
    """

    kind: ClassVar[str] = "host"
    cpu: float
    rss: float
    disk_free: float
    cores: int = 1
    memory_available: float | None = None
    memory_total: float | None = None
    io_pressure: float | None = None
    cpu_pressure: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A configuration key to try and the value to try it with.

    `also` are other keys and their values, without which the config would be refused or mean something else. The value
    is None where the run's own is not known.
    """

    key: str
    value: Scalar
    why: str = ""
    also: tuple[tuple[str, Scalar], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An incident. The same `id` opens, updates and closes; `count` is the number of steps it has touched.

    `metric` is the field of a step that `value` and `baseline` belong to ("loss", "grad_norm"), where they do; `spread`
    is the deviation that is usual around the baseline, where that was judged.
    """

    kind: ClassVar[str] = "alert"
    id: str
    state: AlertState
    code: str
    severity: Severity
    meaning: str
    step: int | None = None
    metric: str | None = None
    value: float | None = None
    baseline: float | None = None
    spread: float | None = None
    count: int = 1
    advice: tuple[Advice, ...] = ()
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A complete checkpoint now stands at `path` (relative to the run's folder)."""

    kind: ClassVar[str] = "checkpoint"
    step: int
    path: str
    seconds: float
    bytes: int
    checkpoint_kind: CheckpointKind = field(default="step", metadata={"json": "kind"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Training goes on from a checkpoint: steps after `from_step` are written anew and replace earlier ones."""

    kind: ClassVar[str] = "resume"
    from_step: int
    checkpoint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """The answer to a command from `control.jsonl`, for everybody who looks at the run.

    `id` is the command's own, `cmd` what was asked and `by` who asked; each is empty where the line did not tell.
    With `later` the command is promised, and another answer with its `id` tells what came of it.
    """

    kind: ClassVar[str] = "ack"
    id: str
    ok: bool
    message: str
    cmd: str = ""
    by: str = ""
    later: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last event of a run that ended by itself."""

    kind: ClassVar[str] = "end"
    status: EndStatus
    reason: str
    exit_code: int
    last_step: int


Event = Start | Phase | Audit | Estimate | Step | Eval | Gpu | Host | Alert | Checkpoint | Resume | Ack | End
EVENT_TYPES: tuple[type[Event], ...] = (
    Start,
    Phase,
    Audit,
    Estimate,
    Step,
    Eval,
    Gpu,
    Host,
    Alert,
    Checkpoint,
    Resume,
    Ack,
    End,
)


@dataclass(frozen=True, slots=True)
class Stamped:
    """An event with the moment it was written, unix seconds."""

    t: float
    event: Event
