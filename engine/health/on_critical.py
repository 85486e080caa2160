"""The command that a person wants run when something critical happens."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from engine.events.types import Alert, Scalar

SHELL = "/bin/sh"
MOST_AT_ONCE = 4
"""Commands that may run at the same time; a fifth one is not started."""
_LONGEST = 4000
"""Characters of a text in the environment."""


class OnCritical:
    """Starts the command in a shell of its own. What it is told stands in its environment alone, never in its text:

    PGS_RUN (the run's folder or the log), PGS_CODE, PGS_SEVERITY, PGS_STEP, PGS_MEANING and PGS_ADVICE (one
    `key: value` a line). It gets no terminal, and its output is thrown away.
    """

    def __init__(self, command: str, run: str) -> None:
        self._command = command
        self._run = run
        self._going: list[subprocess.Popen[bytes]] = []

    def start(self, alert: Alert) -> str | None:
        """Start the command for this alert; returns why not, where that cannot be done."""
        self._going = [process for process in self._going if process.poll() is None]
        if len(self._going) >= MOST_AT_ONCE:
            return f"the command for {alert.code} was not started: {MOST_AT_ONCE} earlier ones still run"
        try:
            self._going.append(
                subprocess.Popen(
                    (SHELL, "-c", self._command),
                    env={**os.environb, **_told(alert, self._run)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
        except OSError as error:
            return f"the command for {alert.code} could not be started: {error.strerror or error}"
        return None

    def failures(self) -> list[str]:
        """A sentence for each command that has ended with an error since the last time."""
        ended = [process for process in self._going if process.poll() is not None]
        self._going = [process for process in self._going if process not in ended]
        return [f"the command on critical alerts ended with code {one.returncode}" for one in ended if one.returncode]


def _told(alert: Alert, run: str) -> Mapping[bytes, bytes]:
    told = {
        "PGS_RUN": run,
        "PGS_CODE": alert.code,
        "PGS_SEVERITY": alert.severity,
        "PGS_STEP": "" if alert.step is None else str(alert.step),
        "PGS_MEANING": alert.meaning,
        "PGS_ADVICE": "\n".join(f"{advice.key}: {as_yaml(advice.value)}" for advice in alert.advice),
    }
    return {name.encode(): _as_bytes(text) for name, text in told.items()}


def _as_bytes(text: str) -> bytes:
    return text[:_LONGEST].replace("\0", "").encode("utf-8", "replace")


def as_yaml(value: Scalar) -> str:
    """A value as one writes it in a config."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
