"""The first line of the list of runs, and what stands there in place of a list."""

from __future__ import annotations

from pathlib import Path

from pgs_tui.drawing.lines import Role
from pgs_tui.format import counted, plain, whole
from pgs_tui.listing.listing import Listing
from pgs_tui.listing.words import size
from pgs_tui.picking.folders import folder_name
from pgs_tui.widgets.status_line import Status

MOST_NAMED = 3


def place_of(listing: Listing) -> str:
    """Where the runs are."""
    where = listing.where
    if where is None:
        return "runs known here"
    return plain(folder_name(where) if isinstance(where, Path) else str(where))


def short_place(listing: Listing, cells: int) -> str:
    """Where the runs are in so many cells: of a long path its end, with the machine before it."""
    place = place_of(listing)
    if len(place) <= cells or listing.where is None:
        return place
    host = "" if isinstance(listing.where, Path) else plain(f"{listing.where.target}:")
    return f"{host}…{place[len(place) - max(cells - len(host) - 1, 1) :]}"


def status_of(listing: Listing, cells: int) -> Status:
    """Folder in at most so many cells, how far the look is, what all runs take of the disk."""
    sign, state, role = _state(listing)
    there = f"{size(listing.size)} on disk" if listing.rows else "no runs yet" if not listing.searched else ""
    return Status(name=short_place(listing, cells), state=state, sign=sign, role=role, age=there)


def _state(listing: Listing) -> tuple[str, str, Role]:
    found = len(listing.rows)
    if listing.error:
        return "✖", plain(listing.error), "bad"
    if not listing.searched and listing.left:
        return "◐", f"reading · {whole(listing.left)} to go", "accent"
    if not listing.searched:
        return ("◐", f"looking · {whole(found)} found", "accent") if found else ("○", "looking for runs", "dim")
    if listing.going:
        return "●", f"{whole(listing.going)} going · {counted(found, 'run')}", "good"
    return ("✔", counted(found, "run"), "good") if found else ("○", "nothing here", "dim")


def nothing_to_list(listing: Listing, known: tuple[str, ...]) -> str:
    """What to say in place of a list, line by line; `known` are folders where runs of this user are."""
    if listing.error:
        return f"{plain(listing.error)}\nr looks again"
    if listing.filter and listing.rows:
        return f"no run has {plain(listing.filter)}; Esc shows all"
    if not listing.searched:
        return "looking for runs"
    if listing.where is None:
        first = "no run has been started here yet"
    else:
        first = f"there is no run below {place_of(listing)}"
    lines = [first, "pgs-tui CONFIG   trains one; pgs-tui alone lists the configs there are"]
    lines += [f"pgs-tui runs {plain(folder)}   has runs" for folder in known[:MOST_NAMED]]
    return "\n".join((*lines, "r looks again"))


def told_beside(listing: Listing) -> str:
    """What was seen beside the runs, in a few words; empty without anything."""
    parts = []
    if listing.half_deleted:
        parts.append(f"{len(listing.half_deleted)} half deleted: D takes the rest away")
    if listing.tally.cut:
        parts.append("there are more folders than were looked into")
    return " · ".join(parts)
