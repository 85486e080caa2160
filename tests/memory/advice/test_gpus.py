"""The table of GPUs: what people and drivers call them, and how people add theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import UserError
from engine.memory.advice.gpus import gpu_called, gpu_named, gpus, own_table


@pytest.fixture(autouse=True)
def no_table_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def write_own(text: str) -> Path:
    path = own_table()
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_the_gpus_that_people_train_on_are_there() -> None:
    wanted = (
        "3060 3070 3080-10 3080-12 3090 4060 4060ti-16 4070 4070tisuper 4080 4090 5070 5070ti 5080 5090 a10 a40 a6000"
        " l4 l40s a100-40 a100-80 h100 h200 b200 gh200 gb10 mi300x"
    )
    for name in wanted.split():
        gpu = gpu_named(name)
        assert gpu.memory_gib > 4 and gpu.bf16_tflops > 10 and gpu.bandwidth_tb_s > 0.1
    assert len({gpu.name for gpu in gpus()}) == len(gpus())


@pytest.mark.parametrize(
    ("name", "boxed"), [("A100 40GB", 40), ("RTX 4090", 24), ("H100", 80), ("H200", 141), ("L4", 24), ("5090", 32)]
)
def test_memory_is_what_torch_reports_and_not_what_the_box_says(name: str, boxed: int) -> None:
    assert 0.9 * boxed < gpu_named(name).memory_gib < boxed


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("4090", "RTX 4090 24GB"),
        ("rtx4090", "RTX 4090 24GB"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090 24GB"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "RTX 4070 Ti Super 16GB"),
        ("a100-40", "A100 40GB"),
        ("A100 40 GB", "A100 40GB"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB"),
        ("NVIDIA H100 80GB HBM3", "H100 80GB"),
        ("NVIDIA H100 PCIe", "H100 PCIe 80GB"),
        ("h100", "H100 80GB"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada 48GB"),
        ("NVIDIA GH200 480GB", "GH200 96GB"),
        ("DGX Spark", "GB10 128GB"),
        ("AMD Instinct MI300X", "MI300X 192GB"),
    ],
)
def test_a_name_is_understood_as_people_and_drivers_write_it(text: str, name: str) -> None:
    assert gpu_named(text).name == name


def test_every_gpu_is_found_by_its_own_name_and_its_others() -> None:
    for gpu in gpus():
        assert {gpu_named(name).name for name in (gpu.name, *gpu.also)} == {gpu.name}


def test_a_name_that_means_two_is_asked_back() -> None:
    with pytest.raises(UserError, match=r"a100 may be A100 40GB or A100 80GB: say which"):
        gpu_named("a100")


def test_another_gpu_with_a_similar_name_is_not_taken() -> None:
    with pytest.raises(UserError, match=r"no GPU called RTX 4090 Laptop GPU is known.*--gpu_memory_gb.*gpus\.yaml"):
        gpu_named("RTX 4090 Laptop GPU")


def test_an_unknown_name_brings_the_near_ones() -> None:
    with pytest.raises(UserError, match=r"did you mean .*RTX 4090 24GB"):
        gpu_named("RTX 4099")


def test_a_name_with_two_sizes_is_told_by_its_memory() -> None:
    assert (found := gpu_called("NVIDIA GeForce RTX 3080", 11.8)) and found.name == "RTX 3080 12GB"
    assert (found := gpu_called("NVIDIA GeForce RTX 3080", 9.8)) and found.name == "RTX 3080 10GB"
    assert gpu_called("Quadro FX", 1.0) is None


def test_a_slice_has_its_share_of_the_card() -> None:
    whole, part = gpu_named("A100 40GB"), gpu_called("NVIDIA A100-SXM4-40GB MIG 3g.20gb", 19.5)
    assert part is not None
    assert (part.memory_gib, part.capability) == (19.5, (8, 0))
    assert part.bf16_tflops == pytest.approx(whole.bf16_tflops * 3 / 7)
    assert part.bandwidth_tb_s < whole.bandwidth_tb_s


def test_people_add_gpus_and_correct_those_that_are_there() -> None:
    write_own("""
gpus:
  - {name: RTX 4090 24GB, memory_gib: 22.5, bf16_tflops: 165, bandwidth_tb_s: 1.0, capability: "8.9"}
  - {name: Our Own 12GB, memory_gib: 11, bf16_tflops: 50, bandwidth_tb_s: 0.5, capability: null, also: [ours]}
""")
    assert gpu_named("4090").memory_gib == 22.5
    assert gpu_named("ours").name == gpu_named("our own").name == "Our Own 12GB"
    assert len([gpu for gpu in gpus() if gpu.name.startswith("RTX 4090")]) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gpus: [", r"gpus\.yaml:\d: this is no YAML"),
        ("- a\n", "is a list under the key gpus"),
        ("", "is a list under the key gpus"),
        ("gpus: [4090]", "GPU 1 of the list is no mapping"),
        ("gpus: [{memory_gib: 4}]", "GPU 1 of the list has no name"),
        ("gpus: [{name: X1, memory: 4}]", r"\(X1\) has the unknown key memory; known are name, memory_gib"),
        ("gpus: [{name: X1, memory_gib: -4}]", "memory_gib must be a number above 0, found -4"),
        ("gpus: [{name: X1, memory_gib: true}]", "memory_gib must be a number above 0, found True"),
        ("gpus: [{name: X1, memory_gib: 4, bf16_tflops: 1}]", "bandwidth_tb_s must be a number above 0, found None"),
        (
            "gpus: [{name: X1, memory_gib: 4, bf16_tflops: 1, bandwidth_tb_s: 1, capability: new}]",
            r'capability must be a text such as "8\.9", or null, found new',
        ),
    ],
)
def test_a_bad_table_is_one_clear_sentence_with_its_place(text: str, reason: str) -> None:
    path = write_own(text)
    with pytest.raises(UserError, match=reason) as refusal:
        gpus()
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)
