"""Which folder a run gets, when several engines want the same one at the same moment."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from engine.rundir import create_run_dir, this_process, write_run_info

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
OPEN_AT_A_WORD = """
import sys
from pathlib import Path
from engine.config import load_config
from engine.errors import UserError
from engine.session.open import open_run
loaded = load_config(Path(sys.argv[1]), ["--train.output_dir", sys.argv[2], "--train.resume_from", "auto"])
print("ready", flush=True)
sys.stdin.readline()
try:
    print("open", open_run(loaded.config, loaded.name, None).run.id, flush=True)
except UserError as error:
    print(f"refused: {error}", flush=True)
sys.stdin.readline()
"""


def test_of_engines_that_start_at_once_on_one_unfinished_run_one_gets_it(tmp_path: Path) -> None:
    run = create_run_dir(tmp_path, "quickstart")
    write_run_info(run, replace(this_process(run, "quickstart"), pid_start="of a process that is gone"))
    command = [sys.executable, "-c", OPEN_AT_A_WORD, str(QUICKSTART), str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    engines = [subprocess.Popen(command, **pipes) for _ in range(3)]  # type: ignore[call-overload]
    try:
        assert [engine.stdout.readline() for engine in engines] == ["ready\n"] * 3
        for engine in engines:
            engine.stdin.write("now\n")
            engine.stdin.flush()
        said = sorted(engine.stdout.readline() for engine in engines)
    finally:
        for engine in engines:
            engine.communicate("that is all\n")
    assert said[0] == f"open {run.id}\n"
    assert all("refused" in words and "holds its folder" in words for words in said[1:]), said
    assert list(tmp_path.iterdir()) == [run.path], "none of them has begun a run of its own"
