"""The kernels behind the operators: flash-linear-attention's for the rule, our own for the convolution.

Whether they run here, and how to call them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from engine.model.delta_rule.chunk_indices import chunk_indices
from engine.model.delta_rule.documents import CHUNK

_FORWARD = ("q", "k", "v", "g", "beta", "scale", "initial_state", "output_final_state", "cu_seqlens", "chunk_indices")
_BACKWARD = ("q", "k", "v", "g", "beta", "A", "scale", "initial_state", "do", "dht", "cu_seqlens", "chunk_indices")
_OWN_TYPES = (torch.float32, torch.bfloat16, torch.float16)
_WRONG_ON_HOPPER = ((3, 4, 0), (3, 7, 1))
"""Triton from the first up to but without the second makes wrong gradients of beta and decay there (fla issue 640)."""


@dataclass(frozen=True, slots=True)
class KernelReport:
    """What stands behind the operators on this device. `refused` says why kernels that are installed are not used."""

    flash_linear_attention: str | None
    triton: str | None
    tilelang: str | None
    refused: str | None

    @property
    def usable(self) -> bool:
        """Whether the kernels are there and right."""
        return self.flash_linear_attention is not None and self.refused is None


def kernel_report(device: torch.device) -> KernelReport:
    """The versions of the kernels, and whether they are refused on this GPU."""
    report = KernelReport(_version("flash-linear-attention"), _version("triton"), _version("tilelang"), refused=None)
    if device.type != "cuda" or report.flash_linear_attention is None:
        return report
    refused = refusal(torch.cuda.get_device_capability(device), report.triton, report.tilelang)
    return replace(report, refused=refused or _why_not_bound())


def refusal(capability: tuple[int, int], triton: str | None, tilelang: str | None) -> str | None:
    """Why the kernels give wrong gradients on a GPU of this compute capability; None when they do not."""
    if triton is None:
        return "Triton is not installed"
    first, fixed = _WRONG_ON_HOPPER
    if capability[0] == 9 and first <= _numbers(triton) < fixed and tilelang is None:
        return (
            f"Triton {triton} computes wrong gradients of the gated delta rule on Hopper GPUs; "
            "install tilelang, or Triton 3.7.1 or newer"
        )
    return None


@dataclass(frozen=True, slots=True)
class Borders:
    """`cu_seqlens` on the device and, so that nobody has to wait for it, on the host."""

    here: Tensor | None
    on_host: Tensor | None


@dataclass(frozen=True, slots=True)
class Kernels:
    """The functions of flash-linear-attention that the operators call; those that it differentiates by itself."""

    rule_forward: Callable[..., Any]
    rule_backward: Callable[..., Any]
    norm_forward: Callable[..., Any]
    norm_backward: Callable[..., Any]
    chunk_indices: Callable[..., Tensor]

    def rule(
        self, query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor, borders: Borders
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The outputs [B, T, HV, V], and what the backward pass needs besides the inputs.

        That is the decay summed up in each chunk, float32 [B, T, HV], and the inverse of each chunk's triangular
        system [B, T, HV, 64].
        """
        with torch.cuda.device(value.device):
            total, outputs, inverse, *_ = self.rule_forward(
                q=self.norm_forward(query.contiguous())[0],
                k=self.norm_forward(key.contiguous())[0],
                v=value.contiguous(),
                g=decay.contiguous(),
                beta=beta.contiguous(),
                scale=key.shape[-1] ** -0.5,
                initial_state=None,
                output_final_state=False,
                cu_seqlens=borders.here,
                chunk_indices=self._indices(borders),
            )
        return outputs.to(value.dtype), total, inverse

    def rule_gradients(
        self,
        gradient: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        beta: Tensor,
        total: Tensor,
        inverse: Tensor,
        borders: Borders,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The gradients of query, key, value, decay and beta."""
        with torch.cuda.device(value.device):
            unit_query, query_length = self.norm_forward(query.contiguous())
            unit_key, key_length = self.norm_forward(key.contiguous())
            of_query, of_key, of_value, of_beta, of_decay, *_ = self.rule_backward(
                q=unit_query,
                k=unit_key,
                v=value.contiguous(),
                g=total,
                beta=beta.contiguous(),
                A=inverse,
                scale=key.shape[-1] ** -0.5,
                initial_state=None,
                do=gradient.contiguous(),
                dht=None,
                cu_seqlens=borders.here,
                chunk_indices=self._indices(borders),
            )
            of_query = self.norm_backward(unit_query, query_length, of_query)
            of_key = self.norm_backward(unit_key, key_length, of_key)
        return of_query, of_key, of_value, of_decay, of_beta

    def _indices(self, borders: Borders) -> Tensor | None:
        if borders.here is None:
            return None
        if borders.on_host is None:
            return self.chunk_indices(borders.here, CHUNK)  # waits for the device
        return chunk_indices(borders.on_host, borders.here)


@cache
def kernels() -> Kernels:
    """The kernels of an installed flash-linear-attention whose functions are as expected."""
    rule, norm, index = _modules()
    return Kernels(
        rule.chunk_gated_delta_rule_fwd,
        rule.chunk_gated_delta_rule_bwd,
        norm.l2norm_fwd,
        norm.l2norm_bwd,
        index.prepare_chunk_indices,
    )


@cache
def kernels_run_on(device_index: int) -> bool:
    """Whether the operators call the kernels on this GPU."""
    return kernel_report(torch.device("cuda", device_index)).usable


@cache
def own_convolution() -> ModuleType:
    """Our own kernels of the convolution; they need Triton."""
    return importlib.import_module("engine.model.delta_rule.convolution_kernels")


@cache
def _triton_is_there() -> bool:
    return importlib.util.find_spec("triton") is not None


def own_kernel_convolves(inputs: Tensor, weight: Tensor) -> bool:
    """Whether our own kernels compute this convolution: inputs [B, T, D], weight [D, W]."""
    if inputs.device.type != "cuda" or not _triton_is_there():
        return False
    return inputs.dtype in _OWN_TYPES and weight.shape[1] in own_convolution().WIDTHS


def _modules() -> tuple[ModuleType, ModuleType, ModuleType]:
    return (
        importlib.import_module("fla.ops.gated_delta_rule.chunk"),
        importlib.import_module("fla.modules.norm.l2norm"),
        importlib.import_module("fla.ops.utils.index"),
    )


def _why_not_bound() -> str | None:
    """What of the installed version is not as the operators call it; None when all is."""
    try:
        found = kernels()
    except (ImportError, AttributeError) as error:
        return f"this version has other insides than the operators know ({error})"
    for function, wanted in (
        (found.rule_forward, _FORWARD),
        (found.rule_backward, _BACKWARD),
        (found.chunk_indices, ("cu_seqlens", "chunk_size")),
    ):
        lacking = [name for name in wanted if name not in inspect.signature(function).parameters]
        if lacking:
            return f"this version's {function.__name__} takes no {lacking[0]}"
    return None


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
