"""How long runs are, found out behind the answers: reading files may take longer than an answer may wait."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from typing import TYPE_CHECKING

from engine.config import Config

if TYPE_CHECKING:
    from engine.memory.advice.work import RunLength
    from engine.profile.run_length import KnownData

PATIENCE = 1.0
"""Seconds that an answer waits for data that nobody has asked about before."""
_DATA_KEPT, _LENGTHS_KEPT = 4, 64


class Lengths:
    """Remembers the data of the last few configs and the lengths of their runs. For one thread that asks."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "data")
        self._known: OrderedDict[Hashable, KnownData] = OrderedDict()
        self._lengths: OrderedDict[Hashable, Future[RunLength]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, config: Config, *, reads: bool = True, patience: float = PATIENCE) -> RunLength:
        """The length of the run. Where it is not known yet it is found out (unless `reads` is False), for next time."""
        from engine.memory.advice.work import RunLength

        key = (_data_of(config), config.train)
        found = self._lengths.get(key)
        if found is None and (reads or _data_of(config) in self._known):
            found = self._lengths[key] = self._pool.submit(self._find, config)
            while len(self._lengths) > _LENGTHS_KEPT:
                self._lengths.popitem(last=False)
        if found is None:
            return RunLength(None, config.train.max_steps, None, ("steps: the data was not looked at yet",))
        try:
            return found.result(patience)
        except NotYetError:
            return RunLength(None, config.train.max_steps, None, ("steps: the data is being counted",))

    def close(self) -> None:
        """Begin nothing any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _find(self, config: Config) -> RunLength:
        from engine.profile.run_length import known_data, run_length

        key = _data_of(config)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = known_data(config)
            while len(self._known) > _DATA_KEPT:
                self._known.popitem(last=False)
        return run_length(config, known)


def _data_of(config: Config) -> Hashable:
    """All that its samples depend on."""
    model = config.model
    return config.data, model.name_or_path, model.init, model.trust_remote_code
