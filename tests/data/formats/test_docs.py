"""docs/formats.md says what is true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from tests.data.conftest import byte_tokenizer
from tests.data.formats.conftest import parsed

PAGE = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^`(\w+)`[^`]*?(?:`[^`]*?)*?```json\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
ROWS = [(kind, line) for kind, block in BLOCKS for line in block.splitlines()]


def test_every_row_of_the_page_is_tested() -> None:
    assert len(ROWS) == len(re.findall(r"^\{", PAGE, re.MULTILINE))


@pytest.mark.parametrize(("kind", "line"), ROWS)
def test_the_rows_of_the_page_can_be_trained(kind: str, line: str) -> None:
    example = parsed(json.loads(line))
    (rendered,) = Renderer(byte_tokenizer()).render([example])
    assert isinstance(rendered, Rendered)
    assert example.kind == kind
    assert rendered.has_loss.any()
