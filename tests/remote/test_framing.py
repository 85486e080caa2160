"""The parts of an answer, however it is cut on its way and whatever its data hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgs_tui.remote.framing import Frames

MARK = "pgs-00112233445566778899aabbccddeeff"
_DATA = st.lists(st.sampled_from([b"pgs-", b"pgs-0011", b"\n", b"p", b"{}", MARK.encode()[:-1], b"\0\x1b[m"])).map(
    b"".join
)


@given(st.lists(st.tuples(st.sampled_from(["log", "run", "end 0"]), _DATA), max_size=4), _DATA, st.data())
def test_any_cuts_give_the_same_parts(parts: list[tuple[str, bytes]], noise: bytes, data: st.DataObject) -> None:
    sent = noise + b"".join(f"{MARK} {name}\n".encode() + content for name, content in parts)
    frames = Frames(MARK)
    found: list[tuple[str | None, bytes]] = [(None, b"")]
    while sent:
        size = data.draw(st.integers(1, len(sent)))
        for part, content, begins in frames.feed(sent[:size]):
            if begins:
                found.append((part, content))
            else:
                assert found[-1][0] == part
                found[-1] = (part, found[-1][1] + content)
        sent = sent[size:]
    held = found[-1][1] + frames.held
    assert [*found[:-1], (found[-1][0], held)] == [(None, noise), *parts]


def test_a_whole_line_is_never_held_back() -> None:
    frames = Frames(MARK)
    frames.feed(f"{MARK} log\n".encode())
    assert [piece.data for piece in frames.feed(b'{"event": "step"}\n')] == [b'{"event": "step"}\n']


def test_a_mark_without_an_end_is_data_before_it_fills_the_memory() -> None:
    frames = Frames(MARK)
    frames.feed(f"{MARK} log\n".encode())
    sent = MARK.encode() + b"x" * 1000
    assert b"".join(piece.data for piece in frames.feed(sent)) == sent
