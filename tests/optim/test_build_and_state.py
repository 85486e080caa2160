"""The optimizers a config can name: groups, exact state in checkpoints, gradient norm and clipping."""

from __future__ import annotations

import io
import math
import sys
from typing import Any, get_args

import pytest
import torch
from torch import Tensor, nn

from engine.backward.clipping import clip_scale, measure_gradient_norm, scale_gradients
from engine.config.schema import Train
from engine.optim.build import build_optimizer, parameter_groups
from engine.optim.state import load_optimizer_state
from engine.optim.tensor_optimizer import TensorOptimizer

OPTIMIZERS = get_args(Train.model_fields["optimizer"].annotation)
DTYPES = (torch.float32, torch.bfloat16)


class Toy(nn.Module):
    """A tied embedding, a matrix large enough for 8 bits, a small one, a bias, a norm, and one without gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(96, 64)
        self.up_proj = nn.Linear(64, 128)
        self.down_proj = nn.Linear(128, 3, bias=False)
        self.input_layernorm = nn.LayerNorm(64)
        self.unused = nn.Linear(4, 4, bias=False)
        self.lm_head = nn.Linear(64, 96, bias=False)
        self.lm_head.weight = self.embed_tokens.weight


def make_model(dtype: torch.dtype = torch.float32) -> Toy:
    torch.manual_seed(3)
    return Toy().to(dtype)


def run_steps(model: Toy, optimizer: TensorOptimizer, first: int, last: int) -> None:
    """Take the steps first to last with gradients that depend on the step alone."""
    for step in range(first, last + 1):
        generator = torch.Generator().manual_seed(step)
        for name, parameter in model.named_parameters():
            if not name.startswith("unused"):
                parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)
        optimizer.begin_step(step, 1e-3 / step)
        optimizer.step()


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_state_comes_back_from_a_file_bit_for_bit(name: str, dtype: torch.dtype) -> None:
    train = Train(optimizer=name, weight_decay=0.1)
    unbroken = make_model(dtype)
    unbroken_optimizer = build_optimizer(unbroken.named_parameters(), train)
    run_steps(unbroken, unbroken_optimizer, 1, 5)
    file = io.BytesIO()
    torch.save({"model": unbroken.state_dict(), "optimizer": unbroken_optimizer.state_dict()}, file)
    run_steps(unbroken, unbroken_optimizer, 6, 10)

    file.seek(0)
    saved = torch.load(file, weights_only=True)
    resumed = make_model(dtype)
    resumed.load_state_dict(saved["model"])
    resumed_optimizer = build_optimizer(resumed.named_parameters(), train)
    load_optimizer_state(resumed_optimizer, saved["optimizer"])
    run_steps(resumed, resumed_optimizer, 6, 10)

    for (parameter_name, ours), expected in zip(resumed.named_parameters(), unbroken.parameters(), strict=True):
        assert torch.equal(ours, expected), parameter_name
        ours_state, expected_state = resumed_optimizer.state[ours], unbroken_optimizer.state[expected]
        assert ours_state.keys() == expected_state.keys()
        for key, value in expected_state.items():
            if isinstance(value, Tensor):
                assert ours_state[key].dtype == value.dtype and torch.equal(ours_state[key], value), key
            else:
                assert ours_state[key] == value


@pytest.mark.parametrize("name", ["adamw8bit", "lion8bit"])
def test_8bit_optimizers_keep_one_byte_per_value_after_loading(name: str) -> None:
    model = make_model(torch.bfloat16)
    optimizer = build_optimizer(model.named_parameters(), Train(optimizer=name))
    run_steps(model, optimizer, 1, 1)
    resumed = build_optimizer(model.named_parameters(), Train(optimizer=name))
    load_optimizer_state(resumed, optimizer.state_dict())

    assert resumed.state[model.up_proj.weight]["state1"].dtype == torch.uint8
    assert resumed.state[model.up_proj.bias]["state1"].dtype == torch.float32


def test_float32_moments_of_bfloat16_weights_are_not_rounded_on_loading() -> None:
    """torch's own load_state_dict casts them; a state may have been kept wider than its weight."""
    model = make_model(torch.bfloat16)
    optimizer = build_optimizer(model.named_parameters(), Train(optimizer="adamw"))
    run_steps(model, optimizer, 1, 1)
    state = optimizer.state_dict()
    wide = torch.full((128,), 1.0001)
    state["state"][next(key for key, value in state["state"].items() if value["exp_avg"].shape == (128,))][
        "exp_avg"
    ] = wide

    load_optimizer_state(optimizer, state)

    assert torch.equal(optimizer.state[model.up_proj.bias]["exp_avg"], wide)


def test_loading_keeps_this_machines_implementation_and_the_saved_hyperparameters() -> None:
    model = make_model()
    saved = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=None).state_dict()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)

    load_optimizer_state(optimizer, saved)

    assert all(group["fused"] is True and group["lr"] == 3e-4 for group in optimizer.param_groups)


def test_state_of_another_model_is_refused() -> None:
    model = make_model()
    train = Train(optimizer="adamw")
    optimizer = build_optimizer(model.named_parameters(), train)
    fewer = build_optimizer(list(model.named_parameters())[:2], train)
    with pytest.raises(ValueError, match="another model or config"):
        load_optimizer_state(fewer, optimizer.state_dict())

    run_steps(model, optimizer, 1, 1)
    wider = Toy()
    wider.down_proj = nn.Linear(128, 5, bias=False)
    with pytest.raises(ValueError, match=r"exp_avg has the shape \(3, 128\), its parameter \(5, 128\)"):
        load_optimizer_state(build_optimizer(wider.named_parameters(), train), optimizer.state_dict())


def test_only_matrices_that_are_not_embeddings_decay() -> None:
    model = make_model()
    model.unused.requires_grad_(False)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    decayed, undecayed = parameter_groups(model.named_parameters(remove_duplicate=False), 0.1)

    assert [names[id(p)] for p in decayed["params"]] == ["up_proj.weight", "down_proj.weight"]
    assert [names[id(p)] for p in undecayed["params"]] == [
        "embed_tokens.weight",
        "up_proj.bias",
        "input_layernorm.weight",
        "input_layernorm.bias",
    ]
    assert decayed["weight_decay"] == 0.1 and undecayed["weight_decay"] == 0.0


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_weight_decay_shrinks_the_decayed_group_alone(name: str) -> None:
    model = make_model()
    optimizer = build_optimizer(model.named_parameters(), Train(optimizer=name, weight_decay=0.5, learning_rate=0.1))
    before = {key: parameter.detach().clone() for key, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()

    torch.testing.assert_close(model.up_proj.weight.detach(), before["up_proj.weight"] * 0.95)
    for key in ("embed_tokens.weight", "up_proj.bias", "input_layernorm.weight"):
        assert torch.equal(model.get_parameter(key), before[key])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_betas_come_from_the_config(name: str) -> None:
    model = make_model()
    default = Train(optimizer=name)
    optimizer = build_optimizer(model.named_parameters(), default)
    assert all(tuple(group["betas"]) == default.effective_betas for group in optimizer.param_groups)

    optimizer = build_optimizer(model.named_parameters(), Train(optimizer=name, betas=(0.8, 0.97)))
    assert all(tuple(group["betas"]) == (0.8, 0.97) for group in optimizer.param_groups)


def test_nothing_to_train_is_refused() -> None:
    model = make_model().requires_grad_(False)
    with pytest.raises(ValueError, match="no weight of the model is trainable"):
        build_optimizer(model.named_parameters(), Train())


def test_missing_bitsandbytes_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(ValueError, match=r"train\.optimizer: lion8bit needs the package bitsandbytes.*adamw"):
        build_optimizer(make_model().named_parameters(), Train(optimizer="lion8bit"))


def with_gradients(**gradients: list[float]) -> dict[str, nn.Parameter]:
    parameters = {name: nn.Parameter(torch.zeros(len(values))) for name, values in gradients.items()}
    for name, values in gradients.items():
        parameters[name].grad = torch.tensor(values)
    return parameters


def test_the_shown_norm_is_the_one_before_clipping() -> None:
    parameters = with_gradients(a=[3.0, 4.0])
    norm = measure_gradient_norm(parameters.items())
    scale = clip_scale(norm, 1.0)
    scale_gradients(parameters.values(), scale)

    assert norm.norm == 5.0 and norm.is_finite and scale == 0.2
    torch.testing.assert_close(parameters["a"].grad, torch.tensor([0.6, 0.8]))


@pytest.mark.parametrize("limit", [None, 5.0, 7.0])
def test_gradients_within_the_limit_stay_as_they_are(limit: float | None) -> None:
    assert clip_scale(measure_gradient_norm(with_gradients(a=[3.0, 4.0]).items()), limit) == 1.0


@pytest.mark.parametrize(("bad", "shown"), [("inf", math.inf), ("-inf", math.inf), ("nan", math.nan)])
@pytest.mark.parametrize("limit", [None, 1.0])
def test_a_non_finite_gradient_is_named_and_spoils_no_other(bad: str, shown: float, limit: float | None) -> None:
    parameters = with_gradients(a=[1.0, 2.0], b=[float(bad)], c=[float("nan")] if bad == "nan" else [float("inf")])
    norm = measure_gradient_norm(parameters.items())
    scale_gradients(parameters.values(), clip_scale(norm, limit))

    assert norm.non_finite == "b"
    assert norm.norm == shown or (math.isnan(norm.norm) and math.isnan(shown))
    assert torch.equal(parameters["a"].grad, torch.tensor([1.0, 2.0]))  # type: ignore[arg-type]


def test_nan_wins_over_infinity() -> None:
    norm = measure_gradient_norm(with_gradients(a=[float("inf")], b=[float("nan")]).items())
    assert math.isnan(norm.norm) and norm.non_finite == "a"


def test_a_tensor_with_both_counts_as_nan_on_every_device() -> None:
    norm = measure_gradient_norm(with_gradients(a=[1.0], b=[float("nan"), float("inf")]).items())
    assert math.isnan(norm.norm) and norm.non_finite == "b"


def test_huge_finite_gradients_are_not_called_infinite() -> None:
    norm = measure_gradient_norm(with_gradients(a=[3e30, 4e30]).items())
    assert norm.is_finite and norm.norm == pytest.approx(5e30)


def test_the_norm_is_taken_in_float32_and_over_all_types_together() -> None:
    parameters: dict[str, Any] = {
        "low": nn.Parameter(torch.zeros(100_000, dtype=torch.bfloat16)),
        "high": nn.Parameter(torch.zeros(1)),
        "none": nn.Parameter(torch.zeros(1)),
    }
    parameters["low"].grad = torch.full((100_000,), 0.01, dtype=torch.bfloat16)
    parameters["high"].grad = torch.tensor([4.0])
    low = float(torch.tensor(0.01, dtype=torch.bfloat16)) * math.sqrt(100_000)

    assert measure_gradient_norm(parameters.items()).norm == pytest.approx(math.hypot(low, 4.0), rel=1e-6)
    scale_gradients(parameters.values(), 0.5)
    assert parameters["high"].grad.item() == 2.0 and parameters["none"].grad is None


def test_no_gradient_at_all_has_the_norm_zero() -> None:
    norm = measure_gradient_norm([("a", nn.Parameter(torch.zeros(1)))])
    assert norm.norm == 0.0 and norm.is_finite and clip_scale(norm, 1.0) == 1.0
