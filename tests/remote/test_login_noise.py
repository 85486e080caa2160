"""Shells that print on login, and shells that let nobody do anything: said plainly, never taken for data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pgs_tui.remote.lost import LinkLostError
from pgs_tui.remote.programs import CHECK, FOLLOW, SURVEY
from pgs_tui.remote.ssh import Connection
from tests.remote.sshd import HOST, serving

EVENT = b'{"kind": "step", "step": 1, "loss": 2.0}\n'


@pytest.fixture(scope="module")
def chatty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Path]]:
    """A connection to a machine whose login runs `login.sh` before every command."""
    folder = tmp_path_factory.mktemp("chatty")
    with serving(folder / "sshd", f"ForceCommand . {folder}/login.sh") as server:
        connection = Connection(HOST, tuple(server.ssh.split()))
        (folder / "login.sh").touch()
        connection.open()
        yield connection, folder
        connection.drop()


def prints(folder: Path, what: str, then: str = '; eval "$SSH_ORIGINAL_COMMAND"; echo bye') -> None:
    (folder / "login.sh").write_text(what + then)


def test_what_a_login_prints_is_told_of_and_no_data(chatty: tuple[Connection, Path], tmp_path: Path) -> None:
    box, folder = chatty
    prints(folder, r"printf 'Welcome, today is Monday\n\033[33mquota ok\033[0m\n'")
    (tmp_path / "events.jsonl").write_bytes(EVENT)
    shell = box.shell()
    assert shell.ask(SURVEY, str(tmp_path), 64, 4, 64, 64)["whole"] == EVENT
    told = "the shell of box prints on login; 2 lines passed over: Welcome, today is Monday · quota ok"
    assert shell.noise.told_of("box") == told
    assert next(iter(box.shell().stream(FOLLOW, str(tmp_path), "events.jsonl", 3))) == EVENT[3:]


def test_a_quiet_login_is_not_spoken_of(chatty: tuple[Connection, Path]) -> None:
    box, folder = chatty
    prints(folder, "echo; echo only on stderr >&2")
    shell = box.shell()
    assert shell.ask(CHECK, ".", 0).status == 0
    assert shell.noise.told_of("box") == ""


def test_noise_is_looked_through_to_a_limit(chatty: tuple[Connection, Path]) -> None:
    box, folder = chatty
    prints(folder, "while :; do echo 'no end of words here'; done")
    with pytest.raises(
        LinkLostError, match=r"after 64 KiB .* still no answer: the shell of box .* no end of words here"
    ):
        box.shell().ask(CHECK, ".", 0)


def test_an_account_without_a_shell_says_why_in_its_own_words(chatty: tuple[Connection, Path]) -> None:
    box, folder = chatty
    prints(folder, "echo This account is currently not available.; exit 1", "")
    with pytest.raises(LinkLostError, match=r"has ended; .* This account is currently not available"):
        box.shell().ask(CHECK, ".", 0)


def test_a_login_that_asks_a_question_is_not_waited_for_for_ever(chatty: tuple[Connection, Path]) -> None:
    box, folder = chatty
    prints(folder, "echo 'Your choice? '; while :; do read -r choice || exit; done", "")
    with pytest.raises(LinkLostError, match=r"has not answered for 1 s; .* Your choice\?"):
        box.shell().ask(CHECK, ".", 0, patience=0.6)
