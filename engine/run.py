"""`pgs train`: a config becomes a run, and the run ends with an exit code that tells how."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from engine.config import Loaded, dump_config
from engine.errors import UserError
from engine.events import Alert, End, EventWriter
from engine.exit_codes import DISK_FULL, FAILED, INTERRUPTED
from engine.health import as_text, settings_of
from engine.health.advice import with_advice
from engine.monitor import Sampler
from engine.rundir import register_run, replace_text, this_process, write_run_info
from engine.session.console import copied_to
from engine.session.control import ControlInbox
from engine.session.failures import Failure, Whereabouts, explain
from engine.session.open import Opened, git_revision, open_run, versions
from engine.session.readings import Readings
from engine.session.session import Session
from engine.session.started_by import started_by
from engine.session.stop import StopNow, StopSwitch
from engine.session.summary import SummaryWriter


def train_command(loaded: Loaded, command: str, run_dir: Path | None) -> int:
    """Train the config and return the exit code. Everything that happens is told in the run's directory."""
    try:
        opened = open_run(loaded.config, loaded.name, run_dir)
    except UserError as error:
        sys.stderr.write(f"pgs: {error}\n")
        return DISK_FULL if error.code == "DISK_FULL" else FAILED
    run, loaded = opened.run, replace(loaded, name=opened.name)
    with (
        opened.lock,
        StopSwitch() as stop,
        copied_to(run.console_log) as console,
        closing(EventWriter(run.events)) as events,
    ):
        settings = settings_of(loaded.config)
        summary = SummaryWriter(run)
        readings = Readings(lambda event: events.write(with_advice(event, settings)), summary.note)
        inbox, monitor = ControlInbox(run.control, opened.commands_from), Sampler(readings, run.path)
        session = Session(run, events, console, stop, inbox, monitor, settings=settings, readings=readings)
        session.followers.append(summary)
        monitor.also(session.orders.look_instead)
        end = _ended(session, loaded, opened, command)
        session.orders.refuse_rest()
        session.emit(end)
        session.say(f"{end.status}: {end.reason}")
        return end.exit_code


def _ended(session: Session, loaded: Loaded, opened: Opened, command: str) -> End:
    """Train until the end, whatever it is, and say what it was."""
    where = session.where
    try:
        _introduce(session, loaded, opened)
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads starve each other on a busy machine
        with session.monitor:
            with session.stop.ending_at_once():
                from engine.train.assemble import assemble  # brings torch, after the run's folder tells what goes on

                trainer = assemble(loaded, session, opened, command)
            return trainer.run()
    except StopNow:
        reason = f"{session.stop.reason} while the run was being made ready"
        return End(status="stopped", reason=reason, exit_code=0, last_step=where.step)
    except KeyboardInterrupt:
        reason = "interrupted twice: left at once, without a checkpoint of the last steps"
        return End(status="failed", reason=reason, exit_code=INTERRUPTED, last_step=where.step)
    except BaseException as error:
        failure = explain(error, loaded.config, where)
        _report(session, failure, error)
        return End(status="failed", reason=failure.reason, exit_code=failure.exit_code, last_step=where.step)


def _introduce(session: Session, loaded: Loaded, opened: Opened) -> None:
    """Write what is known before the heavy libraries are loaded, so that watchers see the run at once."""
    run = opened.run
    info = this_process(run, loaded.name, parent=opened.parent, started_by=started_by(run, os.environ))
    write_run_info(run, info)
    session.phase("loading model")
    replace_text(run.config_yaml, dump_config(loaded.config))
    session.say(f"run {run.id}: {run.path}")
    for note in (*loaded.notes, *opened.notes):
        session.say(f"note: {note}")
    try:
        register_run(run, loaded.name, info.started)
    except OSError as error:
        session.say(f"note: the run is not in the list of runs, which cannot be written: {error}")
    write_run_info(run, replace(info, versions=versions(), git_revision=git_revision()))


def _report(session: Session, failure: Failure, error: BaseException) -> None:
    session.console.log_only("".join(traceback.format_exception(error)))
    if not failure.has_alert:
        session.emit(_alert(failure, session.where))
    for advice in failure.advice:
        session.say(f"try {as_text(advice)}")


def _alert(failure: Failure, where: Whereabouts) -> Alert:
    return Alert(
        id=f"end-{failure.code.lower()}",
        state="open",
        code=failure.code,
        severity="critical",
        meaning=failure.reason,
        step=where.step or None,
        advice=failure.advice,
        rows=where.rows,
    )
