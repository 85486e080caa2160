"""What screens ask of `pgs profile --serve`."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.profile.serving import Server
from tests.profile.small_profile import write_config

pytestmark = pytest.mark.xdist_group("profile server")  # one process answers them all


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_config(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    code, said = server.leave()
    assert code == 0
    assert "Traceback" not in said


def test_the_gpus_are_told_from_the_smallest_on(server: Server) -> None:
    table = [gpu for gpu in server.ask("gpus") if not gpu["here"]]
    assert {"RTX 4090 24GB", "H200 141GB"} <= {gpu["name"] for gpu in table}
    assert [gpu["memory_gib"] for gpu in table] == sorted(gpu["memory_gib"] for gpu in table)


def test_an_estimate_follows_keys_and_gpu(server: Server, config: Path) -> None:
    one = server.ask("estimate", config=str(config), gpu="4090")
    four = server.ask("estimate", config=str(config), gpu_memory_gb=3, overrides={"train.per_device_batch_size": 64})
    assert one["gpu"]["name"] == "RTX 4090 24GB" and one["verdict"]["word"] == "fits"
    assert four["peak_gib"] > one["peak_gib"]
    assert four["verdict"]["word"] == "does not fit" and four["changes"]
    assert server.ask("estimate", config=str(config))["gpu"] is None


def test_overrides_are_values_of_any_kind(server: Server, config: Path) -> None:
    overrides = {
        "memory.gradient_release": True,
        "train.max_grad_norm": None,
        "train.gradient_checkpointing": "full",
        "train.learning_rate": 1e-6,
        "data.dataset": ["a.jsonl", "b.jsonl"],
    }
    found = server.ask("estimate", config=str(config), gpu="H200", overrides=overrides, changes=False)
    assert found["components"].get("gradients", 0) < found["components"]["weights"] / 2
    assert found["changes"] == []


def test_the_length_of_the_run_is_counted_for_a_thorough_answer(server: Server, config: Path) -> None:
    overrides = {"train.per_device_batch_size": 5}
    work = server.ask("estimate", config=str(config), gpu="H200", overrides=overrides, price=3.0)["work"]
    assert (work["steps_per_epoch"], work["total_steps"]) == (2, 4)
    assert work["dollars"] > 0
    again = server.ask("estimate", config=str(config), gpu="H200", overrides=overrides, changes=False)["work"]
    assert again["steps_per_epoch"] == 2


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"overrides": {"train.optimizer": "sgd"}}, "sgd is not one of the choices"),
        ({"overrides": {"train.nothing": 1}}, "unknown key"),
        ({"gpu": "RTX 9999"}, "RTX 9999"),
        ({"gpu_memory_gb": -1}, "gpu_memory_gb must be a number above 0"),
        ({"gpu": "H200", "gpu_memory_gb": 24}, "give one of them"),
        ({"overrides": [1]}, "overrides must be an object"),
        ({"colour": "red"}, "unknown params: colour"),
        ({"overrides": {"model.name_or_path": "/nowhere/model"}}, "there is no folder"),
    ],
)
def test_what_cannot_be_answered_is_said_in_words(server: Server, config: Path, params: dict, words: str) -> None:
    with pytest.raises(LookupError) as refused:
        server.ask("estimate", config=str(config), **params)
    assert words in str(refused.value)
    assert "Traceback" not in str(refused.value)


def test_a_config_that_is_missing_or_broken_is_said_in_words(server: Server, tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="config is needed"):
        server.ask("estimate")
    with pytest.raises(LookupError, match=r"gone\.yaml"):
        server.ask("estimate", config=str(tmp_path / "gone.yaml"))
    (tmp_path / "broken.yaml").write_text("model: {name_or_path: [")
    with pytest.raises(LookupError, match=r"broken\.yaml"):
        server.ask("estimate", config=str(tmp_path / "broken.yaml"))
    assert "error" in server.say("{]")
    assert server.ask("measuring")["state"] == "idle"


def test_measuring_without_a_gpu_is_refused(server: Server, config: Path) -> None:
    with pytest.raises(LookupError, match="--measure needs a GPU"):
        server.ask("measure", config=str(config))
    assert server.ask("stop_measuring")["state"] == "idle"


def test_it_leaves_when_it_is_told_to() -> None:
    server = Server()
    server.ask("hello")
    server.process.send_signal(signal.SIGTERM)
    code, said = server.leave()
    assert code == 0
    assert "Traceback" not in said


def test_gpus_are_told_without_torch() -> None:
    lines = (
        "import sys; from engine.profile.server.methods import Methods; import engine.profile.server.serve",
        "assert Methods().answer('gpus', {})",
        "assert not {'torch', 'transformers'} & set(sys.modules), sorted(sys.modules)",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_a_quick_question_does_not_wait_for_changes_that_are_looked_for(server: Server, tmp_path: Path) -> None:
    path = str(write_config(tmp_path, model={"compile": True}))
    small = {"config": path, "gpu_memory_gb": 2.5, "overrides": {"train.per_device_batch_size": 32}}
    server.ask("estimate", **small, changes=False)
    replies = server.say_all(
        {"id": "search", "method": "estimate", "params": small},
        {"id": "quick", "method": "estimate", "params": {**small, "changes": False}},
        {"id": "search again", "method": "estimate", "params": {**small, "changes": True}},
        {"id": "gpus", "method": "gpus"},
    )
    assert [reply["id"] for reply in replies] == ["quick", "gpus", "search", "search again"]
    assert all("result" in reply for reply in replies)
