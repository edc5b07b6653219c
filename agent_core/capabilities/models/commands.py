"""Commands in which a language model acts as a function: analyse code, improve code, write tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from agent_core.capabilities.files.commands import FILE_ALIASES
from agent_core.errors import CommandError
from agent_core.model.command import Preview
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.prompt.model_functions import Function, function_messages, parse_returned
from agent_core.prompt.packing import TOKENS_PER_PROMPT
from agent_core.text.decoding import decode_unicode
from agent_core.text.lines import counted
from agent_core.toolset.registry import Command, CommandContext, declare

MAX_CODE_CHARACTERS = 200_000
MAX_SUGGESTION_CHARACTERS, MAX_SUGGESTIONS = 2_000, 40
CODE_ALIASES = {**FILE_ALIASES, "source": "code", "source_code": "code", "text": "code"}
ANALYZE = Function(
    "def analyze_code(code: str) -> list[str]",
    "Returns what should be better in the code, worst first: faults, risks, unclear parts; each with what to do.",
)
IMPROVE = Function(
    "def improve_code(suggestions: list[str], code: str) -> str",
    "Returns the whole code with the suggestions carried out and nothing else changed.",
)
TESTS = Function(
    "def write_tests(code: str, focus: str) -> str",
    "Returns a file of tests for the code, in its own language and usual test library, that tests the focus first.",
)


class Code(BaseModel):
    """Code as it is, or a file that holds it."""

    code: str = Field(default="", max_length=MAX_CODE_CHARACTERS, description="code, or name its file")
    filename: str = Field(default="", max_length=400, description="path inside the workspace")


class CodeAndSuggestions(Code):
    """Code, and what is to be better in it."""

    suggestions: list[str] | str = Field(description="what to change")


class CodeAndFocus(Code):
    """Code, and what its tests are for."""

    focus: str = Field(default="", max_length=MAX_SUGGESTION_CHARACTERS, description="what to test above all")


@dataclass(frozen=True, slots=True)
class FunctionCommands:
    """Commands that send code to a model. The model sees nothing else of the agent's work."""

    metered_model: MeteredModel

    async def analyze_code(self, given: Code, context: CommandContext) -> str:
        """Have a model say what should be better."""
        return await self._call_model(ANALYZE, {"code": await _code(given, context)}, context)

    async def improve_code(self, given: CodeAndSuggestions, context: CommandContext) -> str:
        """Have a model rewrite it; nothing is saved."""
        wishes = "\n".join(f"- {wish}" for wish in _suggestions(given.suggestions))
        return await self._call_model(IMPROVE, {"suggestions": wishes, "code": await _code(given, context)}, context)

    async def write_tests(self, given: CodeAndFocus, context: CommandContext) -> str:
        """Have a model write them; nothing is saved."""
        focus = given.focus.strip() or "everything that can go wrong"
        return await self._call_model(TESTS, {"code": await _code(given, context), "focus": focus}, context)

    async def preview(self, given: Code, context: CommandContext) -> Preview:
        """How much code goes to which model; code that exceeds its window is rejected before people are asked."""
        code = await _code(given, context)
        if isinstance(given, CodeAndSuggestions):
            _suggestions(given.suggestions)
        self._require_fit(ANALYZE, {"code": code}, context)
        name = self.metered_model.in_use(context.agent.model, "function").name or "the model"
        number = len(code.splitlines())
        what = f"{counted(number, 'line')} of {given.filename or 'code'}"
        basis = await context.files.fingerprint(given.filename) if given.filename else ""
        return Preview(title=f"{what} are given to {name}", body="", target=given.filename, basis=basis)

    @property
    def commands(self) -> tuple[Command, ...]:
        spend = partial(declare, risks=("spend",), category="code", asks_models=True)
        wishes = {**CODE_ALIASES, "suggestion": "suggestions", "improvements": "suggestions"}
        look, evaluate = self.analyze_code, ("evaluate_code",)
        return (
            spend(Code, look, self.preview, label="Analyze code", synonyms=evaluate, aliases=CODE_ALIASES),
            spend(CodeAndSuggestions, self.improve_code, self.preview, label="Improve code", aliases=wishes),
            spend(CodeAndFocus, self.write_tests, self.preview, label="Write tests", aliases=CODE_ALIASES),
        )

    def _require_fit(self, function: Function, arguments: Mapping[str, str], context: CommandContext) -> None:
        model = self.metered_model.in_use(context.agent.model, "function")
        tokens = TOKENS_PER_PROMPT + model.room.taken_by(function_messages(function, arguments))
        if tokens > model.room.tokens:
            raise CommandError(
                f"The code is too long for {model.name or 'the model'}: {tokens:,} tokens of at most "
                f"{model.room.tokens:,}. Give a part of it."
            )

    async def _call_model(self, function: Function, arguments: Mapping[str, str], context: CommandContext) -> str:
        self._require_fit(function, arguments, context)
        question = ModelRequest(kind="function", prompt=function_messages(function, arguments))
        reply = await self.metered_model.ask(question, context.agent.choice, context.tracker)
        text = parse_returned(reply)
        if not text:
            raise CommandError("The model gave nothing back. Try again, or with less code.")
        cut = "\n(It was cut off here: a reply may be no longer. Give a part of the code.)"
        return text + cut if reply.finish_reason == "length" else text


async def _code(given: Code, context: CommandContext) -> str:
    """The code, from the argument or the file; raise CommandError for none or both."""
    if bool(given.code.strip()) == bool(given.filename):
        raise CommandError("Give either the code or the name of a file that holds it, and not both.")
    if not given.filename:
        return given.code
    await context.check_file(given.filename)
    data = await context.files.read(given.filename)
    text = decode_unicode(data)
    if text is None:
        raise CommandError(f"{given.filename} is not a text file ({counted(len(data), 'byte')}).")
    if not text.strip():
        raise CommandError(f"{given.filename} is empty.")
    return text


def _suggestions(given: list[str] | str) -> list[str]:
    """The suggestions, each on one line; raise CommandError if there are none, too many or too long ones."""
    lines = [" ".join(wish.split()) for wish in ([given] if isinstance(given, str) else given)]
    wishes = [wish for wish in lines if wish]
    if not wishes:
        raise CommandError("Give at least one suggestion, in words.")
    if len(wishes) > MAX_SUGGESTIONS or any(len(wish) > MAX_SUGGESTION_CHARACTERS for wish in wishes):
        raise CommandError(
            f"Give at most {MAX_SUGGESTIONS} suggestions of at most {MAX_SUGGESTION_CHARACTERS:,} characters each."
        )
    return wishes
