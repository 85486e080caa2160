"""A run in the middle of its training, as the tests of the dashboard use it."""

from engine.events import (
    Alert,
    Gpu,
    ModelInfo,
    Phase,
    Start,
    StepMemory,
    StepTime,
)
from pgs_tui.runs.follow import Update
from tests.pgs_tui.making import stamped, step

MODEL = ModelInfo(name="m", params=10, trainable=10)
START = Start(run="r", command="c", config="x", model=MODEL, device="cuda", total_steps=6000)
GPU = Gpu(index=0, uuid="u", name="A100", utilisation=98, used_by_us=15.7, total=39.4, temperature=60, power=300)
TIME = StepTime(data=0.012, forward=0.4, backward=0.7, optimizer=0.07)
MEM = StepMemory(allocated=15.7, peak=16.1, weights=8.0, optimizer=2.0)
SPIKE = Alert(
    id="s",
    state="open",
    code="SPIKE_SKIPPED",
    severity="warning",
    meaning="far above the recent ones",
    step=1102,
    value=9.41,
    baseline=1.7,
    rows=(8812, 8813),
)


def training(last: int = 1240, **fields) -> Update:
    values = {"loss": 1.672, "grad_norm": 0.2943, "tok_s": 6180.4, "dt": 1.204, "time": TIME, "mem": MEM}
    steps = [step(number, 2.0) for number in range(last - 60, last)]
    now = step(last, **{**values, **fields})
    events = stamped(START, Phase(name="training"), *steps, now, GPU, start=1000.0 - 63)
    return Update(events=events, log=("the log says hello",), life="live")
