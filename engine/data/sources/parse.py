"""The bytes of one row as a JSON object, or why they are none."""

from __future__ import annotations

import json
from typing import Any

from engine.data.errors import BadRow
from engine.data.sources.rows import RawRow
from engine.data.strict_json import DoubleKeyError, parse_json, why_not_json

_WHITE_SPACE = b" \t\r\n"


def parse_object(row: int, file: str, line: int, content: bytes) -> RawRow | BadRow:
    """The row in `content`, which begins in `line`. Columns count characters of the line from 1."""

    def bad(reason: str, column: int | None = None) -> BadRow:
        return BadRow("BAD_JSON", row, file, line, reason, column)

    try:
        value = parse_json(content.rstrip(_WHITE_SPACE).decode("utf-8"))
    except UnicodeDecodeError as error:
        return bad(f"byte {content[error.start]:#04x} is not UTF-8; save the file as UTF-8", error.start + 1)
    except json.JSONDecodeError as error:
        return bad(f"not valid JSON: {why_not_json(error)}{_hint(content, line)}", error.colno)
    except DoubleKeyError as error:
        return bad(str(error))
    except RecursionError:
        return bad("the JSON is nested too deeply")
    except ValueError:
        return bad("it holds a whole number with thousands of digits")
    if isinstance(value, dict):
        return RawRow(row, file, line, value)
    return bad(f"expected a JSON object ({{...}}) for each row, found {json_type(value)}")


def json_type(value: Any) -> str:
    """What JSON calls a value, with its article."""
    names = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "null")


def _hint(content: bytes, line: int) -> str:
    if line == 1 and content.strip() in (b"[", b"{"):
        return "; a file that is one JSON value over many lines needs the suffix .json"
    return ""
