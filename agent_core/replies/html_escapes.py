"""Unescapes replies that were HTML-escaped as a whole, with `&quot;` for each quote."""

import re

from agent_core.errors import UnusableReply
from agent_core.replies.lenient_json import NOT_JSON

ESCAPED_CHARACTERS = "\"'<>&"
ENTITY = re.compile(
    r"&(?:(quot|#34|#x22)|(apos|#0?39|#x27)|(lt|#60|#x3c)|(gt|#62|#x3e)|(amp|#38|#x26));", re.IGNORECASE
)
ESCAPED_OBJECT_START = re.compile(r"\{\s*&(?:quot|#34|#x22);", re.IGNORECASE)


def unescape_html(text: str) -> str:
    """The text with its five HTML escapes resolved once; other entities stay.

    Raise UnusableReply if a character occurs both escaped and unescaped: then the escape may be part of a value.
    """
    rest = ENTITY.sub("", text)
    if any(ESCAPED_CHARACTERS[(found.lastindex or 1) - 1] in rest for found in ENTITY.finditer(text)):
        raise UnusableReply(f"{NOT_JSON}: some of it was written with HTML escapes. Write plain JSON.")
    return ENTITY.sub(lambda found: ESCAPED_CHARACTERS[(found.lastindex or 1) - 1], text)
