"""The documentation of one environment variable."""

from dataclasses import dataclass

WEB_ADDRESS = "an http or https address without a user, a query or a fragment"
HOST_ADDRESS = f"a host name, or {WEB_ADDRESS}"
KEY = "one word of letters, digits and signs"
FOLDER = "a folder, or a path where one can be made, without a question mark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An environment variable. `rule` completes "must be …"; `default` describes the behaviour if it is not set."""

    name: str
    section: str
    meaning: str
    rule: str
    default: str
    example: str
