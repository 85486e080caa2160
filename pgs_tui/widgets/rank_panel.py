"""The processes of a run side by side: how quick each is, what memory it takes, and which one the others wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgs_tui.drawing.lines import Line, Role, fit, line
from pgs_tui.format import counted, gib, seconds, value, whole
from pgs_tui.widgets.bars import bar
from pgs_tui.widgets.panel import Panel

if TYPE_CHECKING:
    from pgs_tui.history.ranks import Rank

STRAGGLING = 0.1
"""A rank whose steps take by this share longer than the median one is a straggler."""
RANK_CELLS, NUMBER_CELLS = 7, 10
LAG_CELLS = 12


@dataclass(frozen=True, slots=True)
class RanksView:
    """The ranks in order; none for a run of one process."""

    ranks: tuple[Rank, ...] = ()
    empty: str = "one process trains: there are no ranks to compare"


class RankPanel(Panel):
    """A row a rank. Where there are fewer rows, those that lag the most are shown."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._view = RanksView()

    def show(self, view: RanksView) -> None:
        """Show another state of the ranks."""
        if view != self._view:
            self._view = view
            self.redraw()

    def title(self) -> Line:
        return line((counted(len(self._view.ranks), "rank") if self._view.ranks else "ranks", "title"))

    def value(self) -> Line:
        """The rank that lags the most, where one does."""
        slowest = max(self._view.ranks, key=_lag, default=None)
        if slowest is None:
            return ()
        if not straggles(slowest):
            return line(("● even", "good"))
        return line((f"▲ rank {slowest.rank} lags {seconds(slowest.lag)}", "warn"))

    def summary(self) -> Sequence[Line]:
        behind = [rank for rank in self._view.ranks if rank.behind > 1]
        if not behind:
            return []
        last = max(behind, key=lambda rank: rank.behind)
        return [line((f"rank {last.rank} is {whole(last.behind)} steps behind", "warn"))]

    def body(self, width: int, height: int) -> Sequence[Line]:
        ranks = self._view.ranks
        if not ranks:
            from pgs_tui.drawing.plot_frame import in_the_middle

            return in_the_middle(self._view.empty, width, height)
        head = [_row(("rank", "dt", "tok/s", "GiB", "lag"), "dim", width)] if height > len(ranks) or height > 3 else []
        room = height - len(head)
        shown = _worst(ranks, room if len(ranks) <= room else room - 1)
        hidden = len(ranks) - len(shown)
        more = [line((f"{hidden} more, none of which lags more", "dim"))] if hidden else []
        return [*head, *(self._rank_row(rank, width) for rank in shown), *more]

    def _rank_row(self, rank: Rank, width: int) -> Line:
        late = straggles(rank)
        cells = ("▲ " if late else "  ") + str(rank.rank)
        lag = "–" if rank.lag is None else ("+" if rank.lag > 0 else "") + seconds(rank.lag)
        numbers = (cells, seconds(rank.dt), value(rank.tok_s), gib(rank.memory_peak), lag)
        row = _row(numbers, "warn" if late else "text", width)
        room = width - RANK_CELLS - 3 * NUMBER_CELLS - LAG_CELLS
        if room < 4 or rank.lag is None or rank.dt is None or rank.lag <= 0 or rank.dt <= 0:
            return row
        return (*row, (bar(rank.lag / rank.dt, room), "warn" if late else "raw"))


def straggles(rank: Rank) -> bool:
    """Whether the others wait for it."""
    return rank.lag is not None and rank.dt is not None and rank.lag > STRAGGLING * (rank.dt - rank.lag) > 0


def _row(cells: tuple[str, ...], role: Role, width: int) -> Line:
    """Columns that stand below each other; those on the right go first where there is no room."""
    sizes = (RANK_CELLS, NUMBER_CELLS, NUMBER_CELLS, NUMBER_CELLS, LAG_CELLS)
    parts: list[str] = []
    for text, size in zip(cells, sizes, strict=True):
        if sum(map(len, parts)) + size > width and parts:
            break
        parts.append(text.ljust(size)[:size] if not parts else text.rjust(size - 1)[: size - 1] + " ")
    return fit(line(("".join(parts), role)), min(width, sum(sizes)))


def _worst(ranks: tuple[Rank, ...], count: int) -> list[Rank]:
    chosen = sorted(ranks, key=lambda rank: -_lag(rank))[: max(count, 0)]
    return sorted(chosen, key=lambda rank: rank.rank)


def _lag(rank: Rank) -> float:
    return rank.lag if rank.lag is not None else float("-inf")
