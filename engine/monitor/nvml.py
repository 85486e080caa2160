"""The part of NVML that the monitor needs, behind a protocol that recordings can play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, Protocol, TypeVar

FaultKind = Literal["not supported", "no permission", "lost", "failed"]
Result = TypeVar("Result")


class NvmlError(Exception):
    """A query that NVML did not answer: why, as one of four kinds, and in NVML's own words."""

    def __init__(self, kind: FaultKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Card(Protocol):
    """A whole GPU or a MIG slice of one. Every query may raise NvmlError."""

    @property
    def index(self) -> int:
        """NVML's number of the GPU (of the parent for a slice), the one that `nvidia-smi` shows."""

    @property
    def uuid(self) -> str:
        """ "GPU-..." or "MIG-..."."""

    @property
    def name(self) -> str: ...

    @property
    def instance(self) -> tuple[int, int] | None:
        """(GPU instance, compute instance) of a MIG slice; None for a whole GPU."""

    def memory(self) -> tuple[int, int]:
        """Bytes in use and bytes in total, both without the driver's own reserve where it is known."""

    def processes(self) -> dict[int, int | None]:
        """Bytes held by each process id; None where NVML names the process but not its share."""

    def utilisation(self) -> float:
        """Percent of the last sampling period in which a kernel ran."""

    def temperature(self) -> float:
        """Degrees Celsius."""

    def power(self) -> float:
        """Watts."""

    def throttle_reasons(self) -> tuple[str, ...]: ...


class Nvml(Protocol):
    """A loaded NVML."""

    def cards(self) -> Sequence[Card]:
        """The whole GPUs in NVML's order, which is PCI order."""

    def slices(self, card: Card) -> Sequence[Card]:
        """The MIG slices of a GPU; empty when it is not sliced."""

    def close(self) -> None: ...


def open_nvml() -> Nvml:
    """Load the driver's library. Raises NvmlError where there is none, or no driver behind it."""
    try:
        import pynvml
    except ImportError as error:
        raise NvmlError("failed", f"the package nvidia-ml-py is not installed ({error})") from error
    _ask(pynvml, pynvml.nvmlInit)
    return _Library(pynvml)


def _ask(library: ModuleType, query: Callable[..., Result], *arguments: object) -> Result:
    try:
        return query(*arguments)
    except library.NVMLError as error:
        kinds: dict[int, FaultKind] = {
            library.NVML_ERROR_NOT_SUPPORTED: "not supported",
            library.NVML_ERROR_FUNCTION_NOT_FOUND: "not supported",
            library.NVML_ERROR_NO_PERMISSION: "no permission",
            library.NVML_ERROR_GPU_IS_LOST: "lost",
        }
        raise NvmlError(kinds.get(error.value, "failed"), str(error)) from error


def _text(answer: str | bytes) -> str:
    return answer.decode(errors="replace") if isinstance(answer, bytes) else answer


class _Library:
    def __init__(self, library: ModuleType) -> None:
        self._library = library

    def cards(self) -> Sequence[Card]:
        count = _ask(self._library, self._library.nvmlDeviceGetCount)
        found: list[Card] = []
        for index in range(count):
            try:
                handle = _ask(self._library, self._library.nvmlDeviceGetHandleByIndex, index)
                found.append(_card(self._library, handle, index))
            except NvmlError:
                continue  # a card that is lost already hides itself, not the others
        return found

    def slices(self, card: Card) -> Sequence[Card]:
        assert isinstance(card, _Card)
        library = self._library
        try:
            mode, _ = _ask(library, library.nvmlDeviceGetMigMode, card.handle)
            count = _ask(library, library.nvmlDeviceGetMaxMigDeviceCount, card.handle) if mode else 0
        except NvmlError:
            return []
        found: list[Card] = []
        for place in range(count):
            try:
                handle = _ask(library, library.nvmlDeviceGetMigDeviceHandleByIndex, card.handle, place)
                found.append(_slice(library, handle, card.index))
            except NvmlError:
                continue  # NVML answers for empty places with "not found"
        return found

    def close(self) -> None:
        _ask(self._library, self._library.nvmlShutdown)


def _card(library: ModuleType, handle: object, index: int) -> _Card:
    uuid = _text(_ask(library, library.nvmlDeviceGetUUID, handle))
    name = _text(_ask(library, library.nvmlDeviceGetName, handle))
    return _Card(library, handle, index, uuid, name)


def _slice(library: ModuleType, handle: object, index: int) -> _Card:
    whole = _card(library, handle, index)
    gpu_instance = _ask(library, library.nvmlDeviceGetGpuInstanceId, handle)
    compute_instance = _ask(library, library.nvmlDeviceGetComputeInstanceId, handle)
    return _Card(library, handle, index, whole.uuid, whole.name, (gpu_instance, compute_instance))


@dataclass(frozen=True)
class _Card:
    library: ModuleType
    handle: Any
    index: int
    uuid: str
    name: str
    instance: tuple[int, int] | None = None

    def memory(self) -> tuple[int, int]:
        library = self.library
        try:
            answer = _ask(library, library.nvmlDeviceGetMemoryInfo, self.handle, library.nvmlMemory_v2)
        except NvmlError as fault:
            if fault.kind == "lost":
                raise
            answer = _ask(library, library.nvmlDeviceGetMemoryInfo, self.handle)
            return int(answer.used), int(answer.total)
        return int(answer.used), int(answer.total) - int(answer.reserved)

    def processes(self) -> dict[int, int | None]:
        held: dict[int, int | None] = {}
        library = self.library
        for query in (library.nvmlDeviceGetComputeRunningProcesses, library.nvmlDeviceGetGraphicsRunningProcesses):
            for process in _ask(library, query, self.handle):
                held.setdefault(process.pid, process.usedGpuMemory)
        return held

    def utilisation(self) -> float:
        return float(_ask(self.library, self.library.nvmlDeviceGetUtilizationRates, self.handle).gpu)

    def temperature(self) -> float:
        sensor = self.library.NVML_TEMPERATURE_GPU
        return float(_ask(self.library, self.library.nvmlDeviceGetTemperature, self.handle, sensor))

    def power(self) -> float:
        return float(_ask(self.library, self.library.nvmlDeviceGetPowerUsage, self.handle)) / 1000

    def throttle_reasons(self) -> tuple[str, ...]:
        library = self.library
        mask = int(_ask(library, library.nvmlDeviceGetCurrentClocksThrottleReasons, self.handle))
        names = {
            library.nvmlClocksThrottleReasonSwPowerCap: "power cap",
            library.nvmlClocksThrottleReasonHwSlowdown: "hardware slowdown",
            library.nvmlClocksThrottleReasonSyncBoost: "sync boost",
            library.nvmlClocksThrottleReasonSwThermalSlowdown: "too hot (software)",
            library.nvmlClocksThrottleReasonHwThermalSlowdown: "too hot (hardware)",
            library.nvmlClocksThrottleReasonHwPowerBrakeSlowdown: "power brake",
        }
        return tuple(name for bit, name in names.items() if mask & bit)
