"""The monitor against recordings of NVML and of control groups: what a user sees on odd machines."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from engine.events import Alert, Event, Gpu, Host
from engine.monitor import (
    HostReader,
    MachineMemory,
    Nvml,
    NvmlError,
    Sampler,
    card_memory,
    machine_memory,
    read_card,
    visible_card_names,
    watched_cards,
)
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


def memory_of_nothing() -> MachineMemory:
    return MachineMemory(available=8 * GIB, total=16 * GIB)


def sampler(tmp_path: Path, nvml: Nvml, events: list[Event], **settings: object) -> Sampler:
    return Sampler(
        events.append,
        tmp_path,
        open_library=lambda: nvml,
        environment={},
        now=lambda: 0.0,
        host=HostReader(tmp_path, memory=memory_of_nothing),
        **settings,  # type: ignore[arg-type]
    )


# --- which cards ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "indices"),
    [
        (None, [0, 1, 2, 3]),
        ("2", [2]),
        ("3,1", [3, 1]),
        ("GPU-cccc", [2]),
        ("GPU-c", [2]),
        ("1, -1, 2", [1]),
        ("0,9,1", [0]),
        ("", []),
        ("-1", []),
        ("GPU-", []),
        ("nonsense", []),
    ],
)
def test_the_cards_of_the_training_are_watched_in_its_order(setting: str | None, indices: list[int]) -> None:
    environment = {} if setting is None else {"CUDA_VISIBLE_DEVICES": setting}
    watched = watched_cards(Recording(four_cards()), environment)
    assert [card.index for card in watched.cards] == indices
    assert watched.unsure is None


@pytest.mark.parametrize("name", ["MIG-1111-2222", "MIG-1111", "MIG-GPU-bbbb/7/0"])
def test_a_slice_is_watched_instead_of_its_card(name: str) -> None:
    nvml = Recording(four_cards(), {1: [slice_of(1)]})
    (card,) = watched_cards(nvml, {"CUDA_VISIBLE_DEVICES": name}).cards
    assert (card.uuid, card.memory()) == ("MIG-1111-2222", (3 * GIB, 20 * GIB))


def test_unlike_cards_without_pci_order_are_unsure() -> None:
    nvml = Recording(four_cards(["T4", "A100", "T4", "A100"]))
    assert "card unsure" in (watched_cards(nvml, {"CUDA_VISIBLE_DEVICES": "2"}).unsure or "")
    by_bus = {"CUDA_VISIBLE_DEVICES": "2", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert watched_cards(nvml, by_bus).unsure is None
    assert watched_cards(nvml, {"CUDA_VISIBLE_DEVICES": "GPU-cccc"}).unsure is None


def test_what_the_training_reports_decides() -> None:
    nvml = Recording(four_cards(["T4", "A100", "T4", "A100"]))
    watched = watched_cards(nvml, {"CUDA_VISIBLE_DEVICES": "0"}, in_use=["bbbb"])
    assert ([card.index for card in watched.cards], watched.unsure) == ([1], None)
    unknown = watched_cards(nvml, {"CUDA_VISIBLE_DEVICES": "0"}, in_use=["ffff"])
    assert "card unsure" in (unknown.unsure or "")


def test_the_names_of_the_cards_that_a_training_could_use() -> None:
    nvml = Recording(four_cards(["T4", "A100", "T4", "A100"]))
    assert visible_card_names({"CUDA_VISIBLE_DEVICES": "1"}, lambda: nvml) == ("A100",)
    assert visible_card_names({"CUDA_VISIBLE_DEVICES": ""}, lambda: nvml) == ()
    assert nvml.closed

    def no_driver() -> Nvml:
        raise NvmlError("failed", "Driver Not Loaded")

    assert visible_card_names({}, no_driver) == ()


# --- one card ------------------------------------------------------------------------------------------------------


def test_memory_of_other_processes_is_not_ours() -> None:
    card = RecordedCard(used=42.0, pids={4711: 30.0, ME: 12.0})
    memory = card_memory(card, {ME})
    assert (memory.ours, memory.others, memory.free) == (12 * GIB, 30 * GIB, 38 * GIB)
    assert memory.foreign == {4711: 30 * GIB}


def test_before_we_hold_anything_all_of_it_is_foreign() -> None:
    memory = card_memory(RecordedCard(used=30.0, pids={4711: 30.0}), {ME}, host_pids=True)
    assert (memory.ours, memory.others, memory.free) == (0, 30 * GIB, 50 * GIB)


@pytest.mark.parametrize("pids", [{99: 42.0}, {}, NO_PERMISSION, {ME: None}])
def test_in_a_container_our_own_allocator_is_asked(pids: dict[int, float | None] | NvmlError) -> None:
    card = RecordedCard(used=42.0, pids=pids)
    memory = card_memory(card, {ME}, own_bytes=12 * GIB, host_pids=False)
    assert (memory.ours, memory.others) == (12 * GIB, 30 * GIB)
    unknown = card_memory(card, {ME}, host_pids=False)
    assert (unknown.ours, unknown.others, unknown.used) == (None, None, 42 * GIB)


def test_a_slice_shows_its_own_memory_and_no_utilisation() -> None:
    event = read_card(slice_of(0, pids={ME: 3.0}), {ME})
    assert (event.used_by_us, event.used_by_others, event.total) == (3.0, 0.0, 20.0)
    assert event.utilisation is None
    assert event.error == "utilisation n/a (MIG)"


def test_a_sliced_parent_without_permission_is_no_crash() -> None:
    event = read_card(RecordedCard(used=NO_PERMISSION, busy=NOT_SUPPORTED), {ME})
    assert (event.total, event.used_by_us, event.temperature) == (None, None, 61.0)
    assert event.error == "memory n/a (Insufficient Permissions); utilisation n/a (Not Supported)"


def test_a_healthy_card_has_no_error() -> None:
    event = read_card(RecordedCard(used=12.0, pids={ME: 12.0}), {ME})
    assert event == Gpu(
        index=0,
        uuid="GPU-aaaa",
        name="NVIDIA A100-SXM4-80GB",
        utilisation=97.0,
        used_by_us=12.0,
        used_by_others=0.0,
        total=80.0,
        temperature=61.0,
        power=301.5,
        throttle=("power cap",),
    )


# --- the sampler ---------------------------------------------------------------------------------------------------


def test_a_lost_card_is_one_alert_and_the_others_go_on(tmp_path: Path) -> None:
    first = RecordedCard(index=0, uuid="GPU-aaaa", pids={ME: 1.0})
    second = RecordedCard(index=1, uuid="GPU-bbbb", pids={ME: 1.0}, lost_from_poll=3)
    events: list[Event] = []
    monitor = sampler(tmp_path, Recording([first, second]), events)
    for _ in range(6):
        monitor.sample()
    shown = {index: [e for e in events if isinstance(e, Gpu) and e.index == index] for index in (0, 1)}
    assert [e.error for e in shown[0]] == [None] * 6
    assert [e.total for e in shown[1]] == [80.0] * 2 + [None] * 4
    assert all(
        e.error and e.error.startswith("lost since ") and len(e.error) == len("lost since 00:00") for e in shown[1][2:]
    )
    (alert,) = [e for e in events if isinstance(e, Alert)]
    assert (alert.severity, alert.state, alert.code) == ("critical", "open", "GPU_LOST")
    assert alert.meaning.startswith("GPU 1 ")


def test_a_lost_card_that_only_says_unknown_error_stays_lost(tmp_path: Path) -> None:
    card = RecordedCard(lost_from_poll=1)
    events: list[Event] = []
    monitor = sampler(tmp_path, Recording([card]), events)
    monitor.sample()
    card.lost_from_poll, card.used = None, NvmlError("failed", "Unknown Error")
    monitor.sample()
    card.used = 1.0
    monitor.sample()
    shown = [e.error is not None and e.error.startswith("lost since") for e in events if isinstance(e, Gpu)]
    assert shown == [True, True, False]
    assert [e.state for e in events if isinstance(e, Alert)] == ["open", "closed"]


def test_without_a_driver_only_the_host_is_shown(tmp_path: Path) -> None:
    def no_driver() -> Nvml:
        raise NvmlError("failed", "NVML Shared Library Not Found")

    events: list[Event] = []
    monitor = Sampler(events.append, tmp_path, open_library=no_driver)
    monitor.sample()
    monitor.sample()
    assert [type(event) for event in events] == [Host, Host]


def test_unsure_cards_say_so_on_every_event(tmp_path: Path) -> None:
    events: list[Event] = []
    nvml = Recording(four_cards(["T4", "A100", "T4", "A100"]))
    environment = {"CUDA_VISIBLE_DEVICES": "2"}
    Sampler(events.append, tmp_path, open_library=lambda: nvml, environment=environment).sample()
    (gpu,) = [event for event in events if isinstance(event, Gpu)]
    assert "card unsure" in (gpu.error or "")


def test_an_unexpected_failure_is_said_once_and_ends_nothing(tmp_path: Path) -> None:
    class Broken(RecordedCard):
        def temperature(self) -> float:
            raise RuntimeError("driver speaks nonsense")

    events: list[Event] = []
    monitor = sampler(tmp_path, Recording([Broken()]), events)
    for _ in range(3):
        monitor.sample()
    alerts = [event for event in events if isinstance(event, Alert)]
    assert [(alert.code, alert.severity) for alert in alerts] == [("MONITOR_FAILED", "warning")]
    assert "driver speaks nonsense" in alerts[0].meaning
    assert sum(isinstance(event, Host) for event in events) == 3


def test_a_receiver_that_fails_does_not_end_the_thread(tmp_path: Path) -> None:
    calls: list[Event] = []
    enough = threading.Event()

    def refuse(event: Event) -> None:
        calls.append(event)
        if sum(isinstance(call, Host) for call in calls) >= 3:
            enough.set()
        raise OSError("disk gone")

    monitor = Sampler(refuse, tmp_path, open_library=lambda: Recording([]), interval=0.001)
    with monitor:
        assert enough.wait(timeout=20)


def test_stop_ends_the_thread_and_closes_nvml(tmp_path: Path) -> None:
    nvml = Recording([RecordedCard()])
    events: list[Event] = []
    seen = threading.Event()

    def emit(event: Event) -> None:
        events.append(event)
        seen.set()

    monitor = Sampler(emit, tmp_path, open_library=lambda: nvml, interval=60)
    monitor.start()
    assert seen.wait(timeout=20)
    monitor.stop()
    monitor.stop()
    count = len(events)
    assert nvml.closed
    assert not [thread for thread in threading.enumerate() if thread.name == "monitor"]
    assert len(events) == count


# --- the machine ---------------------------------------------------------------------------------------------------


def control_group(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MACHINE = MachineMemory(available=200 * GIB, total=256 * GIB)


def test_a_container_limit_of_version_2_counts(tmp_path: Path) -> None:
    root = control_group(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": f"{24000 * MIB}\n",
            "sys/fs/cgroup/memory.current": f"{21500 * MIB}\n",
        },
    )
    assert machine_memory(root, MACHINE) == MachineMemory(available=2500 * MIB, total=24000 * MIB)


def test_a_container_limit_of_version_1_counts(tmp_path: Path) -> None:
    root = control_group(
        tmp_path,
        {
            "proc/self/cgroup": "9:memory:/docker/4f2a\n2:cpu,cpuacct:/docker/4f2a\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{24000 * MIB}\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{21500 * MIB}\n",
        },
    )
    assert machine_memory(root, MACHINE).available == 2500 * MIB


def test_file_cache_can_be_taken_back(tmp_path: Path) -> None:
    root = control_group(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user.slice/job\n",
            "sys/fs/cgroup/user.slice/memory.max": f"{1000 * MIB}\n",
            "sys/fs/cgroup/user.slice/memory.current": f"{900 * MIB}\n",
            "sys/fs/cgroup/user.slice/memory.stat": f"anon 5\ninactive_file {300 * MIB}\n",
            "sys/fs/cgroup/user.slice/job/memory.max": "max\n",
            "sys/fs/cgroup/user.slice/job/memory.current": f"{100 * MIB}\n",
        },
    )
    assert machine_memory(root, MACHINE).available == 400 * MIB


@pytest.mark.parametrize("limit", ["max", str(2**63 - 4096)])
def test_without_a_limit_the_machine_counts(tmp_path: Path, limit: str) -> None:
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": limit,
        "sys/fs/cgroup/memory.current": f"{21500 * MIB}\n",
    }
    assert machine_memory(control_group(tmp_path / "limited", files), MACHINE) == MACHINE
    assert machine_memory(tmp_path / "no such place", MACHINE) == MACHINE


def test_the_host_event_measures_this_process(tmp_path: Path) -> None:
    seconds = iter([0.0, 10.0])
    reader = HostReader(tmp_path, clock=lambda: next(seconds), memory=memory_of_nothing)
    first = reader.read(reader.processes())
    spent_before = sum(os.times()[:2])
    while sum(os.times()[:2]) - spent_before < 0.2:
        sum(range(1000))
    second = reader.read(reader.processes())
    assert first.cpu == 0.0
    assert 1.0 <= second.cpu <= 100.0
    assert second.rss > 0.001
    assert (second.memory_available, second.memory_total) == (8.0, 16.0)
    assert second.disk_free > 0
