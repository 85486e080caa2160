"""Tells of each step: its event, its alerts, its line on the console."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from torch import Tensor

from engine.backward.norm import GradientNorms
from engine.config import Config
from engine.errors import UserError
from engine.events import Step
from engine.events.console import format_skipped, format_step
from engine.health import TrainingHealth
from engine.session.session import Session
from engine.train.telling.estimate_report import EstimateCheck
from engine.train.telling.step_report import StepReport

SKIPPED = "SKIPPED_IN_A_ROW"


class StepTeller:
    """Holds the report of a step until its last numbers are on the host, then tells of it. Nothing is told twice."""

    def __init__(
        self, config: Config, session: Session, health: TrainingHealth, norms: GradientNorms, total_steps: int
    ) -> None:
        self._config = config
        self._session = session
        self._health = health
        self._norms = norms
        self._total_steps = total_steps
        self.untold: StepReport | None = None
        """The last step, while some of its numbers are still on the device."""
        self.last_told: Step | None = None
        self.estimate: EstimateCheck | None = None
        """What steps are expected to take of a GPU's memory, where that was told."""

    @property
    def readings(self) -> Tensor | None:
        """The numbers of the last step that are still on the device, float64 [n]."""
        return None if self.untold is None else self.untold.readings

    def tell_last_step(self, readings: Sequence[float] | None = None) -> None:
        """Tell of the last step, and raise UserError when the run does not recover.

        `readings` are its numbers where they were fetched from the device already; otherwise this waits for them.
        """
        report, self.untold = self.untold, None
        if report is None:
            return
        if report.readings is not None:
            report = report.with_readings(readings or report.readings.tolist())
        event, judgement = report.event, report.judgement
        self._session.emit(event)
        if self.estimate is not None and (note := self.estimate.sentence(event)):
            self._session.say(note)
        afterwards = self._health.after(
            event.step,
            event.loss,
            event.grad_norm,
            event.moved,
            learning_rate=event.lr,
            skipped=event.skipped,
            rows=event.rows,
            non_finite_parameter=self._norms.first_not_finite() if self._is_broken(event) else None,
        )
        for alert in (*judgement.alerts, *afterwards):
            self._session.emit(alert)
        if judgement.verdict is None:
            self._session.say(f"step={event.step} skipped: no token of its {len(event.rows)} rows has loss")
        elif judgement.skip:
            self._session.say(format_skipped(event, judgement.verdict.metric, judgement.verdict.baseline))
        self.last_told = event
        if not is_due(event.step, self._config.data.eval_every):  # else its line waits for the evaluation
            self.print_last_step()
        if judgement.stop is not None:
            last_good = self._session.where.last_checkpoint or "none was saved yet"
            raise UserError(f"{judgement.stop}. Last good checkpoint: {last_good}.", code=SKIPPED, has_alert=True)

    @contextmanager
    def losing_no_step(self) -> Iterator[None]:
        """Within, a step that was taken is told also where the next one fails before its gate."""
        try:
            yield
        except Exception:
            with suppress(RuntimeError):  # of a device that is lost, and the numbers with it
                self.tell_last_step()
            raise

    def print_last_step(self, eval_loss: float | None = None) -> None:
        """One line in each `logging_steps`, at the first and last step, and with every evaluation.

        A skipped step has a line of its own already.
        """
        step = self.last_told
        assert step is not None, "no step has been told"
        is_border = step.step in (1, self._total_steps)
        is_wanted = (is_border or is_due(step.step, self._config.train.logging_steps)) and not step.skipped
        if is_wanted or eval_loss is not None:
            self._session.say(format_step(step, eval_loss))

    def _is_broken(self, event: Step) -> bool:
        """Whether a gradient was not finite that release alone has measured."""
        releases = self._config.memory.gradient_release
        return releases and event.grad_norm is not None and not math.isfinite(event.grad_norm)


def is_due(step: int, every: int | None) -> bool:
    """True at each `every`-th step."""
    return every is not None and step % every == 0
