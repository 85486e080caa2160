"""Packed against separate documents in a Qwen3.5-shaped random model: equal numbers, equal gradients, and the time.

    PYTHONPATH=. python tests/bench/gpu_packing.py [--attention sdpa] [--length 2048] [--lines 2] [--steps 5]

Tries every way to keep documents apart that this machine allows. Exits 1 when packs differ from separate documents, or
when the DeltaNet layers do not get `cu_seqlens`.
Runs on a CPU too, with a smaller model and 256 tokens in a line. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM

from engine.data.feeding.batches import Batch, collate, collate_packs
from engine.data.feeding.packing import best_fit
from engine.data.feeding.samples import Sample, sample_of
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.head import LossHead
from engine.model.packed.isolation import Isolation, Way, possible_ways
from engine.model.packed.proof import DIFFERENCE_LIMIT, LEAK_LIMIT, NotIsolatedError, isolate, measure

SHAPE: dict[str, Any] = {
    "vocab_size": 8192,
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_hidden_layers": 8,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "max_position_embeddings": 65536,
    "tie_word_embeddings": True,
}
ON_CPU: dict[str, Any] = {
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
    "head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
}
BORDER_LENGTHS = (1, 2, 3, 4, 63, 64, 65, 127, 128, 129)
"""Around the window of the convolution and the chunks of the delta rule."""
LOSS_LIMIT = {torch.float32: 1e-5, torch.bfloat16: 5e-3}
GRADIENT_LIMIT = {torch.float32: 1e-3, torch.bfloat16: 5e-2}


def main() -> int:
    """The exit code: 0 when packs are what separate documents are."""
    arguments = _arguments()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    length = arguments.length or (2048 if device.type == "cuda" else 256)
    model = _model(arguments.attention, device, dtype)
    samples = _samples(length, arguments.lines, model.config.vocab_size)
    packs = [[samples[index] for index in pack] for pack in best_fit([len(one) for one in samples], length)]
    packed, separate = collate_packs(packs, pad_id=0), collate(samples, pad_id=0)
    print(f"{device}, {dtype}, {arguments.attention}: {len(samples)} documents in {len(packs)} lines of {length}")
    _tell(LossHead(model, 512, None, 1.0), separate, "separate", arguments.steps)

    failures = []
    for way in possible_ways(model):
        isolation = Isolation(model, way)
        name = f"{way.how}{', mask brought' if way.masks is not None else ''}"
        head = LossHead(model, 512, None, 1.0, isolation=isolation)
        try:
            failures += [f"{name}: {fault}" for fault in _faults(head, packed, separate, dtype)]
            _tell(head, packed, name, arguments.steps)
        except (ValueError, RuntimeError) as error:  # kernels that are not there or do not take this
            print(f"{name}: not on this machine: {' '.join(str(error).split())}")
        finally:
            isolation.remove()
    failures += _chosen(model)
    failures += _a_proof_that_proves_nothing(model, dtype)
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


def _faults(head: LossHead, packed: Batch, separate: Batch, dtype: torch.dtype) -> list[str]:
    """What differs between packed and separate documents by more than rounding."""
    isolation = head.isolation
    assert isolation is not None
    head.model.eval()
    with torch.no_grad():
        leak, difference = measure(head.model, isolation)
        own = measure(head.model, isolation, packed.documents, tuple(packed.input_ids.shape))  # type: ignore[arg-type]
    head.model.train()
    (loss, gradients), (wanted, wanted_gradients) = _gradients(head, packed), _gradients(head, separate)
    off_loss = abs(loss - wanted) / abs(wanted)
    off_gradients = float((gradients - wanted_gradients).norm() / wanted_gradients.norm())
    print(
        f"  leak {max(leak, own[0]):.1e}, vectors off by {max(difference, own[1]):.1e}, "
        f"loss {loss:.6f} and {wanted:.6f}, gradients off by {off_gradients:.1e}"
    )
    measured = {
        "leak": (max(leak, own[0]), LEAK_LIMIT[dtype]),
        "difference of vectors": (max(difference, own[1]), DIFFERENCE_LIMIT[dtype]),
        "difference of the loss": (off_loss, LOSS_LIMIT[dtype]),
        "difference of gradients": (off_gradients, GRADIENT_LIMIT[dtype]),
    }
    faults = {name: found for name, found in measured.items() if not found[0] <= found[1]}
    return [f"{name} {value:.2e}, allowed {limit:.0e}" for name, (value, limit) in faults.items()]


def _gradients(head: LossHead, batch: Batch) -> tuple[float, Tensor]:
    """The mean loss and all gradients one after another, float32."""
    head.model.zero_grad()
    loss = head.summed_loss(batch.input_ids, batch.labels, batch.packs) / batch.loss_tokens
    loss.backward()  # type: ignore[no-untyped-call]
    found = [parameter.grad.float().flatten() for parameter in head.model.parameters() if parameter.grad is not None]
    return float(loss.detach()), torch.cat(found)


def _chosen(model: Any) -> list[str]:
    """What the engine would take, and whether that is the quickest way of this machine."""
    try:
        isolation = isolate(model)
    except NotIsolatedError as error:
        return [f"packing would be off: {error}"]
    isolation.remove()
    print(f"the engine takes: {isolation.way.how}")
    return [] if "cu_seqlens" in isolation.way.how else ["cu_seqlens is not taken"]


def _a_proof_that_proves_nothing(model: Any, dtype: torch.dtype) -> list[str]:
    """Without anything that keeps documents apart the same measure has to find a leak."""
    with torch.no_grad():
        leak, _ = measure(model.eval(), Isolation(model, Way("nothing")))
    print(f"with recurrent layers as they are: leak {leak:.1e}")
    return [] if leak > LEAK_LIMIT[dtype] else ["the measure finds no leak where there is one"]


def _tell(head: LossHead, batch: Batch, name: str, steps: int) -> None:
    """Print the time of a forward and backward pass."""

    def step() -> None:
        _gradients(head, batch)

    seconds = _seconds(step, steps)
    padding = 1 - batch.real_tokens / batch.slots
    print(f"{name}: {seconds * 1e3:.1f} ms, {batch.real_tokens / seconds:,.0f} tokens/s, {padding:.0%} padding")


def _seconds(step: Callable[[], None], steps: int) -> float:
    """The least time of so many steps, after one to warm up."""
    times = []
    for _ in range(steps + 1):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return min(times[1:])


def _model(attention: str, device: torch.device, dtype: torch.dtype) -> Any:
    torch.manual_seed(0)
    config = AutoConfig.for_model("qwen3_5_text", **(SHAPE if device.type == "cuda" else SHAPE | ON_CPU))
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=attention)
    model = model.to(device).train()
    for told in use_delta_rule_operator(model):
        print(told)
    return model


def _samples(length: int, lines: int, vocabulary: int) -> list[Sample]:
    """Documents of all lengths, enough to fill so many lines, with loss on two tokens of three."""
    generator = random.Random(0)
    lengths = [size for size in BORDER_LENGTHS if size <= length]
    while sum(lengths) < lines * length:
        lengths.append(min(length, int(generator.lognormvariate(5.0, 1.0)) + 1))
    rows = []
    for row, size in enumerate(lengths):
        ids = [generator.randrange(vocabulary) for _ in range(size)]
        rows.append(sample_of(row, ids, [-100 if place % 3 == 0 else token for place, token in enumerate(ids)]))
    return rows


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attention", default="sdpa", choices=["sdpa", "eager", "flash_attention_2"])
    parser.add_argument("--length", type=int, help="tokens in a line; 2048 on a GPU, 256 on a CPU")
    parser.add_argument("--lines", type=int, default=2, help="lines to fill, about")
    parser.add_argument("--steps", type=int, default=5, help="timed passes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
