"""Float8 rounds what the layers multiply, and changes nothing else about a model."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from engine.errors import UserError
from engine.model.float8 import float8_problem, pays, use_float8
from engine.model.freeze import freeze_non_attention
from engine.model.recompute import recompute_activations

from .conftest import MODELS, Pair, in_whole_blocks

MakePair = Callable[..., Pair]
IDS = torch.arange(64).view(2, 32)
TOLERANCE = 0.2
"""Of a gradient's length: E4M3 rounds a number by up to 6 %, E5M2 by 12 %, and a few products follow each other."""


def gradients(model: PreTrainedModel, ids: Tensor = IDS) -> dict[str, Tensor]:
    model.zero_grad()
    model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def assert_near(found: dict[str, Tensor], wanted: dict[str, Tensor], tolerance: float = TOLERANCE) -> None:
    assert found.keys() == wanted.keys()
    for name, gradient in wanted.items():
        if gradient.dim() != 2 and tolerance:  # a few numbers in which most of a long sum cancels out
            continue
        assert (found[name] - gradient).norm() <= tolerance * gradient.norm(), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", MODELS)
def test_gradients_are_those_without_it_but_for_rounding(pair: MakePair, kind: str, dtype: torch.dtype) -> None:
    plain, converted = pair(kind, dtype)
    assert_near(gradients(converted), gradients(plain))
    assert any(not torch.equal(p.grad, q.grad) for p, q in zip(plain.parameters(), converted.parameters(), strict=True))


@pytest.mark.parametrize("kind", MODELS)
def test_any_number_of_tokens_will_do(pair: MakePair, kind: str) -> None:
    plain, converted = pair(kind)
    assert_near(gradients(converted, IDS[:1, :19]), gradients(plain, IDS[:1, :19]))


def test_parameters_keep_name_identity_and_type(pair: MakePair) -> None:
    plain, _ = pair("qwen3_5", torch.bfloat16)
    before = {name: id(parameter) for name, parameter in plain.named_parameters()}
    states = list(plain.state_dict())
    plain.get_decoder().layers[0].eval()
    used = use_float8(plain, emulate=True, worth_it=in_whole_blocks)
    assert before == {name: id(parameter) for name, parameter in plain.named_parameters()}
    assert states == list(plain.state_dict())
    assert {parameter.dtype for parameter in plain.parameters()} == {torch.bfloat16}
    assert all(isinstance(plain.get_submodule(name), nn.Linear) for name in used.converted)
    assert [plain.get_submodule(name).training for name in used.converted] == [
        not name.startswith("model.layers.0.") for name in used.converted
    ]


def test_head_embedding_and_odd_shapes_stay_as_they_are(pair: MakePair) -> None:
    plain, _ = pair("qwen3_5")
    used = use_float8(plain, emulate=True, worth_it=in_whole_blocks)
    left = {n for n, m in plain.named_modules() if type(m) is nn.Linear}
    assert left == {"lm_head", *(f"model.layers.0.linear_attn.in_proj_{part}" for part in "ab")}  # 4 outputs each
    assert used.share == pytest.approx(0.99, abs=0.01)
    assert used.sentence().startswith(f"{len(used.converted)} matrices multiply in float8 while training (99% of")


def test_only_large_matrices_pay() -> None:
    def matrix(outputs: int, inputs: int) -> nn.Linear:
        return nn.Linear(inputs, outputs, bias=False, device="meta")

    assert pays(matrix(9216, 2560)) and pays(matrix(2560, 9216)) and pays(matrix(1024, 5120))
    assert not pays(matrix(1024, 2560)) and not pays(matrix(32, 2560)) and not pays(matrix(9216, 2568))


def test_a_frozen_matrix_passes_the_gradient_on_and_makes_none(pair: MakePair) -> None:
    plain, converted = pair("qwen3_5")
    for model in (plain, converted):
        freeze_non_attention(model)
    products = Products()
    with products:
        found = gradients(converted, IDS[:, :24])
    assert_near(found, gradients(plain, IDS[:, :24]))
    frozen = {p.shape for n, p in converted.named_parameters() if ".mlp." in n}
    trained = {p.shape for n, p in converted.named_parameters() if p.requires_grad and p.dim() == 2}
    assert products.results.isdisjoint(frozen - trained), "a gradient of a frozen matrix was computed"
    assert products.results & trained


def test_a_frozen_matrix_keeps_nothing_of_its_input(pair: MakePair) -> None:
    _, converted = pair("llama")
    converted.requires_grad_(False)
    rows = torch.randn(16, 64, requires_grad=True)
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t), t)[1], lambda t: t):
        converted.get_submodule("model.layers.0.mlp.up_proj")(rows)
    assert [tuple(tensor.shape) for tensor in kept] == [(64, 96)], "the weight, which exists anyway"


@pytest.mark.parametrize("freeze", [False, True], ids=["all", "frozen"])
@pytest.mark.parametrize("how", ["full", "selective"])
@pytest.mark.parametrize("kind", MODELS)
def test_recomputation_changes_no_bit(pair: MakePair, kind: str, how: Any, freeze: bool) -> None:
    _, converted = pair(kind)
    if freeze:
        freeze_non_attention(converted)
    wanted = gradients(converted)
    told = recompute_activations(converted, how)
    assert_near(gradients(converted), wanted, 0.0)
    assert how == "full" or all(told.kept.values()), "selective keeps products of float8 copies too"


def test_evaluation_is_that_of_the_model_that_is_saved(pair: MakePair) -> None:
    plain, converted = (model.eval() for model in pair("qwen3_5"))
    with torch.no_grad():
        assert torch.equal(converted(input_ids=IDS).logits, plain(input_ids=IDS).logits)


@pytest.mark.parametrize(
    ("gpu", "capability", "torchao", "said"),
    [
        (None, None, "0.18.0", "this run trains on the CPU, and float8 needs a GPU of compute capability 8.9"),
        ("NVIDIA A100-SXM4-80GB", (8, 0), "0.18.0", "NVIDIA A100-SXM4-80GB has compute capability 8.0"),
        ("NVIDIA H200", (9, 0), None, "torchao, which is not installed: pip install 'pgs-tui[gpu]'"),
        ("NVIDIA H200", (9, 0), "0.18.0", None),
        ("NVIDIA L4", (8, 9), "0.17.0", None),
    ],
)
def test_what_it_needs(gpu: str | None, capability: Any, torchao: str | None, said: str | None) -> None:
    problem = float8_problem(gpu, capability, torchao)
    assert (said is None and problem is None) or (said is not None and said in str(problem))


def test_the_cpu_is_refused_in_a_sentence(pair: MakePair) -> None:
    plain, _ = pair("llama")
    with pytest.raises(UserError, match=r"^memory\.float8_training: this run .* set memory\.float8_training: false\.$"):
        use_float8(plain)


def test_a_model_of_small_matrices_is_refused(pair: MakePair) -> None:
    plain, _ = pair("llama")
    with pytest.raises(UserError, match="no matrix of LlamaForCausalLM is large enough"):
        use_float8(plain, emulate=True)


def test_torchao_says_nothing_on_the_console() -> None:
    code = "from engine.doctor.checks.tiny import tiny_model; tiny_model(); import engine.model.float8.linear"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


class Products(torch.utils._python_dispatch.TorchDispatchMode):
    """The shapes of all results of matrix products while it is entered, the backward pass included."""

    def __init__(self) -> None:
        super().__init__()
        self.results: set[Any] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.mm.default:
            self.results |= {out.shape, out.shape[::-1]}
        return out
