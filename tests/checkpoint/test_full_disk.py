"""Checkpoints on a disk that is really full: a small tmpfs in a mount namespace of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ON_A_SMALL_DISK = """
import json, os, sys
from pathlib import Path
import numpy
from safetensors.numpy import save_file
from engine.checkpoint.store import CheckpointStore, NotEnoughSpaceError, is_complete
from engine.events import EventReader, EventWriter, Phase
from engine.events.control_file import append_command
from engine.events.control_line import new_command
from engine.rundir import RunDir, read_run_info, this_process, write_run_info

run = RunDir(Path(sys.argv[1]) / "run")
run.path.mkdir()
write_run_info(run, this_process(run, "before"))
events, store, told = EventWriter(run.events), CheckpointStore(run, keep=1), {}
MIB = 2**20

def of(size):
    return lambda folder: (folder / "model.bin").write_bytes(os.urandom(size))

def of_safetensors(size):  # written by another library, with errors of its own
    tensor = numpy.frombuffer(os.urandom(size), numpy.uint8)
    return lambda folder: save_file({"weight": tensor}, folder / "model.safetensors")

def refusal(write, expected):
    try:
        store.save(200, write, expected)
    except NotEnoughSpaceError as error:
        return str(error)

def names(folder):
    return sorted(path.name for path in folder.iterdir())

store.save(100, of(MIB), MIB)
told["checked before"] = refusal(of(4 * MIB), 4 * MIB)
told["amid writing"] = refusal(of(4 * MIB), 1000)
told["amid another library's"] = refusal(of_safetensors(4 * MIB), 1000)
told["checkpoints"] = names(run.checkpoints), is_complete(run.checkpoints / "step-100")

filler = run.path / "filler"
with filler.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(os.urandom(4096))
    except OSError:
        pass
for number in range(200):
    events.write(Phase(name=f"phase {number}"))
told["log waits"] = events.stalled
for name, write in {
    "run.json": lambda: write_run_info(run, this_process(run, "after")),
    "control.jsonl": lambda: [append_command(run.control, new_command("stop")) for _ in range(100)],
}.items():
    try:
        write()
    except OSError as error:
        told[name] = error.strerror
told["name"] = read_run_info(run).name
filler.unlink()
events.write(Phase(name="space is back"))
events.close()
batch = EventReader(run.events).poll()
told["log"] = [stamped.event.name for stamped in batch.events if isinstance(stamped.event, Phase)], batch.bad_lines
told["alert"] = batch.events[-1].event.meaning
store.save(200, of(MIB), MIB)
told["at the end"] = names(run.checkpoints)
print(json.dumps(told))
"""


def test_a_full_disk_costs_no_checkpoint_and_no_event(tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o size=3m none {tmp_path}"
    apart = ["unshare", "-m", *([] if os.geteuid() == 0 else ["-r"]), "sh", "-c"]
    try:
        able = subprocess.run([*apart, mount], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare on this machine")
    if able.returncode != 0:
        pytest.skip(f"a disk of one's own cannot be mounted here: {able.stderr.strip()}")
    command = [*apart, f'{mount} && exec "$0" "$@"', sys.executable, "-c", ON_A_SMALL_DISK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    for way in ("checked before", "amid writing", "amid another library's"):
        assert told[way].startswith("The checkpoint step-200 needs 0.00 GiB, 0.00 GiB are free"), told[way]
    assert told["checkpoints"] == [["step-100"], True]
    assert told["log waits"] and told["run.json"] == told["control.jsonl"] == os.strerror(28)
    assert told["name"] == "before", "the old run.json stands where there is no room for a new one"
    assert told["log"] == [[*(f"phase {number}" for number in range(200)), "space is back"], 0]
    assert "no event was lost" in told["alert"]
    assert told["at the end"] == ["step-200"]
