"""Which GPU of this machine a run takes and what is free on it: cases E-05, E-07, E-09, E-10 and E-11."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.memory.advice.verdict import judge
from engine.monitor import MachineMemory, Nvml, NvmlError, machine_memory
from engine.profile.cards import Cards, look
from tests.engine.recorded_nvml import (
    GIB,
    ME,
    MIB,
    NO_PERMISSION,
    NOT_SUPPORTED,
    RecordedCard,
    Recording,
    four_cards,
    slice_of,
)
from tests.memory.advice.test_verdict import Needed


def cards_of(nvml: Nvml, visible: str | None = None, *, host_pids: bool = True, **settings: object) -> Cards:
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    return look(environment, open_library=lambda: nvml, host_pids=host_pids, **settings)  # type: ignore[arg-type]


# --- E-05: what others hold ----------------------------------------------------------------------------------------


def test_what_another_process_holds_is_named_and_not_free() -> None:
    stranger = os.getppid()  # lives, so that it has a name
    (room,) = cards_of(Recording([RecordedCard(used=30.0, pids={stranger: 30.0})])).rooms
    assert (room.total_gib, room.free_gib) == (80.0, 50.0)
    (holder,) = room.others
    assert (holder.pid, holder.gib) == (stranger, 30.0)
    assert holder.name
    assert judge(Needed(60.0), room).sentence == (
        f"does not fit: needs 60.0, free 50.0 of 80.0 GiB, 30.0 held by pid {stranger} ({holder.name})"
    )


def test_our_own_use_is_not_foreign() -> None:
    (room,) = cards_of(Recording([RecordedCard(used=42.0, pids={4_194_305: 30.0, ME: 12.0})])).rooms
    assert room.free_gib == 50.0
    assert [(one.pid, one.name) for one in room.others] == [(4_194_305, "")], "a pid that is gone has no name"


def test_in_a_container_a_pid_names_no_program_of_ours_and_unnamed_memory_is_told() -> None:
    card = RecordedCard(used=30.0, pids={1: 20.0})
    (room,) = cards_of(Recording([card]), host_pids=False).rooms
    assert room.free_gib == 50.0
    assert [(one.pid, one.name) for one in room.others] == [(1, "")]
    assert "10.0 GiB are in use by processes that the driver does not name here" in room.note


def test_processes_without_a_share_are_told_of() -> None:
    (room,) = cards_of(Recording([RecordedCard(used=6.0, pids={4711: None})])).rooms
    assert (room.free_gib, room.others) == (74.0, ())
    assert "6.0 GiB are in use by processes whose shares the driver does not tell (pid 4711)" in room.note


# --- E-07: slices --------------------------------------------------------------------------------------------------


def test_of_a_sliced_card_the_slice_counts() -> None:
    parent = RecordedCard(used=NO_PERMISSION, busy=NOT_SUPPORTED)
    nvml = Recording([parent], {0: [slice_of(0, name="NVIDIA A100-SXM4-40GB MIG 3g.20gb")]})
    for visible in (None, "0", "MIG-1111-2222"):
        (room,) = cards_of(nvml, visible).rooms
        assert room.is_slice
        assert (room.total_gib, room.free_gib) == (20.0, 17.0)
        assert "MIG slice of GPU 0: its own memory counts" in room.note
        assert room.capability == (8, 0)
    assert judge(Needed(18.0), room).word == "does not fit"


def test_a_parent_whose_memory_may_not_be_read_is_no_crash() -> None:
    found = cards_of(Recording([RecordedCard(used=NO_PERMISSION)]))
    assert found.rooms == ()
    assert found.problem == "the memory of GPU 0 (NVIDIA A100-SXM4-80GB) cannot be read (Insufficient Permissions)"


# --- E-09: which card ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("visible", "used"), [(None, [70, 1, 20, 5]), ("2", [20]), ("3,1", [5, 1]), ("GPU-cccc", [20]), ("1, -1, 2", [1])]
)
def test_the_first_visible_card_trains(visible: str | None, used: list[float]) -> None:
    found = cards_of(Recording(four_cards()), visible)
    assert [room.total_gib - room.free_gib for room in found.rooms] == used
    assert found.problem is None


def test_of_several_it_is_said_which_one() -> None:
    first, second = cards_of(Recording(four_cards()), "3,1").rooms
    assert first.note.startswith(
        "GPU 3 of 4 (CUDA_VISIBLE_DEVICES=3,1), the first of 2 visible ones: a run trains on it alone"
    )
    assert "a run trains on it with CUDA_VISIBLE_DEVICES=GPU-bbbb" in second.note
    (alone,) = cards_of(Recording([RecordedCard(used=0.0)])).rooms
    assert alone.note == ""


def test_cards_that_cuda_may_number_otherwise_are_unsure() -> None:
    (room,) = cards_of(Recording(four_cards(["T4", "A100", "T4", "A100"])), "2").rooms
    assert "card unsure" in room.note


def test_hidden_cards_and_a_missing_driver_are_told_apart() -> None:
    hidden = cards_of(Recording(four_cards()), "")
    assert (hidden.rooms, hidden.problem) == (
        (),
        "no GPU is visible: CUDA_VISIBLE_DEVICES is '', which hides all 4 GPUs of this machine",
    )
    assert "the NVIDIA driver is there and sees none" in (cards_of(Recording([])).problem or "")

    def no_driver() -> Nvml:
        raise NvmlError("failed", "NVML Shared Library Not Found")

    missing = look({}, open_library=no_driver)
    assert missing.rooms == ()
    assert missing.problem == "no GPU is known here: the NVIDIA driver does not answer (NVML Shared Library Not Found)"
    assert judge(Needed(10.0), next(iter(missing.rooms), None)).word == "unknown"


# --- E-10: a lost card ---------------------------------------------------------------------------------------------


def test_a_lost_card_does_not_hide_the_other_and_is_named() -> None:
    nvml = Recording([RecordedCard(used=2.0), RecordedCard(index=1, uuid="GPU-bbbb", lost_from_poll=0)])
    found = cards_of(nvml)
    (room,) = found.rooms
    assert (room.index, room.free_gib) == (0, 78.0)
    assert found.problem is not None
    assert "GPU 1 (NVIDIA A100-SXM4-80GB) does not answer any more (GPU is lost)" in found.problem
    assert found.problem in room.note
    assert nvml.closed


def test_the_only_card_is_lost() -> None:
    found = cards_of(Recording([RecordedCard(lost_from_poll=0)]))
    assert found.rooms == ()
    assert "GPU is lost" in (found.problem or "")


# --- E-11: memory that GPU and CPU share ---------------------------------------------------------------------------


def test_unified_memory_is_what_the_container_still_may_take(tmp_path: Path) -> None:
    for name, value in {"memory.max": 24000 * MIB, "memory.current": 21500 * MIB}.items():
        (tmp_path / "sys/fs/cgroup").mkdir(parents=True, exist_ok=True)
        (tmp_path / "sys/fs/cgroup" / name).write_text(f"{value}\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    machine = MachineMemory(available=200 * GIB, total=256 * GIB)

    def with_limit() -> MachineMemory:
        return machine_memory(tmp_path, machine)

    nvml = Recording([RecordedCard(name="NVIDIA GB10", used=NOT_SUPPORTED)])
    (room,) = cards_of(nvml, machine=with_limit).rooms
    assert room.free_gib * 1024 == pytest.approx(2500)
    assert "unified memory" in room.note
    assert room.capability == (12, 1)
    assert judge(Needed(4.0), room).sentence.startswith("does not fit: needs 4.0, free 2.4 of 23.4 GiB")
    (room,) = cards_of(nvml, machine=lambda: machine).rooms
    assert room.free_gib == 200.0
