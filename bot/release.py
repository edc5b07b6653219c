"""Reads which release of Signoff runs, from the installed package."""

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    """The version of the installed package."""
    try:
        return version("signoff")
    except PackageNotFoundError:
        return "(not installed)"
