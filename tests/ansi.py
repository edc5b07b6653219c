"""What a text looks like in a terminal with colours."""

from rich.console import Console
from rich.text import Text


def as_ansi(text: Text) -> str:
    """The text with the escape sequences of its colours."""
    console = Console(force_terminal=True, color_system="standard", soft_wrap=True, _environ={})
    with console.capture() as captured:
        console.print(text, end="")
    return captured.get()
