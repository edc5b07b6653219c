"""The longest replies of known models in tokens, reasoning included, for endpoints that do not report them.

Source: the providers' model pages, November 2026. A limit that an endpoint rejects is learned from its error.
"""

import re

# The first pattern that the model's name starts with counts; a provider's prefix such as `openai/` is left out.
MAX_REPLY_TOKENS = (
    (re.compile(r"gpt-5.*chat"), 16_384),
    (re.compile(r"gpt-[5-9]"), 128_000),
    (re.compile(r"gpt-4\.1"), 32_768),
    (re.compile(r"gpt-4o|chatgpt-4o"), 16_384),
    (re.compile(r"gpt-4|gpt-3\.5"), 4_096),
    (re.compile(r"o[134](?:-|$)"), 100_000),
    (re.compile(r"gpt-oss"), 32_768),
    (re.compile(r"claude-(?:3-opus|3-haiku|3-sonnet)"), 4_096),
    (re.compile(r"claude-3-5"), 8_192),
    (re.compile(r"claude-opus-4-[01](?!\d)|claude-opus-4(?:-2\d|$)"), 32_000),
    (re.compile(r"claude-"), 64_000),
    (re.compile(r"gemini-(?:1\.|2\.0)"), 8_192),
    (re.compile(r"gemini-"), 65_536),
    (re.compile(r"deepseek-reasoner|deepseek-r1"), 64_000),
    (re.compile(r"deepseek-chat"), 8_192),
)


def listed_max_reply(model: str) -> int | None:
    """The longest reply of a known model in tokens, or None."""
    name = model.rpartition("/")[2].casefold()
    return next((tokens for pattern, tokens in MAX_REPLY_TOKENS if pattern.match(name)), None)
