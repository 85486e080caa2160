"""Each check of the doctor must be able to fail: here it is given what went wrong in other tools."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from packaging.requirements import Requirement
from torch import Tensor

from engine.backward.gate import go_to_gate
from engine.config import load_config
from engine.data.examine import Examined
from engine.data.feeding.batches import Batch
from engine.doctor.checks import (
    compiled,
    disk,
    gpu,
    kernels,
    loss,
    mask,
    memory,
    optimizer_kernel,
    optimizer_state,
    packing,
    release,
    rounding,
    saving,
    terminal,
    tied_head,
    versions,
)
from engine.doctor.checks.few_steps import CHUNK, TakeStep, Way
from engine.doctor.checks.sizes import Sizes, sizes_of
from engine.doctor.checks.tiny import tiny_model
from engine.loss import chunked_cross_entropy
from engine.model.compiled import compile_layers
from engine.model.delta_rule.check import KernelReport
from engine.model.head import loss_head
from engine.model.packed.isolation import Isolation
from engine.model.packed.isolation import Way as ApartBy
from engine.optim.tensor_optimizer import TensorOptimizer
from engine.units import GIB

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
HOPPER_REFUSAL = "Triton 3.4.0 computes wrong gradients"


# --- kernels


def kernels_of(**changes: Any) -> kernels.Kernels:
    report = KernelReport("0.6.0", "3.7.1", None, refused=None)
    return dataclasses.replace(kernels.Kernels("cuda", report, 8e-3, 3e-2), **changes)


def test_right_kernels_are_named() -> None:
    outcome = kernels.judge(kernels_of())
    assert outcome.status == "ok"
    assert "flash-linear-attention 0.6.0, Triton 3.7.1" in outcome.found


def test_a_wrong_gradient_of_a_kernel_fails() -> None:
    assert kernels.judge(kernels_of(error=0.9)).status == "failed"
    assert kernels.judge(kernels_of(error=float("nan"))).status == "failed"


def test_a_refused_triton_is_named_with_its_cure() -> None:
    outcome = kernels.judge(kernels_of(report=KernelReport("0.6.0", "3.4.0", None, refused=HOPPER_REFUSAL)))
    assert outcome.status == "warning"
    assert HOPPER_REFUSAL in outcome.found
    assert "triton>=3.7.1" in (outcome.fix or "")


def test_a_missing_kernel_library_is_no_silent_fallback() -> None:
    outcome = kernels.judge(kernels_of(report=KernelReport(None, "3.7.1", None, refused=None)))
    assert (outcome.status, outcome.fix) == ("warning", "pip install 'pgs-tui[gpu]'")
    assert kernels.judge(kernels_of(bitsandbytes_on_gpu=False)).status == "failed"


# --- loss


def test_a_loss_that_loses_the_gradient_of_a_chunk_fails() -> None:
    def careless(hidden: Tensor, head: Tensor, labels: Tensor, chunk: int) -> Tensor:
        loss: Tensor = chunked_cross_entropy(hidden[:chunk], head, labels[:chunk], chunk)
        with torch.no_grad():
            rest = chunked_cross_entropy(hidden[chunk:], head, labels[chunk:], chunk)
        return loss + rest

    assert loss.judge(chunked_cross_entropy).status == "ok"
    assert loss.judge(careless).status == "failed"
    assert loss.judge(careless, dtype=torch.bfloat16).status == "failed", "its limit is wider, as on a GPU"


def test_head_gradients_summed_up_in_bfloat16_fail() -> None:
    """As in OLMo-core PR 370: the sum over chunks loses digits."""

    def low(hidden: Tensor, head: Tensor, labels: Tensor, chunk: int) -> Tensor:
        half = head.to(torch.bfloat16).float()
        return F.cross_entropy(hidden @ half.T, labels, reduction="sum")

    assert loss.judge(low).status == "failed"


# --- packing


def test_a_state_that_flows_across_documents_fails() -> None:
    """As in transformers 5.2 to 5.8: attention is told of documents, the recurrent layers are not."""
    outcome = packing.judge(tiny_model(), lambda model: Isolation(model, ApartBy("position ids alone")))
    assert outcome.status == "failed"
    assert outcome.fix == "data.packing: false"


def test_documents_that_attend_to_each_other_fail() -> None:
    def with_leaky_attention(model: Any) -> Isolation:
        class Leaky(Isolation):
            def enter(self, packs: Any) -> dict[str, Any]:
                told = super().enter(packs)
                return {"position_ids": torch.arange(told["position_ids"].shape[1])[None]} if told else told

        return Leaky(model, ApartBy("nothing"))

    assert packing.judge(tiny_model(), with_leaky_attention).status == "failed"


# --- compiled layers


def compiling(*, fixed_length: bool) -> compiled.Compile:
    def compile_model(model: Any) -> None:
        compile_layers(model, fixed_length=fixed_length, backend="eager")

    return compile_model


def test_layers_that_compile_to_something_else_fail() -> None:
    def with_a_graph_that_is_wrong(model: Any) -> None:
        def wrong_backend(graph: Any, inputs: Any) -> Any:
            return lambda *given: [2 * one if torch.is_tensor(one) else one for one in graph.forward(*given)]

        compile_layers(model, fixed_length=False, backend=wrong_backend)

    outcome = compiled.judge(with_a_graph_that_is_wrong)
    assert (outcome.status, outcome.fix) == ("failed", "model.compile: false")
    assert "off (allowed" in outcome.found


def test_layers_that_are_compiled_anew_for_each_length_fail() -> None:
    outcome = compiled.judge(compiling(fixed_length=True))
    assert outcome.status == "failed"
    assert "lines of another length are compiled anew" in outcome.found


def test_a_compiler_that_compiles_nothing_fails() -> None:
    assert "has compiled nothing" in compiled.judge(lambda model: None).found


def test_one_graph_for_each_kind_of_layer_is_well() -> None:
    outcome = compiled.judge(compiling(fixed_length=False))
    assert outcome.status == "ok"
    assert outcome.found.startswith("2 graphs")


# --- rounding


def test_rounding_to_nearest_fails() -> None:
    """Lion's step of 1e-5 is far below half the distance of most bfloat16 weights from their neighbours."""
    assert rounding.judge(rounding.moved_share).status == "ok"
    outcome = rounding.judge(lambda at_random: rounding.moved_share(False))
    assert outcome.status == "failed"
    assert (outcome.fix or "").startswith("model.torch_dtype: float32")


@pytest.mark.parametrize("share", [0.98, 1.02, float("nan")])
def test_rounding_with_a_bias_fails(share: float) -> None:
    assert rounding.judge(lambda at_random: share).status == "failed"


# --- the optimizer's kernel


def test_a_kernel_that_moves_other_bits_than_torch_fails() -> None:
    def with_other_random_bits(weights: Tensor, gradients: Any) -> dict[str, Tensor]:
        moved = optimizer_kernel.by_optimizer(weights.clone(), gradients)
        return moved | {"weights": moved["weights"].view(torch.int16).bitwise_xor(1).view(torch.bfloat16)}

    def with_another_scale(weights: Tensor, gradients: Any) -> dict[str, Tensor]:
        moved = optimizer_kernel.by_optimizer(weights, gradients)
        return moved | {"absmax1": torch.nextafter(moved["absmax1"], torch.tensor(1.0))}

    assert optimizer_kernel.judge(optimizer_kernel.by_optimizer).status == "ok"
    assert optimizer_kernel.judge(with_other_random_bits).found.startswith("weights of a tensor [300, 257]")
    outcome = optimizer_kernel.judge(with_another_scale)
    assert (outcome.status, outcome.found.startswith("absmax1")) == ("failed", True)


# --- gradient release


def release_by(step: Callable[[TensorOptimizer, str, Tensor], None]) -> Way:
    """Gradient release with hooks that call `step` with a weight's name."""

    def way(model: Any, optimizer: TensorOptimizer) -> TakeStep:
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        head = loss_head(model, chunked=True, chunk_tokens=CHUNK)

        def hook(parameter: Tensor) -> None:
            step(optimizer, names[id(parameter)], parameter)
            parameter.grad = None

        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(hook)

        def take_step(batch: Batch) -> None:
            rest = go_to_gate(head, [batch], lambda lap: None).rest
            assert rest is not None
            rest.backward()

        return take_step

    return way


def test_an_update_made_twice_or_left_out_fails() -> None:
    def twice(optimizer: TensorOptimizer, name: str, parameter: Tensor) -> None:
        for _ in range(2 if name == "model.norm.weight" else 1):
            optimizer.update(parameter, parameter.grad)

    def left_out(optimizer: TensorOptimizer, name: str, parameter: Tensor) -> None:
        if name != "model.norm.weight":
            optimizer.update(parameter, parameter.grad)

    assert "model.norm.weight is stepped 6 times in 3 steps" in release.judge(release_by(twice)).found
    assert "model.norm.weight is stepped 0 times in 3 steps" in release.judge(release_by(left_out)).found


def test_weights_that_release_moves_elsewhere_fail() -> None:
    def against_the_gradient(optimizer: TensorOptimizer, name: str, parameter: Tensor) -> None:
        optimizer.update(parameter, parameter.grad * (-1 if name == "model.norm.weight" else 1))

    outcome = release.judge(release_by(against_the_gradient))
    assert outcome.status == "failed"
    assert "tensors are others" in outcome.found


# --- tied head


def chunk_by_chunk(model: Any, optimizer: TensorOptimizer) -> TakeStep:
    """One backward pass for each chunk of the loss, and release: embedding and head get many steps."""

    def hook(parameter: Tensor) -> None:
        optimizer.update(parameter, parameter.grad)
        parameter.grad = None

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(hook)

    def take_step(batch: Batch) -> None:
        hidden = model.model(input_ids=batch.input_ids).last_hidden_state[:, :-1].flatten(0, 1)
        cut = hidden.detach().requires_grad_()
        for rows in torch.arange(len(cut)).split(8):
            logits = cut[rows] @ model.get_output_embeddings().weight.T
            F.cross_entropy(logits, batch.labels[:, 1:].flatten()[rows], reduction="sum").backward()
        hidden.backward(cut.grad)

    return take_step


def test_a_head_stepped_with_every_chunk_fails() -> None:
    outcome = tied_head.judge(chunk_by_chunk, "memory.gradient_release: false")
    assert outcome.status == "failed"
    assert "model.embed_tokens.weight is stepped 21 times in 3 steps" in outcome.found


# --- 8-bit state


def test_state_that_the_usual_loading_casts_fails() -> None:
    """torch's own load_state_dict gives state the type of its weight (torchao issue 3314)."""

    def cast(folder: Path, optimizer: torch.optim.Optimizer) -> None:
        saved = torch.load(folder / "trainer_state" / "optimizer.pt")["state"]
        torch.optim.Optimizer.load_state_dict(optimizer, saved)

    outcome = optimizer_state.judge(cast)
    assert outcome.status == "failed"
    assert "uint8 comes back as float32" in outcome.found


def test_state_that_is_not_restored_at_all_fails() -> None:
    assert optimizer_state.judge(lambda folder, optimizer: None).status == "failed"


# --- saving


def test_a_model_that_loads_back_as_another_one_fails() -> None:
    def untied(model: Any, original: Path, folder: Path) -> None:
        model.config.tie_word_embeddings = False
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
        model.save_pretrained(folder)

    def slightly_other(model: Any, original: Path, folder: Path) -> None:
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        state["model.norm.weight"] += 1
        model.save_pretrained(folder, state_dict=state)

    def usual(model: Any, original: Path, folder: Path) -> None:
        model.save_pretrained(folder)

    assert saving.judge(saving.save_merged).status == "ok"
    assert "vision tower" in saving.judge(usual).found
    assert "head and embedding" in saving.judge(untied).found
    assert "model.norm.weight" in saving.judge(slightly_other).found


# --- mask


def rows_of_template(template: str, answers: int = 2) -> list[Examined]:
    from transformers import AutoTokenizer

    from engine.config import Data
    from engine.data.examine import Examiner
    from engine.data.sources.rows import RawRow

    folder = Path(__file__).parents[2] / "configs" / "quickstart" / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = template
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Good day."}]
    rows = [RawRow(number, "chats.jsonl", number + 1, {"messages": messages}) for number in range(answers)]
    return Examiner(tokenizer, Data()).examine(rows)


TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
PROMPT = "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def test_an_answer_whose_end_is_trained_is_well() -> None:
    outcome = mask.judge(rows_of_template(f"{TURNS}<|im_end|>\n{PROMPT}"))
    assert outcome.status == "ok"
    assert "the end of all 2 whole answers" in outcome.found


def test_a_template_that_never_ends_an_answer_fails() -> None:
    """As with Qwen3.5-4B in TRL (PR 7230): the model never stops, and the loss looks healthy."""
    outcome = mask.judge(rows_of_template(f"{TURNS}\n{PROMPT}"))
    assert outcome.status == "failed"
    assert "does not stop" in outcome.found


def test_rows_without_any_loss_token_fail() -> None:
    rows = [dataclasses.replace(row, kept=0) for row in rows_of_template(f"{TURNS}<|im_end|>\n{PROMPT}")]
    outcome = mask.judge(rows)
    assert outcome.status == "failed"
    assert "no token of the first 2 rows has loss" in outcome.found


# --- disk and memory


def test_a_disk_without_room_for_one_more_checkpoint_fails() -> None:
    size = 2 * GIB
    assert disk.judge(Path("runs"), None, 7 * GIB, size, keep=2).status == "ok"
    outcome = disk.judge(Path("runs"), None, 5 * GIB, size, keep=2)
    assert outcome.status == "failed"
    assert "2 + 1 checkpoints of 2.00 GiB need 6.00 GiB, 5.00 GiB are free" in outcome.found


def test_a_folder_that_cannot_be_written_fails() -> None:
    outcome = disk.judge(Path("/proc/runs"), "Permission denied", 7 * GIB, None, keep=2)
    assert (outcome.status, "/proc/runs cannot be written" in outcome.found) == ("failed", True)


TILED = ["--memory.tiled_head", "true"]


def test_a_model_that_does_not_fit_fails_before_it_is_loaded() -> None:
    """Qwen3.5-4B with 8-bit Lion: 7.83 GiB of weights, 3.98 of state, and the gradients."""
    sizes = Sizes(4_205_751_296, 4_205_751_296, 635_699_200, 2, 1 + 4 / 256, releases_gradients=True)
    assert sizes.held / GIB == pytest.approx(7.83 + 3.98 + 1.18, abs=0.01)
    assert memory.judge(sizes, 40 * GIB, "on the GPU").status == "ok"
    assert memory.judge(sizes, 15 * GIB, "on the GPU").status == "warning"
    kept = dataclasses.replace(sizes, releases_gradients=False)
    outcome = memory.judge(kept, 16 * GIB, "on the GPU")
    assert outcome.status == "failed"
    assert (outcome.fix or "").startswith("memory.gradient_release: true")


def test_frozen_weights_have_no_gradient_and_no_state() -> None:
    config = load_config(QUICKSTART, ["--memory.gradient_release", "false"]).config
    whole = sizes_of(config)
    train = config.train.model_copy(update={"freeze_non_attention": True})
    mixers = sizes_of(config.model_copy(update={"train": train}))
    assert mixers.weights == whole.weights
    assert mixers.trained < whole.trained == whole.weights
    assert mixers.held == mixers.stored + mixers.trained * mixers.bytes_per_weight < whole.held


def test_a_tiled_head_has_no_whole_gradient() -> None:
    flags = ["--memory.gradient_release", "true", "--train.max_grad_norm", "null"]
    whole, tiled = (sizes_of(load_config(QUICKSTART, [*flags, *more]).config) for more in ([], TILED))
    assert tiled.stored == whole.stored and tiled.held < whole.held
    assert "memory.tiled_head: true" in (memory.judge(whole, whole.held, "here").fix or "")
    assert "memory.tiled_head: true" not in (memory.judge(tiled, tiled.held, "here").fix or "")


def test_what_is_set_already_is_not_advised_again() -> None:
    sizes = Sizes(10**9, 10**9, 10**8, 2, 1 + 4 / 256, releases_gradients=True)
    assert "train.gradient_checkpointing: full" in (memory.judge(sizes, int(1.1 * sizes.held), "here").fix or "")
    small = dataclasses.replace(sizes, recomputes=True, trains_mixers_alone=True)
    assert memory.judge(small, int(1.1 * sizes.held), "here").fix == "activations may not fit: a smaller model"


# --- terminal, versions, GPU

WIDE = terminal.Terminal(120, "UTF-8")
USUAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


@pytest.mark.parametrize(
    ("environment", "screen", "status", "word"),
    [
        (USUAL, WIDE, "ok", "true colour"),
        ({**USUAL, "NO_COLOR": "1", "TMUX": "/tmp/t", "SSH_CONNECTION": "a"}, WIDE, "ok", "NO_COLOR"),
        ({"TERM": "dumb"}, WIDE, "warning", "TERM is dumb"),
        ({}, WIDE, "warning", "not set"),
        ({"TERM": "linux"}, WIDE, "warning", "without braille"),
        (USUAL, terminal.Terminal(120, "ANSI_X3.4-1968"), "warning", "not UTF-8"),
        (USUAL, terminal.Terminal(40, "UTF-8"), "warning", "40 columns"),
        (USUAL, terminal.Terminal(None, "UTF-8"), "ok", "no terminal"),
    ],
)
def test_what_the_terminal_can_show(
    environment: dict[str, str], screen: terminal.Terminal, status: str, word: str
) -> None:
    outcome = terminal.judge(environment, screen)
    assert outcome.status == status
    assert word in outcome.found


def test_a_library_that_is_too_old_or_missing_fails() -> None:
    needed = [Requirement("transformers>=5.9"), Requirement("bitsandbytes>=0.49")]
    outcome = versions.judge(needed, {"transformers": "5.8.1", "bitsandbytes": None})
    assert outcome.status == "failed"
    assert "transformers 5.8.1 (needs >=5.9), bitsandbytes missing (needs >=0.49)" in outcome.found
    assert versions.judge(needed, {"transformers": "5.9.0", "bitsandbytes": "0.50"}).status == "ok"


CARD = ("NVIDIA H100",)


@pytest.mark.parametrize(
    ("sight", "status", "word"),
    [
        (gpu.Sight((), "2.13.0+cpu", None), "ok", "no NVIDIA GPU"),
        (gpu.Sight(CARD, "2.13.0+cpu", None), "failed", "built for the CPU alone"),
        (gpu.Sight(CARD, "2.13.0", "13.0", error="driver too old"), "failed", "driver too old"),
        (gpu.Sight(CARD, "2.13.0", "13.0", is_hidden=True), "warning", "hides every GPU"),
        (gpu.Sight(CARD, "2.13.0", "13.0", CARD, error="no kernel image"), "failed", "no kernel image"),
        (gpu.Sight(CARD, "2.13.0", "13.0", CARD), "ok", "NVIDIA H100 computes"),
        (gpu.Sight((), "2.13.0", "13.0", ("NVIDIA A100 MIG 1g.10gb",)), "ok", "a MIG slice"),
    ],
)
def test_whether_the_gpu_can_be_used(sight: gpu.Sight, status: str, word: str) -> None:
    outcome = gpu.judge(sight)
    assert outcome.status == status
    assert word in outcome.found
