"""Strings that know where their characters come from: equal to plain strings in text, true in their origins."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from engine.data.template.environment import template_environment
from engine.data.template.traced import Origin, TracedStr, concat, runs_of

FIRST, SECOND = Origin(0, "content"), Origin(1, "content")
SOURCES = {FIRST: " ab\n<think>ß x\n</think>\n\n Éa,b,,c\n", SECOND: "\t--a b  c--\r\nab"}


def check_origins(text: str) -> None:
    """Every character that claims a source stands there, be it in another case."""
    position = 0
    for run in runs_of(text):
        if run.origin is not None:
            source = SOURCES[run.origin][run.position : run.position + run.length].casefold()
            shown = str.__getitem__(text, slice(position, position + run.length)).casefold()
            assert shown == source or (run.length == 1 and shown in source)  # ß becomes two characters
        position += run.length
    assert position == len(text)


Operation = Callable[[str], object]

OPERATIONS: list[Operation] = [
    lambda text: text.strip(),
    lambda text: text.strip("\n ab"),
    lambda text: text.lstrip("\n"),
    lambda text: text.rstrip(),
    lambda text: text.split(),
    lambda text: text.split(None, 2),
    lambda text: text.split("a"),
    lambda text: text.split("</think>")[-1],
    lambda text: text.split(",", 1),
    lambda text: text.rsplit(),
    lambda text: text.rsplit(None, 1),
    lambda text: text.rsplit(",", 2),
    lambda text: text.splitlines(),
    lambda text: text.splitlines(True),
    lambda text: text.partition("x"),
    lambda text: text.partition("nowhere"),
    lambda text: text.rpartition("a"),
    lambda text: text.rpartition("nowhere"),
    lambda text: text.replace("a", "<a>"),
    lambda text: text.replace("a", "", 1),
    lambda text: text.replace("", "-"),
    lambda text: text.replace("", "-", 2),
    lambda text: text.upper(),
    lambda text: text.lower(),
    lambda text: text.title(),
    lambda text: text.capitalize(),
    lambda text: text.swapcase(),
    lambda text: text.removeprefix(" a"),
    lambda text: text.removesuffix("b"),
    lambda text: text.center(60, "*"),
    lambda text: text.ljust(60),
    lambda text: text.rjust(61, "."),
    lambda text: text[3:9],
    lambda text: text[-4:],
    lambda text: text[5:2],
    lambda text: text[::-1],
    lambda text: text[1::3],
    lambda text: text[:1] and text[0],
    lambda text: list(text),
    lambda text: "<" + text + ">" + text,
    lambda text: text * 2,
    lambda text: 2 * text,
    lambda text: "[%s]" % text,  # noqa: UP031
    lambda text: "%d%% of %5.1f %s" % (3, 2.0, text[:0]) + text,  # noqa: UP031
    lambda text: text.join(["p", text, "q"]),
]


def plain_and_traced(source: Origin) -> tuple[str, TracedStr]:
    return SOURCES[source], TracedStr.from_data(SOURCES[source], source)


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
@pytest.mark.parametrize("source", [FIRST, SECOND], ids=["first", "second"])
def test_an_operation_gives_the_plain_text_with_true_origins(number: int, source: Origin) -> None:
    plain, traced = plain_and_traced(source)
    expected, found = OPERATIONS[number](plain), OPERATIONS[number](traced)
    assert found == expected
    for text in found if isinstance(found, list | tuple) else [found]:
        assert isinstance(text, str)
        check_origins(text)


@pytest.mark.parametrize("seed", range(40))
def test_chains_of_operations(seed: int) -> None:
    drawn = random.Random(seed)
    traced: str = concat(TracedStr.from_data(SOURCES[source], source) for source in (FIRST, SECOND))
    plain = SOURCES[FIRST] + SOURCES[SECOND]
    for _ in range(6):
        operation = drawn.choice(OPERATIONS)
        expected, found = operation(plain), operation(traced)
        if isinstance(expected, str) and isinstance(found, str):
            plain, traced = expected, found
        elif isinstance(expected, list | tuple) and isinstance(found, list | tuple) and expected:
            choice = drawn.randrange(len(expected))
            plain, traced = expected[choice], found[choice]
        assert traced == plain
        check_origins(traced)


def test_what_the_data_wrote_keeps_its_origin() -> None:
    _, traced = plain_and_traced(FIRST)
    kept = traced.split("</think>")[0].split("<think>")[-1].strip("\n") + "!"
    assert [(run.length, run.origin, run.position) for run in runs_of(kept)] == [(3, FIRST, 11), (1, None, 0)]


EXPRESSIONS = [
    "{{ x }}",
    "{{ x | trim }}",
    "{{ '<' ~ x ~ 3 ~ '>' }}",
    "{{ ['a', x] | join(', ') }}",
    "{{ ', '.join(['a', x]) }}",
    "{{ '{}/{n}'.format(x, n=x) }}",
    "{{ '%s|%s' | format(x, 'b') }}",
    "{{ '%s|%d' % (x, 3) }}",
    "{{ 'a-b' | replace('-', x) }}",
    "{{ x | replace('b', 'B') | upper }}",
    "{{ x | indent(2) }}",
    "{{ x | title }}",
    "{{ x | list | join }}{{ x | list | last }}{{ x | first }}",
    "{{ x | reverse }}",
    "{{ (x | tojson) | safe }}",
    "{{ {'k': x, 'n': [1, none, true, 2.5]} | tojson(indent=2, ensure_ascii=True) }}",
    "{{ {'k': x, 'n': [[], {}, x]} | tojson(indent='\\t') }}",
    "{% set y %}[{{ x }}]{% endset %}{{ y }}",
    "{% macro m(t) %}({{ t }}{{ caller() if caller else '' }}){% endmacro %}"
    "{{ m(x) }}{% call m(x) %}-{{ x }}{% endcall %}",
    "{% generation %}{{ x }}{% endgeneration %}",
    "{% filter trim %} {{ x }} {% endfilter %}",
    "{% for c in x.split(',') recursive %}{{ loop.index }}{{ c }}{% endfor %}",
    "{% set ns = namespace(t='') %}{% for c in x.split() %}{% set ns.t = ns.t + c %}{% endfor %}{{ ns.t }}",
    "{{ x if x is string else 'no' }}{{ x | length }}{{ 'ab' in x }}{{ x == x | string }}",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_templates_keep_text_and_origins(expression: str) -> None:
    plain, traced = plain_and_traced(FIRST)
    template = template_environment(lambda pattern: pattern).from_string(expression)
    rendered = template.render(x=traced)
    assert rendered == template.render(x=plain)
    assert sum(run.length for run in runs_of(rendered) if run.origin == FIRST) >= len("".join(plain.split())) - 8
