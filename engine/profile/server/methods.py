"""What can be asked: one method a question, in the shapes of docs/json.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.config import ConfigError, Loaded, load_config
from engine.memory.advice.gpus import gpus
from engine.profile.flags import flags_of
from engine.profile.gpu_choice import choose, names_here
from engine.profile.server.foresight import Foresight
from engine.profile.server.lengths import Lengths
from engine.profile.server.machine import Machine
from engine.profile.server.measurement import Measurement, StoppedError, Tell
from engine.serving.params import Params, RequestError

if TYPE_CHECKING:
    from engine.profile.document import Measured

PROTOCOL = 1
_STOP_SECONDS = 5.0
_CONFIG = ("config", "overrides")


class Methods:
    """Answers requests about any config. Heavy libraries are imported by the first estimate.

    `between` is called again and again while an answer takes long.
    """

    def __init__(self, machine: Machine | None = None, between: Callable[[], None] = lambda: None) -> None:
        self._between = between
        self._machine = machine or Machine()
        self._lengths = Lengths()
        self._measurement = Measurement()
        self._foresight = Foresight()
        self._table: dict[str, tuple[Callable[[Params], Any], tuple[str, ...]]] = {
            "hello": (self.hello, ()),
            "gpus": (self.gpus, ()),
            "estimate": (self.estimate, (*_CONFIG, "gpu", "gpu_memory_gb", "changes", "price")),
            "measure": (self.measure, _CONFIG),
            "measuring": (self.measuring, ()),
            "stop_measuring": (self.stop_measuring, ()),
        }

    def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of one request. Raises RequestError and UserError, whose message says why there is none."""
        if method not in self._table:
            raise RequestError(f"unknown method {method!r}; known are {', '.join(self._table)}")
        respond, names = self._table[method]
        return respond(Params(params, names))

    def foresee(self) -> bool:
        """Prepare one answer that will probably be asked for; False where there is none to prepare."""
        return self._foresight.step()

    def close(self) -> None:
        """End what goes on behind the answers."""
        self._measurement.stop(_STOP_SECONDS)
        self._lengths.close()

    def hello(self, params: Params) -> dict[str, Any]:
        return {"protocol": PROTOCOL}

    def gpus(self, params: Params) -> list[dict[str, Any]]:
        """This machine's first, then those of the table from the smallest on."""
        cards = self._machine.cards()
        here = [
            {"name": name, "memory_gib": room.total_gib, "here": True}
            for name, room in zip(names_here(cards), cards.rooms, strict=True)
        ]
        table = sorted(gpus(), key=lambda gpu: gpu.memory_gib)
        return [*here, *({"name": gpu.name, "memory_gib": gpu.memory_gib, "here": False} for gpu in table)]

    def estimate(self, params: Params) -> dict[str, Any]:
        from engine.profile.as_json import profile_as_json
        from engine.profile.profiler import Wishes, profile_of

        loaded = _loaded(params)
        if params.text("gpu") is not None and params.size("gpu_memory_gb") is not None:
            raise RequestError("gpu and gpu_memory_gb name two sizes; give one of them")
        choice = choose(self._machine.cards(), params.text("gpu"), params.size("gpu_memory_gb"))
        thorough = params.flag("changes", True)
        wishes = Wishes(choice.room, choice.why_none, changes=thorough, price=params.size("price"))
        profile = profile_of(
            loaded, wishes, lambda config: self._lengths.of(config, reads=thorough), between=self._between
        )
        if thorough:
            self._foresight.look_around(params.needed_text("config"), params.mapping("overrides"))
        return profile_as_json(profile)

    def measure(self, params: Params) -> dict[str, Any]:
        from engine.profile.gpu_to_measure import gpu_to_measure

        if self._measurement.is_running:
            raise RequestError("a measurement is going on; wait for its end, or stop it")
        loaded = _loaded(params)
        gpu_to_measure()  # the reason why there is none is the answer
        self._measurement.start(lambda tell, is_stopped: _measured(loaded, tell, is_stopped))
        return self._measurement.as_json()

    def measuring(self, params: Params) -> dict[str, Any]:
        return self._measurement.as_json()

    def stop_measuring(self, params: Params) -> dict[str, Any]:
        self._measurement.stop(_STOP_SECONDS)
        return self._measurement.as_json()


def _loaded(params: Params) -> Loaded:
    """Where the data lies makes no difference here. Raises RequestError with the config's own words."""
    try:
        return load_config(params.needed_text("config"), flags_of(params.mapping("overrides")), check_files=False)
    except ConfigError as error:
        raise RequestError(str(error)) from error


def _measured(loaded: Loaded, tell: Tell, is_stopped: Callable[[], bool]) -> Measured:
    from engine.memory.estimate import estimate_memory
    from engine.memory.estimate.model_shape import model_shape
    from engine.profile.document import Measured
    from engine.profile.measure import MeasuringStoppedError
    from engine.profile.measure_here import measure_here

    estimate = estimate_memory(loaded.config, model_shape(loaded.config))
    try:
        found = measure_here(
            loaded.config,
            estimate,
            lambda progress: tell(progress.what, progress.done, progress.total),
            is_stopped,
        )
    except MeasuringStoppedError:
        raise StoppedError from None
    return Measured(estimate, found.measurement)
