"""Each check of the doctor must be able to fail, given what went wrong in other tools.

What surrounds training: the mask, disk and memory, terminal, versions, GPU.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from engine.config import load_config
from engine.data.examine import Examined
from engine.doctor.checks import (
    disk,
    gpu,
    mask,
    memory,
    terminal,
    versions,
)
from engine.doctor.checks.sizes import Sizes, sizes_of
from engine.units import GIB

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"


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
