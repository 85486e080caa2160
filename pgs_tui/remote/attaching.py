"""Opens a run on another machine, before the screen does: `ssh` may ask its questions in the terminal."""

from __future__ import annotations

from pgs_tui.remote.address import Address
from pgs_tui.remote.mirrors import own_mirror
from pgs_tui.remote.remote_run import RemoteRun
from pgs_tui.remote.ssh import Connection


def attach(address: Address) -> RemoteRun:
    """Log in and ask for the run, whose first look comes while the screen's libraries are imported.

    Raises LinkLostError, with one sentence, where nobody can be reached, and OSError where no mirror can be kept.
    """
    connection = Connection(address.host)
    connection.open()
    run = RemoteRun(address, connection, own_mirror(address))
    run.start()
    return run
