"""Whether torch can use the GPU that this machine has."""

from __future__ import annotations

from dataclasses import dataclass

from engine.doctor.result import Outcome, Patient, failed, ok, warning
from engine.monitor import visible_card_names

_VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class Sight:
    """What the driver shows, what torch was built for, and what came of using it.

    `is_hidden`: CUDA_VISIBLE_DEVICES leaves no GPU to this program. `error`: why torch could not compute there.
    """

    driver_names: tuple[str, ...]
    torch_version: str
    torch_cuda: str | None
    torch_names: tuple[str, ...] = ()
    is_hidden: bool = False
    error: str | None = None


def check_gpu(patient: Patient) -> Outcome:
    """Compute something small on the first GPU."""
    return judge(_look(patient))


def judge(sight: Sight) -> Outcome:
    """The verdict from what driver and torch say."""
    shown = ", ".join(sight.driver_names)
    if sight.is_hidden:
        return warning(f"{_VISIBLE} hides every GPU, so training runs on the CPU", f"unset {_VISIBLE}")
    if not sight.driver_names and not sight.torch_names:
        return ok("no NVIDIA GPU here: training runs on the CPU")
    if sight.torch_cuda is None:
        return failed(
            f"the machine has {shown}, but torch {sight.torch_version} is built for the CPU alone",
            "install a build of torch for this GPU's driver (see https://pytorch.org/get-started/locally)",
        )
    if not sight.torch_names:
        return failed(
            f"the machine has {shown}, but torch {sight.torch_version} for CUDA {sight.torch_cuda} cannot use it"
            f"{f': {sight.error}' if sight.error else ''}",
            "the driver is likely too old: update it, or install a build of torch for an older CUDA",
        )
    if sight.error:
        return failed(f"a product of two matrices on {sight.torch_names[0]} failed: {sight.error}", "see `nvidia-smi`")
    more = f" and {len(sight.torch_names) - 1} more, which are not used" if len(sight.torch_names) > 1 else ""
    sliced = " (a MIG slice: it has a part of the card's memory)" if "MIG" in sight.torch_names[0] else ""
    return ok(f"{sight.torch_names[0]}{sliced} computes, CUDA {sight.torch_cuda}{more}")


def _look(patient: Patient) -> Sight:
    import torch

    hidden = patient.environment.get(_VISIBLE)
    every_card = visible_card_names({name: value for name, value in patient.environment.items() if name != _VISIBLE})
    error: str | None = None
    names: tuple[str, ...] = ()
    try:
        if torch.cuda.is_available():
            names = tuple(torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count()))
            torch.ones(8, 8, device="cuda").matmul(torch.ones(8, 8, device="cuda")).sum().item()
        elif torch.version.cuda:
            torch.cuda.init()  # type: ignore[no-untyped-call]  # raises where the driver is too old
    except (RuntimeError, AssertionError) as fault:
        error = " ".join(str(fault).split())[:200]
    return Sight(
        driver_names=every_card,
        torch_version=torch.__version__,
        torch_cuda=torch.version.cuda,
        torch_names=names,
        is_hidden=bool(every_card) and hidden is not None and not visible_card_names(patient.environment),
        error=error,
    )
