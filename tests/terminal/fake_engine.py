"""An engine that only writes events: `fake_engine.py train --config C --run-dir DIR`, steered by the environment.

FAKE_PAST steps are written at once, then one each FAKE_DT seconds up to FAKE_STEPS. FAKE_GPU=1 reports a GPU.
FAKE_SPIKE and FAKE_NAN name a step each, FAKE_RECORD=1 keeps the batch of the former. It obeys all commands.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sys
import time
from pathlib import Path

from engine.events import (
    Ack,
    Advice,
    Alert,
    Checkpoint,
    End,
    Eval,
    EventWriter,
    Gpu,
    Host,
    ModelInfo,
    Phase,
    Start,
    Step,
    StepMemory,
    StepTime,
)
from engine.events.console import format_step
from engine.events.control_line import Command, Refused, parse_command
from engine.rundir import RunDir, register_run, this_process, write_run_info


def setting(name: str, default: float) -> float:
    return float(os.environ.get(name, default))


class FakeEngine:
    def __init__(self, run: RunDir, name: str) -> None:
        self.run = run
        self.random = random.Random(7)
        self.total = int(setting("FAKE_STEPS", 100))
        self.has_gpu = os.environ.get("FAKE_GPU") == "1"
        self.clock = time.time()
        self.rate = 1e-5
        self.commands_read = 0
        self.events = EventWriter(run.events, now=lambda: self.clock)
        info = this_process(run, name)
        write_run_info(run, info)
        register_run(run, name, info.started)

    def train(self, config: str) -> int:
        self.events.write(Phase(name="loading model", progress=0.4))
        model = ModelInfo(name="fake", params=4_000_000, trainable=3_000_000)
        gpus = ("NVIDIA A100-SXM4-40GB",) if self.has_gpu else ()
        command = " ".join(sys.argv)
        start = Start(
            run=self.run.id,
            command=command,
            config=config,
            model=model,
            device="cpu",
            gpus=gpus,
            total_steps=self.total,
        )
        self.events.write(start)
        self.events.write(Phase(name="training"))
        past, dt = int(setting("FAKE_PAST", 0)), setting("FAKE_DT", 0.1)
        self.clock -= past * dt
        for number in range(1, self.total + 1):
            if number <= past:
                self.clock += dt
            else:
                time.sleep(dt)
                self.clock = time.time()
            self.step(number, dt)
            if self.asked_to_stop(number):
                return self.end("stopped", f"asked to stop at step {number}", number)
        return self.end("finished", "all steps done", self.total)

    def step(self, number: int, dt: float) -> None:
        loss = 1.65 + 3.6 * math.exp(-number / (self.total / 12)) + self.random.gauss(0, 0.05)
        norm = 0.3 + math.exp(-number / 40) + abs(self.random.gauss(0, 0.05))
        if number == int(setting("FAKE_SPIKE", -1)):
            loss, norm = 9.41, 6.2
            self.spike(number, loss)
        if number == int(setting("FAKE_NAN", -1)):
            loss = math.nan
        seconds = dt * (1 + abs(self.random.gauss(0, 0.04)))
        mem = StepMemory()
        if self.has_gpu:
            mem = StepMemory(
                allocated=15.7,
                reserved=16.4,
                peak=16.1,
                weights=7.8,
                gradients=0.3,
                optimizer=2.1,
                activations=4.9,
                other=0.6,
            )
        step = Step(
            step=number,
            epoch=number / self.total * 2,
            loss=loss,
            lr=self.rate,
            grad_norm=norm,
            dt=seconds,
            tokens=1024,
            slots=1100,
            loss_tokens=600,
            tok_s=1024 / seconds,
            time=StepTime(
                data=seconds * 0.01, forward=seconds * 0.3, backward=seconds * 0.6, optimizer=seconds * 0.07, gc=0.0
            ),
            mem=mem,
            rows=(number, number + 1),
        )
        self.events.write(step)
        print(format_step(step), flush=True)
        if number % max(self.total // 10, 1) == 0:
            self.events.write(
                Eval(step=number, loss=1.7 + 3 * math.exp(-number / (self.total / 8)), tokens=4096, best=True)
            )
        if number % 10 == 0 or number == 1:
            self.measure_machine()

    def measure_machine(self) -> None:
        if self.has_gpu:
            self.events.write(
                Gpu(
                    index=0,
                    uuid="GPU-1",
                    name="A100-SXM4-40GB",
                    utilisation=98,
                    used_by_us=16.4,
                    used_by_others=0.4,
                    total=39.4,
                    temperature=63,
                    power=291,
                )
            )
        self.events.write(Host(cpu=187, rss=1.2, disk_free=312, cores=2, memory_available=19.0, memory_total=24.0))

    def spike(self, number: int, loss: float) -> None:
        if os.environ.get("FAKE_RECORD") == "1":
            self.record(number, loss)
        advice = Advice(key="train.learning_rate", value=5e-6, why="halves the step where the loss jumped")
        self.events.write(
            Alert(
                id=f"spike-{number}",
                state="open",
                code="SPIKE_SKIPPED",
                severity="warning",
                meaning="The loss of this batch lies far above the recent ones, so its update was not taken.",
                step=number,
                value=loss,
                baseline=1.7,
                advice=(advice,),
                rows=(8812, 8813),
            )
        )

    def record(self, number: int, loss: float) -> None:
        losses = [None, *(round(self.random.expovariate(0.5), 3) for _ in range(39))]
        rows = [
            {
                "row": row,
                "file": "/data/chats.jsonl",
                "line": row + 1,
                "input_ids": list(range(100, 140)),
                "has_loss": [False] + [True] * 39,
                "losses": losses,
            }
            for row in (8812, 8813)
        ]
        self.run.spikes.mkdir(exist_ok=True)
        left_out = {"rows": [8814], "tokens": 77}
        record = {"v": 1, "step": number, "loss": loss, "grad_norm": None, "rows": rows, "left_out": left_out}
        self.run.spike(number).write_text(json.dumps(record))

    def asked_to_stop(self, step: int) -> bool:
        """Obey what is new in `control.jsonl`, wait in a pause; True where the run is to stop."""
        stops, paused = False, False
        while True:
            for command in self.new_commands():
                ok, message = self.obey(command, step)
                cmd = command.cmd
                self.events.write(Ack(id=command.id, ok=ok, message=message, cmd=cmd, by=command.by))
                stops = stops or cmd == "stop"
                paused = cmd == "pause" or (paused and cmd != "resume")
                if cmd in ("pause", "resume"):
                    self.events.write(Phase(name="paused" if paused else "training"))
            if stops or not paused:
                return stops
            time.sleep(0.02)
            self.clock = time.time()

    def obey(self, command: Command | Refused, step: int) -> tuple[bool, str]:
        if isinstance(command, Refused):
            return False, command.why
        match command.cmd:
            case "checkpoint":
                path = f"checkpoints/step-{step}"
                self.events.write(
                    Checkpoint(step=step, path=path, seconds=0.1, bytes=9_000_000, checkpoint_kind="step")
                )
                return True, f"saved step {step}"
            case "evaluate":
                self.events.write(Eval(step=step, loss=1.71, tokens=4096))
                return True, "loss 1.71"
            case "scale_lr":
                before, self.rate = self.rate, self.rate * command.args["factor"]
                return True, f"learning rate {before:g} -> {self.rate:g} from step {step + 1} on"
            case "stop":
                return True, f"stops after step {step} with a checkpoint"
            case "pause":
                return True, f"pauses after step {step}"
        return True, f"goes on after step {step}"

    def new_commands(self) -> list[Command | Refused]:
        if not self.run.control.exists():
            return []
        lines = self.run.control.read_bytes().split(b"\n")[:-1]
        new, self.commands_read = lines[self.commands_read :], len(lines)
        return [parse_command(line) for line in new if line.strip()]

    def end(self, status: str, reason: str, step: int) -> int:
        path = f"checkpoints/step-{step}"
        self.events.write(Checkpoint(step=step, path=path, seconds=0.4, bytes=9_000_000, checkpoint_kind="final"))
        self.events.write(End(status=status, reason=reason, exit_code=0, last_step=step))  # type: ignore[arg-type]
        self.events.close()
        return 0


def main() -> int:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    arguments = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=False))
    run = RunDir(Path(arguments["--run-dir"]))
    run.path.mkdir(parents=True, exist_ok=True)
    return FakeEngine(run, "quickstart").train(arguments.get("--config", ""))


if __name__ == "__main__":
    sys.exit(main())
