"""Opens a run on another machine, before the screen does: `ssh` may ask its questions in the terminal."""

from __future__ import annotations

from pgs_tui.remote.address import Address
from pgs_tui.remote.lost import LinkLostError
from pgs_tui.remote.mirrors import OwnMirror, own_mirror
from pgs_tui.remote.remote_run import RemoteRun
from pgs_tui.remote.ssh import Connection


def attach(address: Address) -> RemoteRun:
    """Log in and ask for the run, whose first look comes while the screen's libraries are imported.

    Raises LinkLostError, with one sentence, where nobody can be reached or no mirror can be kept.
    """
    connection = Connection(address.host)
    try:
        connection.open()
        run = RemoteRun(address, connection, _mirror_for(address))
    except LinkLostError:
        connection.leave()
        raise
    run.start()
    return run


def _mirror_for(address: Address) -> OwnMirror:
    try:
        return own_mirror(address)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise LinkLostError(
            f"what comes cannot be kept here: {where}{error.strerror or error}; "
            "XDG_CACHE_HOME names another folder for it"
        ) from error
