"""Jinja as transformers sets it up for chat templates, with an output that keeps the origin of every character.

The differences to a plain `ImmutableSandboxedEnvironment` are the places where jinja would call a method of a plain
str and so lose the origins of its arguments: joining pieces, `~`, `%`, `str.join`, `str.format` and a few filters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from string import Formatter
from types import BuiltinMethodType, MethodType
from typing import Any, Never

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter

from engine.data.template.traced import TracedStr, concat
from engine.data.template.traced_json import dumps


def template_environment(
    strftime_now: Callable[[str], str], kind: type[TracedEnvironment] | None = None
) -> TracedEnvironment:
    """A fresh environment; `from_string(template).render(...)` gives a traced string.

    `strftime_now` tells templates the date.
    """
    environment = (kind or TracedEnvironment)(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols]
    )
    environment.filters |= {
        "format": _format,
        "indent": _indent,
        "join": _join,
        "replace": _replace,
        "safe": _safe,
        "title": _title,
        "tojson": _tojson,
    }
    environment.globals |= {
        "dict": TemplateDict(),
        "namespace": TemplateNamespace,
        "raise_exception": _raise_exception,
        "strftime_now": strftime_now,
    }
    return environment


class TracedCodeGenerator(CodeGenerator):
    """Compiles `a ~ b` to a join that keeps origins."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 (jinja looks it up by this name)
        self.write("environment.concat(map(str, (")
        for child in node.nodes:
            self.visit(child, frame)
            self.write(", ")
        self.write(")))")


class TracedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox of chat templates; strings of the template itself get traceable methods."""

    code_generator_class = TracedCodeGenerator
    _marks: tuple[str, str] = ("", "")
    concat = staticmethod(concat)
    intercepted_binops = frozenset({"%"})

    @contextmanager
    def marking(self, start: str, stop: str) -> Iterator[None]:
        """Within, each `{% generation %}` block is printed between these two."""
        self._marks = (start, stop)
        try:
            yield
        finally:
            self._marks = ("", "")

    def marked(self, printed: str) -> str:
        """What a `{% generation %}` block prints."""
        start, stop = self._marks
        return concat((start, printed, stop))

    def getattr(self, obj: Any, attribute: str) -> Any:
        return super().getattr(_traceable(obj), attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return super().getitem(_traceable(obj), argument)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return super().call_binop(context, operator, _traceable(left), right)

    def wrap_str_format(self, value: Any) -> Any:
        is_format = isinstance(value, MethodType | BuiltinMethodType) and value.__name__ in ("format", "format_map")
        if not is_format or not isinstance(value.__self__, TracedStr):
            return super().wrap_str_format(value)
        template, formatter = value.__self__, TracedFormatter(self)
        if value.__name__ == "format_map":
            return lambda mapping: formatter.fill(template, (), mapping)
        return lambda *args, **kwargs: formatter.fill(template, args, kwargs)


class TracedFormatter(SandboxedFormatter):
    """`str.format` inside the sandbox, with origins kept for strings put in whole."""

    def fill(self, template: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """`template.format(*args, **kwargs)`."""
        pieces: list[str] = []
        automatic = 0
        for literal, field, spec, conversion in Formatter.parse(self, template):
            pieces.append(literal)
            if field is None:
                continue
            if field == "" or field[0] in ".[":
                field, automatic = f"{automatic}{field}", automatic + 1
            value, _ = self.get_field(field, args, kwargs)
            value = self.convert_field(value, conversion) if conversion else value
            keeps_origin = isinstance(value, str) and not spec
            pieces.append(value if keeps_origin else self.format_field(value, self.vformat(spec or "", args, kwargs)))
        return concat(pieces)


class GenerationTag(jinja2.ext.Extension):
    """`{% generation %} ... {% endgeneration %}` prints what stands inside; the mask follows origins, not this tag."""

    tags = {"generation"}  # noqa: RUF012 (declared so by jinja)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_print"), [], [], body).set_lineno(line)

    def _print(self, caller: Macro) -> str:
        assert isinstance(self.environment, TracedEnvironment)
        return self.environment.marked(caller())


class TemplateDict:
    """`dict` for templates: makes dicts, but is not the type itself."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, keys: Iterable[Any], value: Any = None) -> dict[Any, Any]:
        """As `dict.fromkeys`."""
        return dict.fromkeys(keys, value)


class TemplateNamespace(jinja2.utils.Namespace):
    """jinja's `namespace` without underscore names, which lead out of the sandbox."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, *rest = args
        attributes = dict(*rest, **kwargs)
        for name in attributes:
            _refuse_private(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_private(name)
        super().__setitem__(name, value)


def _refuse_private(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"a chat template must not store {name!r} on a namespace")


def _raise_exception(message: str) -> Never:
    raise jinja2.exceptions.TemplateError(message)


def _traceable(value: Any) -> Any:
    return TracedStr.from_template(value) if type(value) is str else value


def _format(value: str, *args: Any, **kwargs: Any) -> str:
    if args and kwargs:
        raise jinja2.exceptions.FilterArgumentError("can't handle positional and keyword arguments at the same time")
    return str(_traceable(str(value)) % (kwargs or args))


def _replace(value: Any, old: Any, new: Any, count: int | None = None) -> str:
    return str(_traceable(str(value)).replace(str(old), str(new), -1 if count is None else count))


@jinja2.pass_environment
def _join(environment: TracedEnvironment, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    if attribute is not None:
        value = map(jinja2.filters.make_attrgetter(environment, attribute), value)
    return str(_traceable(str(d)).join(map(str, value)))


def _indent(value: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    indention = width if isinstance(width, str) else " " * width
    lines = _traceable(value + "\n").splitlines()
    rest = [indention + line if line or blank else line for line in lines[1:]]
    head = indention + lines[0] if first else lines[0]
    return str(TracedStr.from_template("\n").join([head, *rest]))


def _title(value: Any) -> str:
    return jinja2.filters.do_title(value) if not isinstance(value, TracedStr) else _traced_title(value)


def _traced_title(value: TracedStr) -> str:
    plain = jinja2.filters.do_title(value)
    return TracedStr.build(plain, value._runs) if len(plain) == len(value) else plain


def _safe(value: Any) -> str:
    return str(value)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
