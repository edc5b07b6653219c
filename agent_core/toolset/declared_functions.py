"""What `declare` reads of the functions that it is given: the docstring, and that they are coroutines."""

from inspect import iscoroutinefunction


def docstring_of(function: object) -> str:
    """The function's docstring on one line; "" without one."""
    return " ".join((getattr(function, "__doc__", None) or "").split()) if function else ""


def require_async(function: object) -> None:
    """Raise TypeError unless calling the function gives a coroutine: said when it is declared, not when it runs."""
    if not iscoroutinefunction(function) and not iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        raise TypeError(f"{getattr(function, '__name__', 'its function')} must be an async function (async def)")
