"""Why another machine cannot be reached, as errors with one sentence for a person."""

from __future__ import annotations

from pgs_tui.format import plain


class LinkLostError(OSError):
    """There is no connection to the other machine, or there is none any more; `why` is the whole sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return self.why


class LinkSilentError(LinkLostError):
    """The other machine has not answered in time. The line may be dead without its master connection knowing it yet."""


class LinkRefusedError(LinkLostError):
    """The other machine was reached and lets nobody in without a question, which cannot be asked now."""


_ABOUT_THE_MASTER = ("kex_exchange_identification", "Connection closed by UNKNOWN", "mux_client", "client_loop")
"""How `ssh` tells that there is no master connection (any more): words about its insides."""
_NO_MORE_CHANNELS = ("Session open refused by peer", "administratively prohibited")
_REFUSALS = ("Permission denied", "verification failed", "Too many authentication failures")


def not_reached(host: str, said: bytes) -> LinkLostError:
    """The error for a login that ended after `ssh` had said this on stderr."""
    lines = _lines(said) or ["ssh has ended without a word"]
    refused = any(sign in line for line in lines for sign in _REFUSALS)
    return (LinkRefusedError if refused else LinkLostError)(f"{host}: {lines[-1]}")


def lost(host: str, said: bytes) -> LinkLostError:
    """The error for a channel that ended after `ssh` had said this on stderr."""
    lines = _lines(said)
    if any(sign in line for line in lines for sign in _NO_MORE_CHANNELS):
        return LinkLostError(f"{host} opens no further channel on this connection (MaxSessions of its sshd)")
    telling = [line for line in lines if not line.startswith(_ABOUT_THE_MASTER)]
    return LinkLostError(f"{host}: {telling[-1]}" if telling else f"the connection to {host} has ended")


def _lines(said: bytes) -> list[str]:
    return [plain(line.strip()) for line in said.decode("utf-8", errors="replace").splitlines() if line.strip()]
