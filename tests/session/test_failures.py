import errno

import pytest
import torch

from engine.config import Config, Data, Memory, Model, Train
from engine.errors import UserError
from engine.session.failures import Whereabouts, explain

CUDA_MESSAGE = (
    "CUDA out of memory. Tried to allocate 4.69 GiB. GPU 0 has a total capacity of 39.39 GiB of which "
    "921.60 MiB is free. Process 123 has 38.4 GiB memory in use."
)


def config(**train: object) -> Config:
    return Config(
        model=Model(name_or_path="m"),
        data=Data(dataset="d.jsonl", max_seq_length=8192),  # type: ignore[arg-type]
        train=Train(**train),  # type: ignore[arg-type]
        memory=Memory(chunked_loss=False),
    )


def test_running_out_of_memory_tells_what_was_expected() -> None:
    where = Whereabouts(step=3, expected="21.3 GiB at the peak (backward)")
    reason = explain(torch.OutOfMemoryError(CUDA_MESSAGE), config(), where).reason
    assert "a step was expected to take 21.3 GiB at the peak (backward)" in reason and "`pgs profile" in reason


def test_running_out_of_gpu_memory_names_step_row_sizes_checkpoint_and_remedies() -> None:
    where = Whereabouts(step=1750, longest_row=8000, last_checkpoint="checkpoints/step-1500")
    failure = explain(torch.OutOfMemoryError(CUDA_MESSAGE), config(per_device_batch_size=4), where)
    assert failure.exit_code == 3
    for part in ("step 1750", "8,000 tokens", "asked for 4.7 GiB", "0.9 GiB free", "checkpoints/step-1500"):
        assert part in failure.reason
    advice = {advice.key: advice.value for advice in failure.advice}
    assert advice["data.max_seq_length"] == 4000
    assert advice["memory.chunked_loss"] is True
    assert advice["train.per_device_batch_size"] == 3, "one row less"


def test_the_remedies_go_on_from_what_is_set_and_each_makes_a_config_that_is_accepted() -> None:
    saving = Config(
        model=Model(name_or_path="m"),
        data=Data(dataset="d.jsonl", max_seq_length=8192),  # type: ignore[arg-type]
        train=Train(gradient_checkpointing="selective", optimizer="lion8bit", per_device_batch_size=4),
        memory=Memory(gradient_release=True),
    )
    failure = explain(torch.OutOfMemoryError(CUDA_MESSAGE), saving, Whereabouts(step=3, longest_row=8000))
    advice = {advice.key: advice for advice in failure.advice}
    assert advice["train.gradient_checkpointing"].value == "full"
    assert advice["train.freeze_non_attention"].value is True
    assert not {"memory.gradient_release", "memory.chunked_loss", "train.optimizer"} & advice.keys()
    batch = advice["train.per_device_batch_size"]
    assert (batch.also, batch.why) == ((), "a step of 3 chats instead of 4"), "release takes one pass a step"


@pytest.mark.parametrize(("slices", "advised"), [(1, 2), (2, 3), (3, None)])
def test_more_slices_are_advised_up_to_the_lines_of_a_batch(slices: int, advised: int | None) -> None:
    saving = Config(
        model=Model(name_or_path="m"),
        data=Data(dataset="d.jsonl"),  # type: ignore[arg-type]
        train=Train(gradient_checkpointing="full", per_device_batch_size=3),
        memory=Memory(layer_slices=slices),
    )
    failure = explain(torch.OutOfMemoryError(CUDA_MESSAGE), saving, Whereabouts(step=3))
    advice = {advice.key: advice for advice in failure.advice}
    assert (advice["memory.layer_slices"].value if advised else None) == advised
    assert ("memory.layer_slices" in advice) == (advised is not None)
    batch = advice["train.per_device_batch_size"]
    assert batch.value == 2
    assert (("memory.layer_slices", 2) in batch.also) == (slices > 2), "else the config would be refused"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:118] . DefaultCPUAllocator: can't allocate memory: you tried "
            "to allocate 4294967296 bytes. Error code 12 (Cannot allocate memory)"
        ),
    ],
)
def test_running_out_of_main_memory_is_told_the_same_way(error: BaseException) -> None:
    failure = explain(error, config(), Whereabouts())
    assert failure.exit_code == 3 and failure.reason.startswith("Out of memory before the first step")
    assert failure.advice


def test_a_small_piece_of_memory_is_not_told_as_nothing() -> None:
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. of which 5.06 MiB is free.")
    assert "asked for 20 MiB, 5 MiB free" in explain(error, config(), Whereabouts()).reason


def test_a_full_disk_has_its_own_exit_code() -> None:
    failure = explain(OSError(errno.ENOSPC, "No space left on device", "/data/run.json"), config(), Whereabouts())
    assert failure.exit_code == 4 and "/data/run.json" in failure.reason


def test_a_user_error_speaks_for_itself_and_anything_else_points_to_the_log() -> None:
    assert explain(UserError("The file x is empty."), config(), Whereabouts()).reason == "The file x is empty."
    unexpected = explain(KeyError("oops"), config(), Whereabouts())
    assert unexpected.exit_code == 1
    assert "KeyError" in unexpected.reason and "console.log" in unexpected.reason


def test_a_kernel_library_that_refuses_the_machine_is_named() -> None:
    module = {"__name__": "fla.ops.gated_delta_rule"}
    exec("def backward():\n    raise RuntimeError('Triton 3.6 is wrong on Hopper;\\n install tilelang')", module)
    try:
        module["backward"]()  # type: ignore[operator]
    except RuntimeError as error:
        failure = explain(error, config(), Whereabouts(step=1))
    assert failure.exit_code == 1 and failure.code == "KERNEL_REFUSED"
    assert failure.reason.endswith(
        "The kernels of fla do not run on this machine: Triton 3.6 is wrong on Hopper; install tilelang"
    )
