"""Layers that take a batch in slices: the same gradients, each handed on once, and a slice's memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from engine.data.feeding.batches import Packs, Slots, packs_of
from engine.errors import UserError
from engine.model.compiled import compile_layers
from engine.model.compiled.watch import Compiled
from engine.model.decoder import decoder_layers, decoder_of
from engine.model.freeze import freeze_non_attention
from engine.model.offload import offload_layer_inputs
from engine.model.packed.isolation import Isolation
from engine.model.packed.proof import isolate
from engine.model.recompute import recompute_activations
from engine.model.slices import slice_layers
from engine.model.slices.forward import even_sizes
from engine.model.slices.proof import prove_slices
from tests.model.recompute.conftest import MODELS
from tests.train.live_bytes import LiveBytes

Build = Callable[..., PreTrainedModel]
LINES, LENGTH = 3, 20
IDS = torch.arange(LINES * LENGTH).view(LINES, LENGTH) % 64
DOCUMENTS = (
    (Slots(0, 0, 9), Slots(0, 9, 20), Slots(1, 0, 20), Slots(2, 0, 5), Slots(2, 5, 6), Slots(2, 6, 17)),
    (Slots(0, 0, 20), Slots(1, 0, 4), Slots(2, 0, 20)),
)
"""Of two batches; some lines end in padding."""
NO_DROPOUT = {"embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0}


def model_of(build: Build, kind: str, **changes: Any) -> PreTrainedModel:
    """In float64, so that sums over slices are those over the batch; experts multiply in float32 at most."""
    model = build(kind, **(NO_DROPOUT if kind == "gpt2" else {}), **changes)
    return model if kind == "moe" else model.double()


def gradients(
    model: PreTrainedModel, isolation: Isolation | None = None, packs: Packs | None = None
) -> dict[str, Tensor]:
    model.zero_grad()
    told = {} if isolation is None else isolation.enter(packs)
    model(input_ids=IDS, use_cache=False, **told).logits.float().pow(2).sum().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def assert_close(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    assert found.keys() == wanted.keys()
    for name, gradient in found.items():
        assert (gradient - wanted[name]).norm() <= 1e-6 * wanted[name].norm(), name


@pytest.fixture
def fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("how", ["full", "selective", "mixers"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("freeze", [False, True], ids=["all", "frozen"])
def test_gradients_are_those_of_the_batch_at_once(build: Build, kind: str, how: Any, freeze: bool) -> None:
    found = []
    for slices in (1, 2):
        model = model_of(build, kind)
        if freeze:
            freeze_non_attention(model)
        recompute_activations(model, how)
        if slices > 1:
            prove_slices(model)
            slice_layers(model, slices)
        found.append(gradients(model))
    assert_close(found[1], found[0])


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", ["llama", "qwen3_5"])
@pytest.mark.parametrize("slices", [2, 3])
def test_packs_whose_inputs_wait_in_main_memory(build: Build, kind: str, tied: bool, slices: int) -> None:
    plain, model = (model_of(build, kind, tie_word_embeddings=tied, num_hidden_layers=2) for _ in range(2))
    for each in (plain, model):
        recompute_activations(each, "full")
    isolations = isolate(plain), isolate(model)
    slice_layers(model, slices)
    inputs = offload_layer_inputs(model)
    for documents in DOCUMENTS:
        packs = packs_of(documents, IDS.shape)
        assert_close(gradients(model, isolations[1], packs), gradients(plain, isolations[0], packs))
        assert inputs.parked == 1, "of two layers the last one's input stays"


def test_each_slice_of_an_input_leaves_and_comes_back(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build("llama", num_hidden_layers=5)
    recompute_activations(model, "full")
    slice_layers(model, 3)
    inputs = offload_layer_inputs(model)
    copied: list[int] = []
    start = inputs._copies.start
    monkeypatch.setattr(inputs._copies, "start", lambda *both: (copied.append(both[0].nbytes), start(*both))[1])
    gradients(model)
    a_line = LENGTH * 32 * 4
    assert inputs.parked == 4 and inputs.buffers.nbytes == 4 * LINES * a_line
    assert copied == [a_line] * LINES * (4 + 3), "four inputs leave, three come back: the newest is on the device still"


def test_each_weight_is_complete_once_in_a_backward_pass(build: Build) -> None:
    model = build("qwen3_5")
    recompute_activations(model, "full")
    slice_layers(model, 3)
    fired: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda _, name=name: fired.update([name]))
    gradients(model)
    assert fired == Counter(dict.fromkeys((name for name, _ in model.named_parameters()), 1))


@pytest.mark.parametrize("kind", ["llama", "qwen3_5"])
def test_a_layer_computes_on_the_memory_of_a_slice(build: Build, kind: str) -> None:
    """Beside its weights' gradients, which are there once more, and the inputs, which are there as before."""
    rows, length = 4, 32
    highest = {}
    for slices in (1, 2, 4):
        model = build(kind, num_hidden_layers=2)
        recompute_activations(model, "full")
        if slices > 1:
            slice_layers(model, slices)
        weights = list(model.parameters())
        layer = next(iter(decoder_layers(model).values()))
        with LiveBytes(weights, weights) as live:
            ids = torch.zeros(rows, length, dtype=torch.int64)
            hidden = decoder_of(model)(input_ids=ids, use_cache=False).last_hidden_state
            before = live.now
            live.forget_peak()
            hidden.sum().backward()
        extra = sum(p.nbytes for p in layer.parameters()) if slices > 1 else 0
        highest[slices] = live.peak - before - extra - sum(p.nbytes for p in weights)
    assert 0 < highest[4] < highest[2] < highest[1]
    assert highest[1] / highest[2] > 1.5 and highest[1] / highest[4] > 2


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize(("kind", "packed", "slices", "graphs"), [("qwen3_5", True, 3, 2), ("llama", False, 2, 2)])
def test_compiled_layers_compile_each_size_of_a_slice_once(
    build: Build, kind: str, packed: bool, slices: int, graphs: int
) -> None:
    """Three lines in two slices are slices of two sizes."""
    plain, model = (model_of(build, kind, num_hidden_layers=2) for _ in range(2))
    for each in (plain, model):
        recompute_activations(each, "full", compiles=each is model)
    isolations = (isolate(plain), isolate(model)) if packed else (None, None)
    compile_layers(model, fixed_length=packed, backend="aot_eager")
    slice_layers(model, slices)
    before = Compiled.so_far()
    for documents in DOCUMENTS:
        packs = packs_of(documents, IDS.shape) if packed else None
        assert_close(gradients(model, isolations[1], packs), gradients(plain, isolations[0], packs))
        assert Compiled.so_far().since(before).graphs == graphs


def test_layers_whose_tokens_are_laid_out_anew_take_the_batch_at_once(build: Build) -> None:
    model = build("qwen3_5")
    recompute_activations(model, "full")
    mixer = model.model.layers[0].linear_attn
    told = slice_layers(model, 2, leave_out=(mixer,))
    assert (told.layers, told.left_out) == (1, 1)
    assert told.sentence() == (
        "1 layers take a batch in 2 slices, one after another; 1 others do not: their mixers take each document of a "
        "pack by itself"
    )
    assert_close(gradients(model), gradients(build("qwen3_5")))


def test_evaluation_is_as_before(build: Build) -> None:
    plain, model = build("qwen3_5").eval(), build("qwen3_5").eval()
    recompute_activations(model, "full")
    slice_layers(model, 2)
    with torch.no_grad():
        assert torch.equal(plain(input_ids=IDS).logits, model(input_ids=IDS).logits)


def test_a_layer_that_mixes_lines_is_refused_and_left_as_it_was(build: Build) -> None:
    model = build("llama")
    mlp: Any = model.model.layers[1].mlp
    forward = type(mlp).forward
    mixing = {"forward": lambda self, hidden: forward(self, hidden - hidden.mean(0, keepdim=True))}
    mlp.__class__ = type("MixingMLP", (type(mlp),), mixing)
    recompute_activations(model, "full")
    before = [vars(layer)["forward"] for layer in decoder_layers(model).values()]
    with pytest.raises(UserError, match=r"a line's gradient depends on the other lines; set memory\.layer_slices: 1"):
        prove_slices(model)
    assert [vars(layer)["forward"] for layer in decoder_layers(model).values()] == before
    assert all(module.training for module in model.modules())


def test_a_layer_that_is_told_of_all_lines_in_a_way_that_is_not_known_is_refused(build: Build) -> None:
    model = build("llama")
    layer: Any = model.model.layers[1]
    forward = type(layer).forward
    state: dict[str, Tensor] = {}
    model.model.embed_tokens.register_forward_hook(lambda *args: state.update(scale=args[2].detach().mean((1, 2))))

    def scaled(self: nn.Module, hidden: Tensor, **told: Any) -> Tensor:
        return forward(self, hidden, **told) * (1 + 100 * state["scale"][: len(hidden), None, None])

    layer.__class__ = type("Scaled", (type(layer),), {"forward": scaled})
    recompute_activations(model, "full")
    with pytest.raises(UserError, match="do not take some lines of a batch by themselves: they give other gradients"):
        prove_slices(model)


def test_a_layer_that_returns_something_of_all_lines_is_refused(build: Build) -> None:
    model = build("llama")
    layer: nn.Module = model.model.layers[0]
    forward = type(layer).forward

    def with_a_norm(self: nn.Module, hidden: Tensor, **told: Any) -> tuple[Tensor, Tensor]:
        out = forward(self, hidden, **told)
        return out, out.norm()

    layer.__class__ = type("WithNorm", (type(layer),), {"forward": with_a_norm})
    slice_layers(model, 2)
    with pytest.raises(UserError, match="returns more than something of each line"):
        gradients(model)


def test_a_slice_is_told_its_own_documents(build: Build) -> None:
    """Of those that the host knows, no empty ones, which kernels of the delta rule may count wrongly."""
    model = build("llama")
    layer: nn.Module = model.model.layers[0]
    seen: list[dict[str, Any]] = []
    layer.forward = lambda hidden, **told: (seen.append(told), hidden)[1]
    slice_layers(model, 2)
    borders = torch.tensor([0, 9, 20, 40, 45, 46, 57, 60], dtype=torch.int32)
    hidden = torch.zeros(LINES, LENGTH, 4)
    layer(hidden, cu_seq_lens_q=borders.clone(), cu_seq_lens_cpu=borders, max_length_q=LENGTH)
    layer(hidden, cu_seq_lens_q=borders, cu_seq_lens_cpu=None)
    told = [
        {name: value.tolist() if isinstance(value, Tensor) else value for name, value in one.items()} for one in seen
    ]
    first, second = [0, 9, 20, 40], [0, 5, 6, 17, 20]
    assert told[:2] == [
        {"cu_seq_lens_q": own, "cu_seq_lens_cpu": own, "max_length_q": LENGTH} for own in (first, second)
    ]
    assert told[2:] == [{"cu_seq_lens_q": own} for own in ([*first, 40, 40, 40, 40], [0, 0, 0, *second])]


@pytest.mark.parametrize(
    ("lines", "slices", "sizes"), [(4, 2, [2, 2]), (3, 2, [2, 1]), (7, 3, [3, 2, 2]), (2, 2, [1, 1])]
)
def test_slices_are_as_even_as_can_be(lines: int, slices: int, sizes: list[int]) -> None:
    assert even_sizes(lines, slices) == sizes == [len(part) for part in torch.arange(lines).tensor_split(slices)]
