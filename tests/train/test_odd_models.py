"""Models out of the usual: with gradient release they learn bit for bit what they learn without it."""

import copy
import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import engine.train.assemble
from engine.events import Alert, End, Step
from engine.health import TrainingHealth
from engine.health.spikes import Verdict
from engine.train.loop import Trainer

from .conftest import QUICKSTART, Outcome

Train = Callable[..., Outcome]
NO_CLIPPING = ("--train.max_grad_norm", "null")
RELEASE = (*NO_CLIPPING, "--memory.gradient_release", "true")

SMALL = {
    "vocab_size": 3072,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 3,
}
EXPERTS = {"num_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
SHAPES: dict[str, dict[str, Any]] = {
    "Gemma2": {"model_type": "gemma2", "final_logit_softcapping": 3.0, "query_pre_attn_scalar": 8},
    "Cohere": {"model_type": "cohere", "logit_scale": 0.25},
    "Granite": {"model_type": "granite", "logits_scaling": 4.0, "tie_word_embeddings": True},
    "Phi": {"model_type": "phi", "tie_word_embeddings": False},
    "Qwen3Moe": {"model_type": "qwen3_moe", **EXPERTS},
    "GPT2": {"model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
}


@pytest.fixture
def model_of(tmp_path: Path) -> Callable[[str], Path]:
    """Makes the folder of a very small model of one of SHAPES, with the quickstart's tokenizer."""

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for file in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
            shutil.copy(QUICKSTART / "model" / file, folder / file)
        shape = {**SMALL, "architectures": [f"{name}{'LMHeadModel' if name == 'GPT2' else 'ForCausalLM'}"]}
        (folder / "config.json").write_text(json.dumps({**shape, **SHAPES[name]}))
        return folder

    return make


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> dict[str, Tensor]:
    """The model's weights when the last step of a run is done; each run of the test fills it anew."""
    found: dict[str, Tensor] = {}
    finish = Trainer.finish

    def keep(trainer: Trainer) -> End:
        found.clear()
        found.update({name: tensor.detach().clone() for name, tensor in trainer.head.model.named_parameters()})
        return finish(trainer)

    monkeypatch.setattr(Trainer, "finish", keep)
    return found


def assert_release_changes_nothing(train: Train, weights: dict[str, Tensor], *settings: Any) -> dict[str, Tensor]:
    """Train both ways; losses, norms and weights are the same bit for bit. Returns the weights."""
    plain = train("--train.max_steps", 4, *NO_CLIPPING, *settings)
    assert plain.code == 0, plain.end.reason
    expected = dict(weights)
    released = train("--train.max_steps", 4, *RELEASE, *settings)
    assert released.code == 0, released.end.reason
    assert released.losses == plain.losses and len(plain.losses) == 4
    assert [name for name, tensor in weights.items() if not torch.equal(tensor, expected[name])] == []
    return expected


def change_model(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None]) -> None:
    """Let `change` have the model of each run before anything is built on it."""
    load = engine.train.assemble.load_model

    def changed(*arguments: Any) -> Any:
        model = load(*arguments)
        change(model)
        return model

    monkeypatch.setattr("engine.train.assemble.load_model", changed)


@pytest.mark.parametrize(
    ("name", "chunked"), [*((name, "true") for name in SHAPES), ("Gemma2", "false"), ("Phi", "false")]
)
def test_release_learns_the_same(
    train: Train, weights: dict[str, Tensor], model_of: Callable[[str], Path], name: str, chunked: str
) -> None:
    settings = ("--model.name_or_path", model_of(name), "--memory.chunked_loss", chunked)
    assert_release_changes_nothing(train, weights, *settings)


@pytest.mark.parametrize("packing", ["true", "false"])
def test_more_tokens_than_a_model_has_positions_are_refused(
    train: Train, model_of: Callable[[str], Path], packing: str
) -> None:
    settings = ("--model.name_or_path", model_of("GPT2"), "--data.packing", packing, "--train.max_steps", 2)
    refused = train(*settings, "--data.max_seq_length", 96)
    assert refused.code == 1 and "GPT2LMHeadModel knows 64 positions" in refused.end.reason, refused.end.reason
    assert "set data.max_seq_length: 64" in refused.end.reason
    assert train(*settings, "--data.max_seq_length", 64).code == 0


def share_layers(model: Any) -> None:
    model.model.layers[1] = model.model.layers[0]


def share_projections(model: Any) -> None:
    model.model.layers[1].mlp.gate_proj.weight = model.model.layers[0].mlp.up_proj.weight


def freeze_embedding(model: Any) -> None:
    model.get_input_embeddings().weight.requires_grad_(False)


def untie_head(model: Any) -> None:
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().clone())


@pytest.mark.parametrize("change", [share_layers, share_projections, freeze_embedding, untie_head])
@pytest.mark.parametrize("recompute", ["none", "selective"])
def test_release_learns_the_same_with_weights_used_twice(
    train: Train,
    weights: dict[str, Tensor],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Any], None],
    recompute: str,
) -> None:
    change_model(monkeypatch, change)
    # the library saves no such model
    monkeypatch.setattr("engine.train.saver.Saver.save_final", lambda *_, **__: "nowhere")
    assert_release_changes_nothing(train, weights, "--train.gradient_checkpointing", recompute)


class FaultyGradients:
    """Makes the gradient of one weight not finite in one step, the rehearsal not counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, step: int) -> None:
        self.before: dict[str, Tensor] = {}
        self.after: dict[str, Tensor] = {}
        self.state: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        update = Trainer.update_within_backward

        def spoilt(trainer: Trainer, at_gate: Any, release: Any, number: int, rate: float) -> Any:
            named = dict(trainer.head.model.named_parameters())
            if number != step:
                return update(trainer, at_gate, release, number, rate)
            hook = named[name].register_hook(lambda gradient: gradient.index_fill(0, torch.tensor([0]), torch.inf))
            self.before = {key: tensor.detach().clone() for key, tensor in named.items()}
            before = copy.deepcopy(trainer.optimizer.state[named[name]])
            done = update(trainer, at_gate, release, number, rate)
            hook.remove()
            self.after = {key: tensor.detach().clone() for key, tensor in named.items()}
            trainer.optimizer.state_dict()  # counts of refused updates are settled
            self.state = before, copy.deepcopy(trainer.optimizer.state[named[name]])
            return done

        monkeypatch.setattr(Trainer, "update_within_backward", spoilt)


@pytest.mark.parametrize(("optimizer", "hyperball"), [("adamw", "true"), ("adamw8bit", "false"), ("lion8bit", "true")])
def test_under_release_a_gradient_that_is_not_finite_leaves_its_tensor_alone(
    train: Train, monkeypatch: pytest.MonkeyPatch, optimizer: str, hyperball: str
) -> None:
    name = "model.layers.0.mlp.up_proj.weight"
    spoilt = FaultyGradients(monkeypatch, name, step=3)
    settings = ("--train.optimizer", optimizer, "--train.hyperball", hyperball, "--train.weight_decay", "0.0")
    done = train("--train.max_steps", 5, "--model.torch_dtype", "bfloat16", *RELEASE, *settings)
    assert done.code == 0 and len(done.of(Step)) == 5, done.end.reason
    stayed = {key for key, tensor in spoilt.before.items() if torch.equal(tensor, spoilt.after[key])}
    assert name in stayed and not any(key.endswith("proj.weight") for key in stayed - {name}), stayed
    before, after = spoilt.state
    assert before.keys() == after.keys() and before
    assert all(torch.equal(v, after[k]) if isinstance(v, Tensor) else v == after[k] for k, v in before.items())
    [alert] = [alert for alert in done.of(Alert) if alert.code == "NON_FINITE_GRAD" and alert.state == "open"]
    assert name in alert.meaning and not done.of(Step)[2].skipped


@pytest.mark.parametrize("recompute", ["none", "selective"])
def test_the_record_of_a_flagged_step_leaves_the_run_as_it_was(
    train: Train, weights: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch, recompute: str
) -> None:
    """The record's forward pass lies between the cut and the body's backward pass: of packs, and with dropout."""
    gate = TrainingHealth.gate

    def flagged(health: TrainingHealth, step: int, *arguments: Any, **named: Any) -> Any:
        judgement = gate(health, step, *arguments, **named)
        verdict = Verdict(False, "spike", "loss", 1.0, stands_out=True)
        return dataclasses.replace(judgement, verdict=verdict) if step == 2 else judgement

    def add_dropout(model: Any) -> None:
        for layer in model.model.layers:
            layer.self_attn.attention_dropout = 0.3

    monkeypatch.setattr(TrainingHealth, "gate", flagged)
    change_model(monkeypatch, add_dropout)
    settings = ("--train.max_steps", 4, "--data.packing", "true", "--data.max_seq_length", 128, *RELEASE)
    settings = (*settings, "--train.gradient_checkpointing", recompute, "--data.eval_every", 2)
    recorded = train(*settings)
    assert recorded.code == 0 and recorded.run.spike(2).is_file(), recorded.end.reason
    expected = dict(weights)
    monkeypatch.setattr("engine.train.loop.write_spike_record", lambda *_: None)
    bare = train(*settings)
    assert not bare.run.spike(2).exists() and bare.losses == recorded.losses
    assert [name for name, tensor in weights.items() if not torch.equal(tensor, expected[name])] == []


def test_a_step_skipped_at_the_gate_under_release_moves_nothing(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights, momentum and counts are those of before, and no update has begun."""
    seen: list[tuple[dict[str, Tensor], dict[str, Any]]] = []
    gate = TrainingHealth.gate

    def skipping(health: TrainingHealth, step: int, loss: float | None, *arguments: Any, **named: Any) -> Any:
        return gate(health, step, float("nan") if step == 3 else loss, *arguments, **named)

    step_of = Trainer.train_step

    def noted(trainer: Trainer) -> None:
        step_of(trainer)
        held = {name: tensor.detach().clone() for name, tensor in trainer.head.model.named_parameters()}
        seen.append((held, copy.deepcopy(trainer.optimizer.state_dict()["state"])))

    monkeypatch.setattr(TrainingHealth, "gate", skipping)
    monkeypatch.setattr(Trainer, "train_step", noted)
    done = train("--train.max_steps", 6, "--model.torch_dtype", "bfloat16", *RELEASE)
    assert [step.skipped for step in done.of(Step)] == [False, False, True, False, False, False], done.end.reason
    (before, state), (after, its_state), (later, _) = seen[1:4]
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert not any(torch.equal(after[name], later[name]) for name in after if name.endswith("proj.weight"))
    for index, held in state.items():
        assert held["step"] == its_state[index]["step"] == 2
        assert all(torch.equal(held[name], its_state[index][name]) for name in ("exp_avg", "exp_avg_sq"))
