"""The command view_image: the agent's own model looks at a picture. Its answer is untrusted content."""

from dataclasses import dataclass

from pydantic import Field

from agent_core.capabilities.files.commands import FILE_ALIASES, Filename
from agent_core.errors import CommandError
from agent_core.model.command import Preview
from agent_core.ports.documents import Pictures, ReadPicture
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.prompt.packing import TOKENS_PER_PROMPT
from agent_core.prompt.untrusted_text import picture_messages
from agent_core.text.lines import counted
from agent_core.toolset.registry import Command, CommandContext, declare

MAX_ANSWER_TOKENS, MAX_ANSWER_CHARACTERS = 1_500, 8_000
NO_VISION = "the agent's model takes no pictures."
SYNONYMS = ("view_picture", "look_at_image", "describe_image", "read_image", "analyze_image", "ocr_image")
PICTURE_ALIASES = {
    **FILE_ALIASES,
    **dict.fromkeys(("image", "picture", "image_path"), "filename"),
    **dict.fromkeys(("prompt", "query"), "question"),
}


class PictureAndQuestion(Filename):
    """One picture."""

    question: str = Field(default="", description="what you want to know of it", max_length=1_000)


@dataclass(frozen=True, slots=True)
class VisionCommands:
    """Agents whose model takes no pictures are not offered the command; `no_vision` says why.

    `no_decoder`: why no picture can be decoded here, "" if it can.
    """

    pictures: Pictures
    metered_model: MeteredModel
    no_vision: str = NO_VISION
    no_decoder: str = ""

    async def view_image(self, given: PictureAndQuestion, context: CommandContext) -> str:
        """Look at a picture: PNG, JPEG, GIF, WebP or BMP."""
        await context.check_file(given.filename)
        name = self.metered_model.in_use(context.agent.model).name
        if context.approved and context.approved.model != name:
            raise CommandError(f"This was not approved for the model {name}, so nothing was sent. Propose this again.")
        picture, _ = await self._read(given, context)
        question = ModelRequest(
            kind="function",
            prompt=picture_messages(given.question, picture.image),
            max_tokens=MAX_ANSWER_TOKENS,
            by_own_model=True,
        )
        reply = await self.metered_model.ask(question, context.agent.choice, context.tracker)
        answer = reply.answer
        if not answer:
            raise CommandError("The model said nothing of the picture. Ask another question.")
        is_cut = reply.finish_reason == "length" or len(answer) > MAX_ANSWER_CHARACTERS
        cut = "\n(The answer was cut off here. Ask for less.)" if is_cut else ""
        return f"{given.filename} ({picture.note}):\n{answer[:MAX_ANSWER_CHARACTERS]}{cut}"

    async def preview_view(self, given: PictureAndQuestion, context: CommandContext) -> Preview:
        """The size of the picture and the model; a file that cannot be viewed is rejected before people are asked."""
        picture, size = await self._read(given, context)
        basis = await context.files.fingerprint(given.filename)
        name = self.metered_model.in_use(context.agent.model).name
        return Preview(
            title=f"{given.filename} ({size}, {picture.note}) is given to {name}",
            body=given.question,
            target=given.filename,
            basis=basis,
            model=name,
        )

    def reason_off(self, model: str) -> str:
        """Why the command is off for agents of this model, or "" if it is on. `model` is "" for the default model."""
        return self.no_decoder or ("" if self.metered_model.takes_images(model) else self.no_vision)

    @property
    def commands(self) -> tuple[Command, ...]:
        view = declare(
            PictureAndQuestion,
            self.view_image,
            self.preview_view,
            label="View image",
            risks=("spend",),
            category="media",
            asks_models=True,
            outside=True,
            synonyms=SYNONYMS,
            aliases=PICTURE_ALIASES,
        )
        return (view.switched_by_model(self.reason_off),)

    async def _read(self, given: PictureAndQuestion, context: CommandContext) -> tuple[ReadPicture, str]:
        """The picture and the size of its file; raise CommandError if the agent's model cannot be asked about it."""
        if why := self.reason_off(context.agent.model):
            raise CommandError(f"This cannot be done here: {why}")
        data = await context.files.read(given.filename)
        picture = await self.pictures.picture_of(given.filename, data)
        model = self.metered_model.in_use(context.agent.model)
        tokens = TOKENS_PER_PROMPT + model.room.taken_by(picture_messages(given.question, picture.image))
        if tokens > model.room.tokens:
            raise CommandError(
                f"The window of {model.name} leaves {model.room.tokens:,} tokens, and a picture may take {tokens:,}. "
                "It cannot be viewed."
            )
        return picture, counted(len(data), "byte")
