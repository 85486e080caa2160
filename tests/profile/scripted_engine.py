"""An engine that tells the events it is given, and waits to be killed; what it was told to train is printed.

python scripted_engine.py EVENTS.jsonl --config FILE --run-dir DIR
"""

import shutil
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    script, run_dir = Path(sys.argv[1]), Path(sys.argv[sys.argv.index("--run-dir") + 1])
    run_dir.mkdir()
    shutil.copy(sys.argv[sys.argv.index("--config") + 1], script.with_suffix(".yaml"))
    shutil.copy(script, run_dir / "events.jsonl")
    print("a last word")
    if '"end"' not in script.read_text() and script.stat().st_size:
        time.sleep(600)
