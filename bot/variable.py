"""What is said of one variable that an operator may set."""

from dataclasses import dataclass

WEB_ADDRESS = "an http or https address without a user, a query or a fragment"
HOST_ADDRESS = f"a host name, or {WEB_ADDRESS}"
KEY = "one word of letters, digits and signs"
FOLDER = "a folder, or a path where one can be made, without a question mark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """`rule` completes "must be …"; `default` says what holds when it is not set."""

    name: str
    section: str
    meaning: str
    rule: str
    default: str
    example: str
