"""Reads the token counts that endpoints report, in the shapes of several services."""

MAX_PLAUSIBLE_TOKENS = 100_000_000
MAX_CHARACTERS_PER_TOKEN = 100  # blanks not counted; a report of fewer tokens is not believed


def token_count(usage: object, name: str) -> int | None:
    """A token count; None if the endpoint reports none or an impossible one."""
    count = getattr(usage, name, None)
    is_plausible = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_PLAUSIBLE_TOKENS
    return count if is_plausible else None


def is_too_few(tokens: int, written: str) -> bool:
    """Whether the text cannot have been written with so few tokens."""
    return len("".join(written.split())) > MAX_CHARACTERS_PER_TOKEN * (tokens + 1)


def reasoning_tokens(usage: object) -> int | None:
    details = getattr(usage, "completion_tokens_details", None)
    found = token_count(details, "reasoning_tokens")
    return found if found is not None else token_count(usage, "reasoning_tokens")


def reasoning_in_total(usage: object, max_tokens: int) -> int:
    """Tokens of reasoning that only `total_tokens` contains, as Gemini counts; 0 if they are not plausible.

    They are if the prompt was counted, the reply stays within `max_tokens`, and the total does not add the cache.
    """
    sent, completion = token_count(usage, "prompt_tokens"), token_count(usage, "completion_tokens")
    if not sent or not completion:
        return 0
    reasoning = (token_count(usage, "total_tokens") or 0) - sent - completion
    cached, written = cached_tokens(usage), cache_written_tokens(usage)
    is_plausible = 0 < reasoning <= max_tokens - completion and reasoning not in (cached, written, cached + written)
    return reasoning if is_plausible else 0


def cached_tokens(usage: object) -> int:
    details = getattr(usage, "prompt_tokens_details", None)
    # OpenAI and most others; DeepSeek.
    return token_count(details, "cached_tokens") or token_count(usage, "prompt_cache_hit_tokens") or 0


def cache_written_tokens(usage: object) -> int:
    details = getattr(usage, "prompt_tokens_details", None)
    # OpenRouter; Anthropic behind gateways.
    return token_count(details, "cache_write_tokens") or token_count(usage, "cache_creation_input_tokens") or 0
