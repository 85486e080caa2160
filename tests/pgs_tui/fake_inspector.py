"""An inspector that answers as docs/json.md says, about rows that it is given, slowly or not at all if told so.

    python fake_inspector.py ROWS.json [--slow METHOD SECONDS] [--die-after N] [--say TEXT] [--exit N]
                                           [--opening NAME DONE TOTAL]

ROWS.json is a list of {"turns": [[role, text], ...], "flags": [code, ...], "named": [code, ...]}; `named` are findings
about the whole set that name the row. A token is a word with the blank before it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.fake_server import serve, server_options

LIMIT = 1000
WORD = re.compile(r"\n| ?[^ \n]+| ", re.DOTALL)

FILE = "/data/rows.jsonl"


def text_of(row: dict[str, Any]) -> tuple[str, list[list[Any]]]:
    text, segments = "", []
    for number, (role, said) in enumerate(row["turns"], start=1):
        answer = role == "assistant"
        for part, why in (
            (f"<|im_start|>{role}\n", "header" if answer else "template"),
            (said, ""),
            ("<|im_end|>", ""),
        ):
            why = why or ("turn_end" if part == "<|im_end|>" else "answer") if answer else why or "other_role"
            loss = answer and why in ("answer", "turn_end")
            if part:
                segments.append([len(text), len(text) + len(part), number, role, why, loss])
            text += part
        segments.append([len(text), len(text) + 1, None, None, "template", False])
        text += "\n"
    return text, segments


class Fake:
    def __init__(self, rows: list[dict[str, Any]], opening: tuple[str, int, int] = ("open", 0, 0)) -> None:
        self.rows_given = rows
        self.opening_given = opening

    def opening(self) -> dict[str, Any]:
        name, done, total = self.opening_given
        return {"finished": name == "open", "name": name, "done": int(done), "total": int(total), "unit": "bytes"}

    def hello(self) -> dict[str, Any]:
        return {
            "protocol": 1,
            "config": "fake",
            "model": "m",
            "limit": LIMIT,
            "rows": len(self.rows_given),
            "sources": [],
        }

    def audit(self) -> dict[str, Any]:
        flags: dict[str, list[int]] = {}
        for number, row in enumerate(self.rows_given):
            for code in (*row.get("flags", ()), *row.get("named", ())):
                flags.setdefault(code, []).append(number)
        total = len(self.rows_given)
        return {
            "done": total,
            "total": total,
            "finished": True,
            "counts": {},
            "flags": [
                {
                    "code": code,
                    "severity": "warning",
                    "count": len(rows),
                    "first_rows": rows[:5],
                    "message": f"see {code}",
                }
                for code, rows in flags.items()
            ],
            "roles": {"assistant": {"tokens": 10, "loss_tokens": 9}, "user": {"tokens": 20, "loss_tokens": 0}},
            "lengths": [{"up_to": 32, "rows": total}],
            "kinds": {"messages": total},
            "fill": None,
            "error": None,
        }

    def matching(self, text: str = "", flag: str = "", role: str = "", flagged: bool = False) -> list[int]:
        return [
            number
            for number, row in enumerate(self.rows_given)
            if text.lower() in " ".join(said for _, said in row["turns"]).lower()
            and (not flag or flag in row.get("flags", ()))
            and (not role or role in [one for one, _ in row["turns"]])
            and (not flagged or row.get("flags"))
        ]

    def rows(self, start: int = 0, count: int = 50, **wanted: Any) -> dict[str, Any]:
        found = self.matching(**wanted)
        rows = [self.summary(number) for number in found[start : start + count]]
        total = len(self.rows_given)
        return {"total": total, "matched": len(found), "scanned": total, "rows": rows}

    def summary(self, number: int) -> dict[str, Any]:
        row = self.rows_given[number]
        tokens = self.tokens(number)
        return {
            "row": number,
            "file": row.get("file", FILE),
            "line": number + 1,
            "kind": "messages",
            "num_tokens": tokens["num_tokens"],
            "loss_tokens": tokens["loss_tokens"],
            "truncated": False,
            "severity": "warning" if row.get("flags") else None,
            "flags": row.get("flags", []),
            "preview": row["turns"][0][1][:80] if row["turns"] else "bad",
        }

    def next(self, row: int = -1, forward: bool = True, **wanted: Any) -> dict[str, Any]:
        found = self.matching(**wanted)
        beyond = [one for one in found if (one > row if forward else one < row)]
        chosen = (beyond[0] if forward else beyond[-1]) if beyond else None
        return {"row": chosen, "position": None if chosen is None else found.index(chosen)}

    def sample(self, row: int) -> dict[str, Any]:
        if row >= len(self.rows_given):
            raise ValueError(f"There is no row {row}.")
        text, segments = text_of(self.rows_given[row])
        flags = [
            {"code": code, "severity": "warning", "turn": None, "message": f"see {code}"}
            for code in self.rows_given[row].get("flags", ())
        ]
        if not segments:
            flags = [{"code": "UNKNOWN_SCHEMA", "severity": "error", "turn": None, "message": "found only 'body'"}]
        return {
            "row": row,
            "file": self.rows_given[row].get("file", FILE),
            "line": row + 1,
            "kind": "messages",
            "text": text,
            "segments": segments,
            "flags": flags,
        }

    def tokens(self, row: int, start: int | None = None, at: int = 0, count: int = 1000) -> dict[str, Any]:
        text, segments = text_of(self.rows_given[row])
        starts = [match.start() for first, stop, *_ in segments for match in WORD.finditer(text, first, stop)]
        lit = [[first, stop] for first, stop, *_, loss in segments if loss]
        joined: list[list[int]] = []
        for first, stop in lit:
            if joined and joined[-1][1] == first:
                joined[-1][1] = stop
            else:
                joined.append([first, stop])
        loss_tokens = sum(any(first <= place < stop for first, stop in joined) for place in starts)
        if start is None:
            start = max(sum(place <= at for place in starts) - 1, 0)
        window = starts[start : start + count]
        ids = [sum(map(ord, text[place : place + 8])) % 5000 for place in window]
        return {
            "row": row,
            "num_tokens": len(starts),
            "loss_tokens": loss_tokens,
            "kept": len(starts),
            "lit": joined,
            "kept_stop": len(text),
            "start": start,
            "ids": ids,
            "starts": window,
            "flags": [],
        }

    def token(self, row: int, token: int) -> dict[str, Any]:
        text, segments = text_of(self.rows_given[row])
        all_tokens = self.tokens(row, start=0, count=10**9)
        starts = [*all_tokens["starts"], len(text)]
        part = text[starts[token] : starts[token + 1]]
        _, _, turn, role, why, loss = next(one for one in segments if one[0] <= starts[token] < one[1])
        return {
            "position": token,
            "id": all_tokens["ids"][token],
            "text": part,
            "bytes": part.encode().hex(),
            "source": None,
            "loss": loss,
            "turn": turn,
            "role": role,
            "why": why,
        }

    def spike(self, step: int) -> dict[str, Any]:
        rows = [
            {
                "index": index,
                "row": row,
                "file": FILE,
                "line": row + 1,
                "num_tokens": 9,
                "loss_tokens": 3,
                "mean_loss": loss,
                "worst": [{"token": 1, "text": "bad", "loss": loss}],
            }
            for index, row, loss in ((1, 3, 8.5), (0, 0, 1.25))
        ]
        return {"step": step, "loss": 9.41, "grad_norm": "Infinity", "rows": rows}

    def spike_sample(self, step: int, index: int) -> dict[str, Any]:
        row = {1: 3, 0: 0}[index]
        tokens = self.tokens(row, start=0, count=10**9)
        lit = tokens["lit"]
        inside = [any(first <= place < stop for first, stop in lit) for place in tokens["starts"]]
        losses = [float(number % 11) + 0.5 if has_loss else None for number, has_loss in enumerate(inside)]
        return {**self.sample(row), **tokens, "step": step, "index": index, "losses": losses}


def main() -> int:
    parser = server_options()
    parser.add_argument("rows", type=Path)
    parser.add_argument("--opening", nargs=3, default=("open", 0, 0))
    options = parser.parse_args()
    fake = Fake(json.loads(options.rows.read_text()), options.opening)
    return serve(lambda method, params: getattr(fake, method)(**params), options)


if __name__ == "__main__":
    sys.exit(main())
