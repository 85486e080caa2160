"""What can be asked: one method a question, in the shapes of docs/json.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from engine.data.audit.chat_checks import conversation_flags
from engine.data.audit.flags import Severity
from engine.data.conversation import Conversation
from engine.data.errors import BadRow
from engine.data.masking.draft import Draft
from engine.inspect.as_json import all_flags, bad_row_as_json, flags_as_json, segment_as_json
from engine.inspect.opening import Inspection
from engine.inspect.server.background import Background
from engine.inspect.server.desk import Desk, OpenRow
from engine.inspect.server.filters import FILTER_PARAMS, RowFilter, find_matches
from engine.inspect.server.opener import opening_state
from engine.inspect.spikes import Spike, SpikeReader, read_spike
from engine.inspect.validation import flags_of_set_as_json, lengths_as_json, roles_as_json
from engine.rundir import RunDir
from engine.serving.params import Params, RequestError

PROTOCOL = 1
_MOST_ROWS, _USUAL_ROWS = 1000, 50
_MOST_TOKENS, _USUAL_TOKENS = 100_000, 1000

Answer = dict[str, Any]


class Methods:
    """Answers requests about the rows of one config, and about the recorded steps of `run`, if there is one."""

    def __init__(self, inspection: Inspection, background: Background, run: RunDir | None = None) -> None:
        self._run = run
        self._spike_reader = SpikeReader(inspection)
        self._inspection = inspection
        self._background = background
        self._desk = Desk(inspection)
        self._neighbours: dict[int, tuple[int, ...]] = {}
        """Of rows that were listed: those below and above."""
        self._table: dict[str, tuple[Callable[[Params], Answer], tuple[str, ...]]] = {
            "opening": (self.opening, ()),
            "hello": (self.hello, ()),
            "audit": (self.audit, ()),
            "rows": (self.rows, ("start", "count", *FILTER_PARAMS)),
            "next": (self.next, ("row", "forward", *FILTER_PARAMS)),
            "sample": (self.sample, ("row",)),
            "tokens": (self.tokens, ("row", "start", "count", "at")),
            "token": (self.token, ("row", "token")),
            "spike": (self.spike, ("step",)),
            "spike_sample": (self.spike_sample, ("step", "index")),
        }

    def answer(self, method: str, params: Mapping[str, Any]) -> Answer:
        """The result of one request.

        Raises:
            RequestError, UserError: it cannot be answered; the message says why.
        """
        if method not in self._table:
            raise RequestError(f"unknown method {method!r}; known are {', '.join(self._table)}")
        respond, names = self._table[method]
        return respond(Params(params, names))

    def opening(self, params: Params) -> Answer:
        """Where it is asked here, the data is open."""
        return opening_state("open", finished=True)

    def hello(self, params: Params) -> Answer:
        inspection = self._inspection
        return {
            "protocol": PROTOCOL,
            "config": inspection.loaded.name,
            "model": inspection.config.model.name_or_path,
            "limit": inspection.limit,
            "rows": len(inspection.rows),
            "sources": [
                {
                    "path": source.spec.path,
                    "split": source.spec.split,
                    "weight": source.spec.weight,
                    "use": source.use,
                    "first_row": source.first_row,
                    "rows": source.rows,
                }
                for source in inspection.rows.sources
            ],
        }

    def audit(self, params: Params) -> Answer:
        background = self._background
        finished = background.is_finished  # asked first: what follows is then all there is
        report = background.report()
        return {
            "done": background.summaries.done,
            "total": len(self._inspection.rows),
            "finished": finished,
            "counts": {
                "rows_read": report.rows_read,
                "rows_kept": report.rows_kept,
                "rows_dropped": report.rows_dropped,
                "rows_bad": report.rows_bad,
                "rows_truncated": report.rows_truncated,
                "rows_without_end": report.rows_without_end,
                "tokens": report.tokens,
                "loss_tokens": report.loss_tokens,
                "longest": report.longest,
            },
            "flags": flags_of_set_as_json(report),
            "roles": roles_as_json(report),
            "lengths": lengths_as_json(report),
            "kinds": dict(report.kinds),
            "fill": background.fill,
            "error": background.error,
        }

    def rows(self, params: Params) -> Answer:
        start, count = params.count("start", 0), params.count("count", _USUAL_ROWS, _MOST_ROWS)
        matches = find_matches(RowFilter.of(params), self._background, len(self._inspection.rows))
        window = matches.window(start, count)
        self._neighbours = _neighbours(window)
        return {
            "total": matches.total,
            "matched": len(matches),
            "scanned": matches.scanned,
            "rows": [self._listed(self._desk.glance(row)) for row in window],
        }

    def _listed(self, row: OpenRow) -> Answer:
        summary = self._background.summaries.of(row.row)
        severity = summary.severity if summary else Severity.ERROR if isinstance(row.example, BadRow) else None
        return {
            "row": row.row,
            "file": row.file,
            "line": row.line,
            "kind": row.kind,
            "num_tokens": summary.num_tokens if summary else None,
            "loss_tokens": summary.loss_tokens if summary else None,
            "truncated": summary.num_tokens > self._inspection.limit if summary else None,
            "severity": severity.value if severity else None,
            "flags": summary.flags if summary else [],
            "preview": row.preview(),
        }

    def next(self, params: Params) -> Answer:
        row, forward = params.optional_count("row"), params.flag("forward", True)
        matches = find_matches(RowFilter.of(params), self._background, len(self._inspection.rows))
        place = row if row is not None else -1 if forward else matches.total
        position = matches.position_of_next(place, forward)
        (found,) = matches.window(position, 1) if position is not None else (None,)
        return {"row": found, "position": position}

    def sample(self, params: Params) -> Answer:
        row = self._desk.at(params.count("row"))
        self._foresee(row.row)
        draft = row.draft()
        place = {"row": row.row, "file": row.file, "line": row.line, "kind": row.kind}
        if isinstance(draft, BadRow):
            return {**place, "text": "", "segments": [], "flags": [bad_row_as_json(draft)]}
        return {
            **place,
            "text": str.__getitem__(draft.text, slice(None)),
            "segments": [segment_as_json(segment, draft.example) for segment in draft.segments],
            "flags": flags_as_json(_early_flags(draft)),
        }

    def _foresee(self, row: int) -> None:
        """The tokens of a row that is looked at are asked for next, then probably the row below or above it."""
        below_and_above = self._neighbours.get(row, (row + 1, row - 1))
        self._background.foresee(partial(self._desk.prepare, one) for one in (row, *below_and_above))

    def tokens(self, params: Params) -> Answer:
        row = self._desk.at(params.count("row"))
        tokens = row.tokens()
        start, count = params.count("start", 0), params.count("count", _USUAL_TOKENS, _MOST_TOKENS)
        place = params.optional_count("at")
        if place is not None and tokens is not None:
            start = tokens.token_at(place)
        ids = tokens.rendered.input_ids[start : start + count] if tokens else []
        return {
            "row": row.row,
            "num_tokens": row.examined().num_tokens,
            "loss_tokens": tokens.loss_tokens if tokens else 0,
            "kept": row.examined().kept,
            "lit": row.lit(),
            "kept_stop": tokens.limit_in_text if tokens else 0,
            "start": start,
            "ids": ids,
            "starts": tokens.rendered.starts[start : start + count] if tokens else [],
            "flags": all_flags(row.examined()),
        }

    def token(self, params: Params) -> Answer:
        number, tokens = params.count("token"), self._desk.at(params.count("row")).tokens()
        if tokens is None or number >= len(tokens):
            raise RequestError(f"there is no token {number}; the row has {len(tokens) if tokens else 0}")
        return {**tokens.as_json(number), "position": number}

    def spike(self, params: Params) -> Answer:
        return self._spike_reader.as_json(self._recorded(params))

    def spike_sample(self, params: Params) -> Answer:
        spike = self._recorded(params)
        return self._spike_reader.sample_as_json(spike, spike.at(params.count("index")))

    def _recorded(self, params: Params) -> Spike:
        if self._run is None:
            raise RequestError("steps are recorded in a run; start the server with --run RUN")
        return read_spike(self._run, params.count("step"))


def _neighbours(rows: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Each row's neighbours in the list, the one below first."""
    found: dict[int, tuple[int, ...]] = {}
    for row, neighbour in (*pairwise(rows), *pairwise(reversed(rows))):
        found[row] = (*found.get(row, ()), neighbour)
    return found


def _early_flags(draft: Draft) -> Any:
    """What can be said without tokens."""
    return conversation_flags(draft.example) if isinstance(draft.example, Conversation) else ()
