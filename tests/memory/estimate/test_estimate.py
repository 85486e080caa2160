"""The estimate as a whole: against runs that were measured on an H200, and what each key does to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.config import Config, load_config
from engine.memory.estimate import Estimate, estimate_memory
from engine.memory.estimate.model_shape import model_shape
from engine.memory.estimate.phases import COMPONENTS, PHASES
from tests.memory.recipes import CONFIGS, RECIPES, SHIPPED, SNAPSHOT, estimate_of, snapshot, with_memory_told

MEASURED = json.loads((Path(__file__).parents[3] / "docs" / "performance" / "h200.json").read_text())["rows"]
PEAK_WITHIN, RESERVED_WITHIN = 0.03, 0.08
CARD = CONFIGS / "qwen35_4b" / "card_16gb.yaml"


@pytest.fixture(autouse=True)
def plain_allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTORCH_CUDA_ALLOC_CONF", raising=False)
    monkeypatch.delenv("PYTORCH_ALLOC_CONF", raising=False)


def config_of_row(row: dict[str, Any], folder: Path) -> Config:
    path = folder / "row.yaml"
    path.write_text("model:\n  name_or_path: Qwen/Qwen3.5-4B\ndata:\n  dataset: owner/name\n")
    return load_config(
        path, [f"--{key}={json.dumps(value).strip(chr(34))}" for key, value in row["settings"].items()]
    ).config


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: f"{row['name']} {row.get('label') or ''}".strip())
def test_it_is_what_an_h200_took(row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (row.get("environment") or {}).items():
        monkeypatch.setenv(name, value)
    config = config_of_row(row, tmp_path)
    found = estimate_memory(config, model_shape(config))
    assert found.peak_gib == pytest.approx(row["peak"], rel=PEAK_WITHIN)
    assert found.reserved_gib == pytest.approx(row["reserved"], rel=RESERVED_WITHIN)
    assert found.components["weights"] == pytest.approx(row["mem"]["weights"], abs=1e-6)
    assert found.components["optimizer state"] == pytest.approx(row["mem"]["optimizer"], abs=1e-6)


def test_each_phase_of_a_measured_step_is_met(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = next(row for row in MEASURED if row.get("timeline"))
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    config = config_of_row(row, tmp_path)
    found = {phase.name: phase.peak_gib for phase in estimate_memory(config, model_shape(config)).phases}
    measured = row["timeline"]["memory_gib"]
    names = {
        "start of step": "before the forward pass",
        "forward": "forward",
        "loss": "loss head",
        "backward": "backward",
    }
    for ours, theirs in names.items():
        assert found[ours] == pytest.approx(measured[theirs]["peak"], rel=0.01), ours


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.relative_to(CONFIGS).as_posix())
def test_estimates_of_the_shipped_configs_are_as_they_were(path: Path) -> None:
    """Renewed by `python -m tests.memory.recipes`. Other versions of transformers may move the last digit."""
    kept = json.loads(SNAPSHOT.read_text())[path.relative_to(CONFIGS).as_posix()]
    found = snapshot(estimate_of(path))
    assert found["decides"] == kept["decides"]
    for part in ("phases", "components"):
        assert found[part] == {name: pytest.approx(gib, rel=2e-3, abs=2e-3) for name, gib in kept[part].items()}
    assert [found[key] for key in ("peak", "reserved")] == pytest.approx([kept["peak"], kept["reserved"]], rel=2e-3)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_head_of_a_recipe_says_what_is_estimated(path: Path) -> None:
    assert path.read_text() == with_memory_told(path), "python -m tests.memory.recipes writes it anew"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.relative_to(CONFIGS).as_posix())
def test_parts_sum_up_and_the_highest_phase_decides(path: Path) -> None:
    found = estimate_of(path)
    names = [phase.name for phase in found.phases]
    assert names == [name for name in PHASES if name in names]
    for phase in found.phases:
        assert sum(phase.parts.values()) == pytest.approx(phase.peak_gib)
        assert list(phase.parts) == [name for name in COMPONENTS if name in phase.parts]
    decides = next(phase for phase in found.phases if phase.name == found.decides)
    assert decides.peak_gib == found.peak_gib == max(phase.peak_gib for phase in found.phases)
    assert found.components == decides.parts
    assert found.peak_gib < found.reserved_gib < found.total_gib == found.reserved_gib + found.context_gib
    assert found.assumptions and all(
        sentence[0].islower() or sentence.startswith("CUDA") for sentence in found.assumptions
    )


def card(*flags: str) -> Estimate:
    return estimate_of(CARD, *flags)


@pytest.mark.parametrize(
    "saves",
    [
        ("--train.per_device_batch_size=1",),
        ("--data.max_seq_length=1024",),
        ("--memory.offload_activations=true",),
        ("--memory.layer_slices=2",),
        ("--train.freeze_non_attention=true", "--memory.tiled_head=false"),
    ],
    ids=lambda flags: flags[0].lstrip("-"),
)
def test_what_saves_memory_lowers_it(saves: tuple[str, ...]) -> None:
    assert card(*saves).peak_gib < card().peak_gib - 0.1


@pytest.mark.parametrize(
    "takes",
    [
        ("--train.gradient_checkpointing=mixers",),
        ("--memory.tiled_head=false",),
        ("--memory.gradient_release=false", "--memory.tiled_head=false", "--train.max_grad_norm=null"),
        ("--train.optimizer=adamw8bit",),
        ("--memory.chunked_loss=false", "--memory.tiled_head=false"),
        ("--model.compile=false",),
    ],
    ids=lambda flags: flags[0].lstrip("-"),
)
def test_what_takes_memory_raises_it(takes: tuple[str, ...]) -> None:
    assert card(*takes).peak_gib > card().peak_gib + 0.1


def test_recomputing_more_holds_less() -> None:
    peaks = [card(f"--train.gradient_checkpointing={how}").peak_gib for how in ("full", "mixers", "selective", "none")]
    assert peaks == sorted(peaks) and len(set(peaks)) == len(peaks)


def test_accumulation_adds_the_gradients_of_all_weights_to_every_phase() -> None:
    plain = ("--memory.gradient_release=false", "--memory.tiled_head=false")
    once, often = card(*plain), card(*plain, "--train.gradient_accumulation_steps=4")
    assert often.components["gradients"] >= once.components["gradients"]
    assert often.peak_gib > once.peak_gib
    assert card(*plain, "--train.gradient_accumulation_steps=8").peak_gib == often.peak_gib


def test_gradients_without_release_are_those_of_all_trained_weights() -> None:
    found = card("--memory.gradient_release=false", "--memory.tiled_head=false")
    optimizer = next(phase for phase in found.phases if phase.name == "optimizer")
    assert optimizer.parts["gradients"] == pytest.approx(found.components["weights"])
    assert (found.trained, found.parameters) == (4_205_751_296, 4_205_751_296)


def test_expandable_segments_of_the_environment_take_less_from_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    before = card()
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    after = card()
    assert after.reserved_gib < before.reserved_gib and after.peak_gib < before.peak_gib
    assert any("expandable" in sentence for sentence in after.assumptions)
