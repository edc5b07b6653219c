"""Finds the tags between which models write reasoning, and splits it from the answer."""

import re

# DeepSeek, Qwen and others; Gemini and Gemma; Seed; Magistral; Kimi; gpt-oss.
TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
)
THINKS = ("<think>", "<thinking>")  # each may be closed as the other
OPEN_TAG = "|".join(re.escape(opens) for opens, _ in TAGS)
# A chat template may have opened the reasoning. `<|end|>` also ends other messages.
CLOSE_TAG = "|".join(re.escape(closes) for _, closes in TAGS[:-1])
_ENDS = {opens: re.compile(re.escape(closes), re.IGNORECASE) for opens, closes in TAGS} | dict.fromkeys(
    THINKS, re.compile(r"</think(?:ing)?>", re.IGNORECASE)
)
_LEADING = re.compile(rf"\s*({OPEN_TAG})", re.IGNORECASE)


def reasoning_end(text: str, tag: str, start: int) -> int | None:
    """The offset after the end of the reasoning that `tag` opens before `start`; None if it has no end."""
    closed = next(pattern for opens, pattern in _ENDS.items() if opens.casefold() == tag.casefold()).search(text, start)
    return closed.end() if closed else None


def split_reasoning(text: str) -> tuple[str, str]:
    """The reasoning in front of an answer, without its tags, and the answer."""
    before, tag, after = text.rpartition("</think>")
    if tag:
        return before.replace("<think>", "").strip(), after
    opened = _LEADING.match(text)
    end = reasoning_end(text, opened[1], opened.end()) if opened else None
    if opened is None or end is None:
        return "", text
    reasoning = re.sub(rf"(?:{CLOSE_TAG}|<\|end\|>)\Z", "", text[opened.end() : end], flags=re.IGNORECASE)
    return reasoning.strip(), text[end:]
