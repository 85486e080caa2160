import pytest

from pgs_tui.appearance.look import Look, look_of
from pgs_tui.appearance.palette import PALETTES
from pgs_tui.appearance.themes import THEMES
from pgs_tui.drawing.lines import ROLES

XTERM = {"TERM": "xterm-256color"}


def test_the_usual_terminal() -> None:
    assert look_of(XTERM, "utf-8") == Look("dark", "braille", ascii_only=False, mouse=False)


@pytest.mark.parametrize("term", ["linux", "vt100"])
def test_a_console_with_a_plain_font_gets_ascii_until_it_is_told_otherwise(term: str) -> None:
    look = look_of({"TERM": term}, "utf-8")
    assert (look.glyphs, look.ascii_only) == ("ascii", False)
    assert look_of({"TERM": term, "PGS_TUI_GLYPHS": "blocks"}, "utf-8").glyphs == "blocks"


@pytest.mark.parametrize("encoding", ["ascii", "ANSI_X3.4-1968", "latin-1"])
def test_an_encoding_without_frames_gets_ascii(encoding: str) -> None:
    look = look_of({**XTERM, "PGS_TUI_GLYPHS": "blocks"}, encoding)
    assert (look.glyphs, look.ascii_only) == ("ascii", True)


@pytest.mark.parametrize(
    ("environment", "theme"),
    [
        ({"NO_COLOR": "1"}, "terminal"),
        ({"NO_COLOR": ""}, "dark"),
        ({"TERM": "linux"}, "terminal"),
        ({"TERM": "screen", "COLORTERM": "truecolor"}, "dark"),
        ({"COLORFGBG": "0;15"}, "light"),
        ({"COLORFGBG": "15;default;0"}, "dark"),
        ({"PGS_TUI_THEME": "light"}, "light"),
        ({"PGS_TUI_THEME": "light", "NO_COLOR": "1"}, "terminal"),
    ],
)
def test_the_theme_fits_the_terminal(environment: dict[str, str], theme: str) -> None:
    assert look_of({**XTERM, **environment}, "UTF-8").theme == theme


def test_the_command_line_goes_before_the_environment() -> None:
    assert look_of({**XTERM, "PGS_TUI_THEME": "dark"}, "utf8", "light").theme == "light"


def test_a_name_that_is_none_is_said() -> None:
    with pytest.raises(ValueError, match=r"PGS_TUI_GLYPHS=dots.*braille, blocks, ascii"):
        look_of({**XTERM, "PGS_TUI_GLYPHS": "dots"}, "utf-8")


def test_all_themes_name_the_same_roles() -> None:
    roles = [set(colours) for colours in PALETTES.values()]
    assert roles[0] == roles[1] == roles[2]
    assert {f"ink-{role}" for role in ROLES} <= roles[0]


def test_the_terminal_theme_paints_no_background() -> None:
    theme = THEMES["terminal"]
    assert {theme.background, theme.surface, theme.panel} == {"ansi_default"}
