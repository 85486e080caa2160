"""How the runs of a place are looked through."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pgs_tui.listing.row import RunRow
from pgs_tui.listing.scanning import LocalScan, Scan
from pgs_tui.remote.address import Address


class ConnectError(ValueError):
    """The other machine lets nobody in, or cannot be reached."""


def connect(where: Path | Address | None) -> None:
    """Log in on the other machine, where there is one: ssh may ask in the terminal. Raises ConnectError."""
    if not isinstance(where, Address):
        return
    from pgs_tui.remote.lost import LinkLostError
    from pgs_tui.remote.ssh import Connection

    try:
        connection = Connection(where.host)
        try:
            connection.open()
        finally:
            connection.leave()
    except LinkLostError as error:
        raise ConnectError(str(error)) from error


def scan_of(where: Path | Address | None, known: Mapping[Path, RunRow] | None = None) -> Scan:
    """A look through the runs there; `known` are the rows of the look before."""
    if isinstance(where, Address):
        from pgs_tui.listing.far import FarScan

        return FarScan(where)
    return LocalScan(where, known)
