"""`user@host:path`: what is one, what is a path on this machine, and what no ssh and no shell is ever given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgs_tui.remote.address import Address, AddressError, address_of


@pytest.mark.parametrize(
    ("text", "host", "far_path"),
    [
        ("lena@box:runs/x", "lena@box", "./runs/x"),
        ("box:/data/runs", "box", "/data/runs"),
        ("box:", "box", "./"),
        ("box:~/runs", "box", "./runs"),
        ("box:~", "box", "./"),
        ("gpu-7.example.org:a b/it's; $(x)", "gpu-7.example.org", "./a b/it's; $(x)"),
        ("me@[fe80::1%eth0]:x", "me@fe80::1%eth0", "./x"),
        ("[::1]:/x:y", "::1", "/x:y"),
        ("box:-rf", "box", "./-rf"),
        ("2024:x", "2024", "./x"),
    ],
)
def test_an_address_is_what_scp_takes(text: str, host: str, far_path: str) -> None:
    address = address_of(text)
    assert address is not None and str(address) == text
    assert (address.host, address.far_path) == (host, far_path)


@pytest.mark.parametrize("text", ["run", "runs/a:b", "./box:x", "/box:x", "latest", ""])
def test_a_slash_before_the_colon_or_none_at_all_is_a_path_here(text: str) -> None:
    assert address_of(text) is None


def test_what_exists_here_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box:run").mkdir()
    assert address_of("box:run") is None
    assert address_of("box:other") == Address("box", "other")


@pytest.mark.parametrize(
    "text",
    [
        "-oProxyCommand=id:x",
        "a@-b:x",
        "bo x:x",
        "$(id):x",
        "`id`:x",
        "box;id:x",
        "a@b@c:x",
        "häuschen:x",
        ":x",
        "[::1;]:x",
    ],
)
def test_a_host_that_could_be_an_option_or_a_command_is_refused(text: str) -> None:
    with pytest.raises(AddressError, match="no host"):
        address_of(text)


@pytest.mark.parametrize("text", ["box:a\nb", "box:a\0b", "box:~lena/runs"])
def test_a_path_that_has_no_meaning_over_there_is_refused(text: str) -> None:
    with pytest.raises(AddressError):
        address_of(text)


@given(st.text(max_size=30))
@example("-a:b")
@example("a%h:b")
def test_no_accepted_host_holds_anything_for_a_shell(text: str) -> None:
    try:
        address = address_of(text + ":x")
    except AddressError:
        return
    if address is not None:
        assert re.fullmatch(r"[A-Za-z0-9_.@+:%-]+", address.host) and not address.host.startswith("-")


def test_a_file_of_a_folder_over_there() -> None:
    assert str(Address("box", "runs/") / "x") == "box:runs/x"
    assert str(Address("box", "") / "x") == "box:x"
    assert str(Address("box", "/") / "x") == "box:/x"
