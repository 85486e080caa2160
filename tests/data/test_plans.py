"""A chat drawn up by the plan of another one is what it would be on its own: text, origins, mask and findings."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from engine.data.conversation import Conversation, Turn
from engine.data.examine import Examined, Examiner
from engine.data.rendering.plan import Plan
from engine.data.sources.rows import RawRow
from engine.data.template.traced import runs_of
from tests.data import templates
from tests.data.conftest import SPECIALS, DataSection, Message, byte_tokenizer
from tests.data.template import real

WORDS = ["a", "b", "ab", " ", "\n", "x" * 30, "é", "<think>", "</think>", "{", "7", *SPECIALS[3:5]]
FEW_WORDS = ["a", "b", "ab", "pop"]

ODD = {
    "length": "{% if m.content | length > 3 %}long{% endif %}{{ m.content }}",
    "first character": "{% if m.content[0] == 'a' %}A{% endif %}{{ m.content }}",
    "slice": "{{ m.content[1:] }}",
    "contains": "{% if 'ab' in m.content %}AB{% endif %}{{ m.content }}",
    "is contained": "{% if m.content in 'abab' %}AB{% endif %}{{ m.content }}",
    "is not contained": "{% if m.content not in 'abab' %}AB{% endif %}{{ m.content }}",
    "is in a list": "{% if m.content in ['a', 'b'] %}A{% endif %}{{ m.content }}",
    "is in a mapping": "{% if m.content in {'a': 1} %}A{% endif %}{{ m.content }}",
    "key of a mapping": "{{ {'a': 'found'}[m.content] }}{{ m.content }}",
    "equal to another": "{% if m.content == messages[0].content %}same{% endif %}{{ m.content }}",
    "unequal": "{% if m.content != 'a' %}same{% endif %}{{ m.content }}",
    "order": "{% if m.content > 'aa' %}later{% endif %}{{ m.content }}",
    "split": "{{ m.content.split('b')[-1] }}",
    "split at white space": "{{ m.content.split() | join('-') }}",
    "partition": "{{ m.content.partition('b')[2] }}{{ m.content }}",
    "strip": "{{ m.content.strip('a') }}",
    "trim": "{{ m.content | trim }}",
    "replace": "{{ m.content | replace('a', 'bb') }}",
    "replace by the same": "{{ m.content | replace('ab', 'ab') }}",
    "replace by the same method": "{{ m.content.replace('ab', 'ab') }}",
    "replace by method": "{{ m.content.replace('a', 'c') }}",
    "upper": "{{ m.content | upper }}",
    "lines": "{% for line in m.content.splitlines() %}{{ line }}{% endfor %}",
    "characters": "{% for c in m.content %}{{ c }}{% endfor %}",
    "reversed": "{{ m.content | reverse }}{{ m.content }}",
    "starts": "{% if m.content.startswith(('a', 'x')) %}A{% endif %}{{ m.content }}",
    "starts a text": "{% if 'abx'.startswith(m.content) %}A{% endif %}{{ m.content }}",
    "found in a text": "{{ 'abx'.find(m.content) }}{{ m.content }}",
    "find": "{{ m.content.find('b') }}{{ m.content }}",
    "count": "{{ m.content.count('a') }}{{ m.content }}",
    "percent": "{{ '%s!' % m.content }}",
    "format": "{{ 'x{}'.format(m.content) }}",
    "format filter": "{{ '%s!' | format(m.content) }}",
    "joined": "{{ '-'.join([m.role, m.content]) }}",
    "joined by filter": "{{ [m.role, m.content] | join('-') }}",
    "joined characters": "{{ '-'.join(m.content) }}",
    "tilde": "{{ 'x' ~ m.content ~ 'y' }}",
    "end of joined": "{% if (m.content ~ 'x').endswith('bx') %}B{% endif %}{{ m.content }}",
    "length of joined": "{% if (m.content + 'x') | length > 3 %}B{% endif %}{{ m.content }}",
    "trim of joined": "{{ (' ' + m.content + ' ') | trim }}",
    "twice": "{{ m.content }}{{ m.content }}",
    "times": "{{ m.content * 2 }}",
    "number": "{{ m.content | int }}{{ m.content }}",
    "words": "{{ m.content | wordcount }}{{ m.content }}",
    "json": "{{ m.content | tojson }}",
    "json of all": "{{ m | tojson }}",
    "changed": "{% if loop.changed(m.content) %}new{% endif %}{{ m.content }}",
    "previous": "{% if loop.previtem and loop.previtem.content == 'a' %}A{% endif %}{{ m.content }}",
    "macro": "{% macro say(t) %}{% if t | length > 2 %}long{% endif %}{{ t }}{% endmacro %}{{ say(m.content) }}",
    "namespace": "{% set ns = namespace(t='') %}{% set ns.t = ns.t + m.content %}{{ ns.t }}",
    "length of a namespace": "{% set ns = namespace(t=m.content) %}{{ ns.t | length }}{{ ns.t }}",
    "selected": "{{ messages | selectattr('content', 'equalto', 'a') | list | length }}{{ m.content }}",
    "grouped": "{{ (messages | map(attribute='content') | unique | list) | length }}{{ m.content }}",
    "maximum": "{{ m.content | max }}{{ m.content }}",
    "truth": "{% if m.content %}some{% endif %}{{ m.content }}",
    "digits": "{% if m.content.isdigit() %}9{% endif %}{{ m.content }}",
    "block": "{% set t %}<{{ m.content }}>{% endset %}{{ t | trim }}",
    "length of a block": "{% set t %}<{{ m.content }}>{% endset %}{{ t | length }}{{ t }}",
    "filter block": "{% filter upper %}{{ m.content }}{% endfilter %}{{ m.content }}",
    "default": "{{ m.content or 'none' }}{{ m.content | default('nothing', true) }}",
    "test": "{% if m.content is in 'abab' %}A{% endif %}{% if m.content is eq 'a' %}B{% endif %}{{ m.content }}",
    "lower test": "{% if m.content is lower %}A{% endif %}{{ m.content }}",
    "sequence": "{% if m.content is sequence and m.content | length > 2 %}long{% endif %}{{ m.content }}",
    "no sequence": "{% if m.content is not sequence or m.content[0] == 'a' %}A{% endif %}{{ m.content }}",
    "sequence of a block": "{% set t = m.content ~ '!' %}{% if t is sequence and t[0] == 'a' %}A{% endif %}{{ t }}",
    "iterable": "{% if m.content is iterable and m.content | first == 'a' %}A{% endif %}{{ m.content }}",
    "name of an attribute": "{% if messages[m.content] is defined %}D{% endif %}{{ m.content }}",
    "role in words": "{% if m.role in 'user, assistant' %}R{% endif %}{{ m.role | upper }}{{ m.content }}",
}
MESSAGE, END = "{% for m in messages %}<|im_start|>", "<|im_end|>{% endfor %}"
ALL = {f"odd: {name}": MESSAGE + body + END for name, body in ODD.items()} | templates.ALL


def random_chat(drawn: random.Random, words: Sequence[str]) -> list[Message]:
    def text() -> str:
        return "".join(drawn.choice(words) for _ in range(drawn.randrange(0 if drawn.random() < 0.1 else 1, 4)))

    start: list[Message] = [{"role": "system", "content": text()}] if drawn.random() < 0.3 else []
    for _ in range(drawn.randint(1, 2)):
        answer: Message = {"role": "assistant", "content": text()}
        if drawn.random() < 0.2:
            answer["reasoning_content"] = text()
        if drawn.random() < 0.1:
            answer["weight"] = 0
        start += [{"role": "user", "content": text()}, answer]
    return start


def test_an_answer_that_begins_like_the_generation_prompt_goes_the_long_way() -> None:
    examiner = Examiner(byte_tokenizer(templates.OPENED_THINK), DataSection())
    examined = [
        examine(examiner, [{"role": "user", "content": "q"}, {"role": "assistant", "content": answer}])
        for answer in ("a", "b", "<think>\nc", "<thin", "d")
    ]
    assert [is_planned(one) for one in examined] == [False, True, False, True, True]


@pytest.mark.parametrize("written", ["<think>", "<think>\n", "<think>\n\n"])
def test_an_answer_that_is_the_rest_of_the_generation_prompt_teaches_no_plan(written: str) -> None:
    for name in ("opened_think", "last_question"):
        examiner = Examiner(byte_tokenizer(templates.ALL[name]), DataSection())
        long_way = Examiner(byte_tokenizer(templates.ALL[name]), DataSection())
        forget_plans(long_way)
        for answers in ((written, written), (written, "a"), ("b", written), ("bb", "a"), ("b", "aaa"), ("b", "a")):
            chat = [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": answers[0]},
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": answers[1]},
            ]
            assert examine(examiner, chat).has_loss.tolist() == examine(long_way, chat).has_loss.tolist()


def examine(examiner: Examiner, messages: list[Message]) -> Examined:
    (examined,) = examiner.examine([RawRow(3, "any.jsonl", 4, {"messages": messages})])
    return examined


def is_planned(examined: Examined) -> bool:
    return examined.rendered is not None and isinstance(examined.rendered.plan, Plan)


@pytest.mark.parametrize("name", ALL)
def test_a_plan_gives_what_the_long_way_gives(name: str) -> None:
    drawn, section = random.Random(name), DataSection(train_on_template_text=name.endswith("t"))
    tokenizer = byte_tokenizer(ALL[name])
    examiner = Examiner(tokenizer, section)
    long_way = Examiner(tokenizer, section)
    forget_plans(long_way)
    for number in range(90):
        messages = random_chat(drawn, FEW_WORDS if number < 60 else WORDS)
        planned, own = examine(examiner, messages), examine(long_way, messages)
        assert not is_planned(own)
        assert planned.bad == own.bad
        assert planned.flags == own.flags
        if planned.rendered is None or own.rendered is None:
            continue
        assert planned.rendered.text == own.rendered.text
        assert runs_of(planned.rendered.text) == runs_of(own.rendered.text)
        assert planned.rendered.segments == own.rendered.segments
        assert planned.rendered.input_ids == own.rendered.input_ids
        assert planned.has_loss.tolist() == own.has_loss.tolist()


@pytest.mark.parametrize("name", real.NAMES)
def test_plans_of_real_templates(name: str) -> None:
    drawn, tokenizer = random.Random(name), real.tokenizer_of(name)
    examiner, long_way = Examiner(tokenizer, DataSection()), Examiner(tokenizer, DataSection())
    forget_plans(long_way)
    for number in range(8):
        answer = drawn.choice(["plain", "two\nlines", " spaces ", "<think>\nso\n</think>\n\n4"][: 2 + number // 3])
        messages = [{"role": "user", "content": f"q{number}"}, {"role": "assistant", "content": answer}] * 2
        planned, own = examine(examiner, messages), examine(long_way, messages)
        assert (planned.bad, planned.flags) == (own.bad, own.flags)
        if planned.rendered is not None and own.rendered is not None:
            assert planned.rendered.text == own.rendered.text
            assert planned.rendered.segments == own.rendered.segments
            assert planned.has_loss.tolist() == own.has_loss.tolist()


def forget_plans(examiner: Examiner) -> None:
    """Let every chat go the long way."""
    plans = examiner.renderer._chats._plans
    plans.learn = lambda draft, watched: None  # type: ignore[method-assign]


ASKING_LITTLE = ["chatml", "think", "trim", "next", "default_system"]


@pytest.mark.parametrize("name", ASKING_LITTLE)
def test_usual_templates_are_followed_by_plans(name: str) -> None:
    examiner = Examiner(byte_tokenizer(templates.ALL[name]), DataSection())
    examined = [
        examine(examiner, [{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": f"a{n}" * n}])
        for n in range(1, 9)
    ]
    assert [is_planned(one) for one in examined] == [False] + [True] * 7


def test_to_ask_what_every_string_is_keeps_a_plan() -> None:
    asks = "{% if m.content is iterable and m.content is sequence and m.content is string %}{{ m.content }}{% endif %}"
    examiner = Examiner(byte_tokenizer(MESSAGE + asks + END), DataSection())
    chats = [[{"role": "user", "content": "q" * n}, {"role": "assistant", "content": "a"}] for n in (1, 2, 3)]
    assert [is_planned(examine(examiner, chat)) for chat in chats] == [False, True, True]


def test_a_template_that_asks_too_much_goes_the_long_way() -> None:
    template = "{% for m in messages %}<|im_start|>{{ m.content | length }}{{ m.content }}<|im_end|>{% endfor %}"
    examiner = Examiner(byte_tokenizer(template), DataSection())
    chats = [[{"role": "user", "content": "q" * n}, {"role": "assistant", "content": "a"}] for n in (1, 2, 3)]
    assert not any(is_planned(examine(examiner, chat)) for chat in chats)


def test_a_conversation_with_tools_goes_the_long_way() -> None:
    examiner = Examiner(byte_tokenizer(), DataSection())
    turns = (Turn("user", {"content": "q"}), Turn("assistant", {"content": "a"}))
    tool = {"type": "function", "function": {"name": "f"}}
    drafts = [examiner.renderer.draft(Conversation(0, "f", 1, turns, (tool,))) for _ in range(2)]
    assert [getattr(draft, "plan", None) for draft in drafts] == [None, None]
