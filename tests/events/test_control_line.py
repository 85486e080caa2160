"""Whatever stands in a line of control.jsonl: it is a command by the rules, or refused in words that can be shown."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.events.control_line import COMMANDS, MAX_LINE_BYTES, Command, Refused, encode_command, parse_command

numbers = st.integers() | st.integers(-(10**400), 10**400) | st.floats() | st.booleans() | st.none()
values = st.recursive(
    numbers | st.text(max_size=100),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ids = st.text("0123456789abcdef", min_size=12, max_size=32)
NEARLY = {
    "v": st.just(1) | values,
    "id": ids | values,
    "t": st.floats(0, 2e9) | values,
    "by": st.text(max_size=90) | values,
    "cmd": st.sampled_from([*COMMANDS, "explode"]) | values,
    "args": st.just({}) | st.fixed_dictionaries({"factor": st.floats(0, 20) | values}) | values,
}
nearly = st.fixed_dictionaries(NEARLY, optional={"more": values}) | st.fixed_dictionaries({}, optional=NEARLY)


@settings(max_examples=300, deadline=None)
@given(nearly.map(json.dumps).map(str.encode) | st.binary(max_size=2 * MAX_LINE_BYTES))
def test_no_line_gets_through_that_is_not_a_command_by_the_rules(line: bytes) -> None:
    found = parse_command(line)
    assert found.by.isprintable() and len(found.by) <= 80
    if isinstance(found, Refused):
        assert found.why.isprintable() and 0 < len(found.why) < 500
        return
    record: dict[str, Any] = json.loads(line)
    assert record == {"v": 1, "id": found.id, "t": found.t, "by": found.by, "cmd": found.cmd, "args": found.args}
    assert found.cmd in COMMANDS and list(found.args) == (["factor"] if found.cmd == "scale_lr" else [])
    assert all(0 < factor <= 10 for factor in found.args.values())


@settings(max_examples=100, deadline=None)
@given(
    ids,
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(min_size=1, max_size=80).filter(str.isprintable),
    st.sampled_from(COMMANDS),
    st.floats(1e-9, 10),
)
def test_every_command_is_read_as_it_was_written(identity: str, t: float, by: str, cmd: Any, factor: float) -> None:
    command = Command(identity, t, by, cmd, {"factor": factor} if cmd == "scale_lr" else {})
    line = encode_command(command)
    assert line.isascii() and "\n" not in line and len(line) < MAX_LINE_BYTES
    assert parse_command(line.encode()) == command
