"""Stands in for AutoGPT's package auto_gpt_plugin_template (0.0.1 to 0.1.0). Runs in the worker, never in Signoff.

Nothing is abstract here, so that plugins written for any version of the template can be made.
"""

import abc
from typing import Any, TypedDict, TypeVar

PromptGenerator = TypeVar("PromptGenerator")


Message = TypedDict("Message", {"role": str, "content": str})  # noqa: UP013 - a class of this name is the core's


class Singleton(abc.ABCMeta, type):
    """Makes one object of each class."""

    _instances: dict[type, Any] = {}  # noqa: RUF012 - as the template has it

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if cls not in cls._instances:
            cls._instances[cls] = super().__call__(*given, **named)
        return cls._instances[cls]


class AbstractSingleton(abc.ABC, metaclass=Singleton):
    """A class with one object."""


class AutoGPTPluginTemplate(AbstractSingleton, metaclass=Singleton):
    """The base class of plugins; every hook is off unless a plugin says otherwise."""

    def __init__(self) -> None:
        self._name, self._version, self._description = type(self).__name__, "0.1.0", ""


def _off(self: Any, *_given: Any, **_named: Any) -> bool:
    return False


def _nothing(self: Any, *_given: Any, **_named: Any) -> None:
    return None


for _hook in (
    "post_prompt",
    "on_planning",
    "post_planning",
    "pre_instruction",
    "on_instruction",
    "post_instruction",
    "pre_command",
    "post_command",
    "on_response",
    "report",
    "user_input",
):
    setattr(AutoGPTPluginTemplate, f"can_handle_{_hook}", _off)
    setattr(AutoGPTPluginTemplate, _hook, _nothing)
for _hook in ("chat_completion", "text_embedding"):
    setattr(AutoGPTPluginTemplate, f"can_handle_{_hook}", _off)
    setattr(AutoGPTPluginTemplate, f"handle_{_hook}", _nothing)
