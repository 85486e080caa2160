"""Once a second: a `gpu` event for each card of the training, and a `host` event."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from engine.events import Alert, Event, Gpu
from engine.monitor.cards import read_card
from engine.monitor.devices import Watched, watched_cards
from engine.monitor.host import HostReader
from engine.monitor.nvml import Card, Nvml, NvmlError, open_nvml

Emit = Callable[[Event], None]
OwnBytes = Callable[[int], int | None]

PATIENCE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Sampler:
    """Emits `gpu` and `host` events from a thread of its own until stopped.

    `emit` is called from that thread. `devices_in_use` are the UUIDs of the training's devices, in its order;
    `own_bytes` tells what our allocator holds on the n-th of them, for machines where NVML does not know our
    processes. Without an NVIDIA driver only `host` events come. Nothing that fails here ends the thread: a card that
    is lost becomes a critical alert, any other failure a warning, each once.
    """

    def __init__(
        self,
        emit: Emit,
        run_dir: Path,
        *,
        devices_in_use: Sequence[str] = (),
        own_bytes: OwnBytes | None = None,
        environment: Mapping[str, str] = os.environ,
        open_library: Callable[[], Nvml] = open_nvml,
        host: HostReader | None = None,
        interval: float = 1.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._emit = emit
        self._host = host or HostReader(run_dir)
        self._devices_in_use = devices_in_use
        self._own_bytes = own_bytes
        self._environment = environment
        self._open_library = open_library
        self._interval = interval
        self._now = now
        self._nvml: Nvml | None = None
        self._watched = Watched(())
        self._opened = False
        self._chosen = False
        self._lost_since: dict[str, float] = {}
        self._said: set[str] = set()
        self._also: Callable[[], None] | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def also(self, look: Callable[[], None]) -> None:
        """Call this in each round, too: the thread is there when the training's own is busy. Before `start`."""
        self._also = look

    def start(self) -> None:
        """Begin to sample. May be called once."""
        assert self._thread is None, "a sampler starts once"
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for its round to end, unless the driver hangs. May be called again."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(PATIENCE_SECONDS)

    def narrow_to(self, devices_in_use: Sequence[str], own_bytes: OwnBytes) -> None:
        """From the next round on watch these devices of the training alone; it knows them only once it has begun."""
        self._devices_in_use, self._own_bytes = devices_in_use, own_bytes
        self._chosen = False

    def __enter__(self) -> Sampler:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def sample(self) -> None:
        """One round over all cards and the machine; the thread calls this."""
        self._guard("GPU monitor", self._open)
        self._guard("choice of GPUs", self._choose)
        self._guard("sampling", self._sample_all)
        if self._also is not None:
            self._guard("look at control.jsonl", self._also)

    def _sample_all(self) -> None:
        processes = self._host.processes()
        own_pids = {process.pid for process in processes}
        for place, card in enumerate(self._watched.cards):
            self._guard(f"monitor of GPU {card.index}", lambda: self._sample_card(place, card, own_pids))  # noqa: B023
        self._guard("host monitor", lambda: self._emit(self._host.read(processes)))

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ended.is_set():
            self.sample()
            due = max(due + self._interval, time.monotonic())
            self._ended.wait(due - time.monotonic())
        if self._nvml is not None:
            self._guard("GPU monitor", self._nvml.close)

    def _open(self) -> None:
        if self._opened:
            return
        self._opened = True
        try:
            self._nvml = self._open_library()
        except NvmlError as fault:
            _log.debug("no GPU is monitored: %s", fault)
            return

    def _choose(self) -> None:
        if self._nvml is not None and not self._chosen:
            self._chosen = True
            self._watched = watched_cards(self._nvml, self._environment, self._devices_in_use)

    def _sample_card(self, place: int, card: Card, own_pids: set[int]) -> None:
        own = self._own_bytes(place) if self._own_bytes is not None else None
        try:
            event = read_card(card, own_pids, own, self._watched.unsure)
        except NvmlError as fault:
            self._emit(self._lost(card, fault))
            return
        if card.uuid in self._lost_since and event.total is None:
            event = self._still_lost(card)  # after the loss some queries only say "unknown error"
        elif self._lost_since.pop(card.uuid, None) is not None:
            self._emit(_lost_alert(card, "closed", f"GPU {card.index} answers again."))
        self._emit(event)

    def _lost(self, card: Card, fault: NvmlError) -> Gpu:
        if card.uuid not in self._lost_since:
            self._lost_since[card.uuid] = self._now()
            meaning = (
                f"GPU {card.index} ({card.name}) does not answer any more ({fault}): it has fallen off the bus. "
                "Training on it cannot go on; the driver's messages (dmesg, Xid) say why, and the machine needs a "
                "restart."
            )
            self._emit(_lost_alert(card, "open", meaning))
        return self._still_lost(card)

    def _still_lost(self, card: Card) -> Gpu:
        since = time.strftime("%H:%M", time.localtime(self._lost_since[card.uuid]))
        return Gpu(index=card.index, uuid=card.uuid, name=card.name, error=f"lost since {since}")

    def _guard(self, what: str, action: Callable[[], None]) -> None:
        """Do it; a failure is said once and must not end the sampling."""
        try:
            action()
        except Exception as error:
            text = f"The {what} failed: {type(error).__name__}: {error}. The training is not affected."
            if text in self._said:
                return
            self._said.add(text)
            _log.warning("%s", text, exc_info=True)
            self._tell(
                Alert(
                    id=f"monitor-{len(self._said)}",
                    state="open",
                    code="MONITOR_FAILED",
                    severity="warning",
                    meaning=text,
                )
            )

    def _tell(self, alert: Alert) -> None:
        try:
            self._emit(alert)
        except Exception:
            _log.exception("the alert above could not be written")


def _lost_alert(card: Card, state: Literal["open", "closed"], meaning: str) -> Alert:
    return Alert(id=f"gpu-lost-{card.uuid}", state=state, code="GPU_LOST", severity="critical", meaning=meaning)
