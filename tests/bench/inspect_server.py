"""How quickly the inspector's server answers, with a 200 KB row and while it audits tens of thousands of others.

    python tests/bench/inspect_server.py [ROWS]

Prints one line of JSON: milliseconds from question to parsed answer, the seconds that the audit took beside the
questions, and the server's memory in MB.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.data.conftest import chat, write_rows  # noqa: E402
from tests.inspect.serving import Server, open_server  # noqa: E402

LONG_ROW = 5


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        server = open_server(_config(Path(folder), rows))
        found: dict[str, Any] = {"rows": rows, "start": _timed(server, "hello")}
        found |= _long_row(server)
        found["during_audit"] = _during_audit(server)
        found["audit_seconds"] = round(time.perf_counter() - started, 1)
        found["memory_mb"] = _memory(server)
        server.leave()
    print(json.dumps(found))


def _config(folder: Path, rows: int) -> Path:
    rng = random.Random(0)
    chats = [chat(*["word " * rng.randint(5, 80) for _ in range(2 * rng.randint(1, 3))]) for _ in range(rows)]
    for row in (LONG_ROW, LONG_ROW + 1):
        chats.insert(row, chat("word " * 40_000, "ok"))
    write_rows(folder / "chats.jsonl", *chats)
    path = folder / "bench.yaml"
    model = ROOT / "configs/quickstart/model"
    path.write_text(f"model:\n  name_or_path: {model}\ndata:\n  dataset: chats.jsonl\n  max_seq_length: 4096\n")
    return path


def _timed(server: Server, method: str, **params: Any) -> float:
    started = time.perf_counter()
    server.ask(method, **params)
    return round(1000 * (time.perf_counter() - started), 1)


def _timed_later(server: Server, method: str, **params: Any) -> float:
    """After the second that a person looks at what is there already."""
    time.sleep(1.0)
    return _timed(server, method, **params)


def _long_row(server: Server) -> dict[str, float]:
    return {
        "long_sample": _timed(server, "sample", row=LONG_ROW),
        "long_tokens": _timed(server, "tokens", row=LONG_ROW, count=2000),
        "long_neighbour": _timed_later(server, "tokens", row=LONG_ROW + 1, count=2000),
        "long_tokens_again": _timed(server, "tokens", row=LONG_ROW, at=199_000, count=2000),
    }


def _during_audit(server: Server) -> dict[str, list[float]]:
    """Median, 95th percentile and maximum of each question."""
    times: dict[str, list[float]] = {}
    row = 0
    while not server.ask("audit")["finished"]:
        row += 7
        for name, method, params in (
            ("audit", "audit", {}),
            ("rows", "rows", {"start": 1000, "count": 50}),
            ("flagged", "rows", {"flagged": True, "count": 50}),
            ("sample", "sample", {"row": row}),
            ("tokens", "tokens", {"row": row, "count": 1000}),
        ):
            times.setdefault(name, []).append(_timed(server, method, **params))
        time.sleep(0.05)
    return {name: _summary(sorted(found)) for name, found in times.items()}


def _summary(found: list[float]) -> list[float]:
    return [statistics.median(found), found[int(0.95 * len(found))], found[-1]]


def _memory(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


if __name__ == "__main__":
    main()
