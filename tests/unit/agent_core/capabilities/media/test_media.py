"""Pictures and sounds: over the real SDK and real sockets, checked before they are kept, paid for, told in words."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import pytest

from agent_core.capabilities.files.workspace_paths import Limits
from agent_core.capabilities.media.capability import NO_IMAGES, NO_TRANSCRIBER, NO_VOICE
from agent_core.capabilities.media.commands import MediaCommands
from agent_core.capabilities.media.huggingface import HuggingFace, HuggingFaceImages, HuggingFaceTranscriber
from agent_core.capabilities.media.openai_media import OpenAIImages, OpenAIMedia, OpenAITranscriber, OpenAIVoice
from agent_core.capabilities.media.stable_diffusion import StableDiffusion
from agent_core.capabilities.models.prices import Prices
from agent_core.errors import CommandError, ModelError, OverBudget, UnusableReply
from agent_core.model.command import CommandCall, Preview
from agent_core.model.model_calls import Budget, Usage
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.testing.media import MP3, PNG, FakeImages, FakeSpeech, FakeTranscriber
from agent_core.toolset.registry import CommandContext, CommandOutput, Commands
from tests.standins.media import PNG_BASE64, Answers, MediaStandIn, media_standin

KEY = "sk-very-secret-key-1234"
FREE_MODELS = {name: (Decimal(0), Decimal(0)) for name in ("draws", "hears")}
PRICED = Prices({})
JPEG, WEBP = b"\xff\xd8\xff\xe0 and so on", b"RIFF\x10\0\0\0WEBPVP8 "
Does: TypeAlias = Callable[[MediaStandIn], MediaCommands]


@pytest.fixture
async def standin() -> AsyncIterator[MediaStandIn]:
    async with media_standin() as running:
        yield running


class Desk:
    """An agent with these abilities."""

    def __init__(
        self, media: MediaCommands, tracker: SpendingTracker | None = None, files: InMemoryFiles | None = None
    ) -> None:
        self.commands = Commands.of(*media.commands)
        self.files, self.tracker = files or InMemoryFiles(), tracker or SpendingTracker()

    async def run(self, name: str, arguments: Mapping[str, object]) -> CommandOutput:
        call = self.commands.checked(CommandCall(name, arguments))
        return await self.commands.get(call.name).run(call.arguments, self.context)

    async def preview(self, name: str, arguments: Mapping[str, object]) -> Preview | None:
        call = self.commands.checked(CommandCall(name, arguments))
        return await self.commands.get(call.name).preview(call.arguments, self.context)

    @property
    def context(self) -> CommandContext:
        return CommandContext(agent=an_agent(), files=self.files, tracker=self.tracker)


def openai(standin: MediaStandIn, **options: Any) -> MediaCommands:
    endpoint = OpenAIMedia(base_url=f"{standin.url}/v1", api_key=KEY, **{"prices": PRICED, **options})
    standin.closing.append(endpoint.close)
    return MediaCommands(
        images=OpenAIImages(endpoint), transcriber=OpenAITranscriber(endpoint), voice=OpenAIVoice(endpoint, "tts-1")
    )


def diffusion(standin: MediaStandIn, **options: Any) -> MediaCommands:
    return MediaCommands(
        images=StableDiffusion(url=standin.url, auth="ana:very-secret", auth_setting="SD_WEBUI_AUTH", **options)
    )


def huggingface(standin: MediaStandIn, **options: Any) -> MediaCommands:
    names = {"key_setting": "HUGGINGFACE_API_TOKEN", "url_setting": "HUGGINGFACE_API_URL"}
    shared = {"token": KEY, "url": f"{standin.url}/hub", "prices": Prices(FREE_MODELS), **names, **options}
    return MediaCommands(
        images=HuggingFaceImages(HuggingFace(model="draws", setting="HUGGINGFACE_IMAGE_MODEL", **shared)),
        transcriber=HuggingFaceTranscriber(HuggingFace(model="hears", setting="HUGGINGFACE_AUDIO_MODEL", **shared)),
    )


@pytest.mark.parametrize("does", [openai, diffusion, huggingface])
async def test_a_picture_is_kept_under_a_free_name_and_offered(does: Does, standin: MediaStandIn) -> None:
    desk = Desk(does(standin))
    for path in ("images/a-red-fox-füchse.png", "images/a-red-fox-füchse-2.png"):
        produced = await desk.run("generate_image", {"prompt": "A red  fox, (Füchse)!", "size": "landscape"})
        assert produced == CommandOutput(text=f"The picture is in {path} ({len(PNG)} bytes).", files=(path,))
        assert await desk.files.read(path) == PNG


@pytest.mark.slow
async def test_openai_is_asked_for_a_picture_as_its_models_want_it(standin: MediaStandIn) -> None:
    desk = Desk(openai(standin))
    await desk.run("generate_image", {"prompt": "a fox"})
    asked = standin.asked[0]
    wish = {"model": "gpt-image-2.5-flare", "prompt": "a fox", "size": "1024x1024", "n": 1, "output_format": "png"}
    assert asked.body == wish
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert desk.tracker.spent == {"image": Usage(prompt=9, completion=100, cost=Decimal("0.003045"))}


async def test_another_model_at_such_an_endpoint_is_asked_for_base64(standin: MediaStandIn) -> None:
    endpoint = OpenAIMedia(base_url=f"{standin.url}/v1")
    standin.closing.append(endpoint.close)
    desk = Desk(MediaCommands(images=OpenAIImages(endpoint, "flux")))
    await desk.run("generate_image", {"prompt": "a fox", "shape": "portrait"})
    wish = {"model": "flux", "prompt": "a fox", "size": "1024x1536", "n": 1, "response_format": "b64_json"}
    assert standin.asked[0].body == wish


async def test_a_picture_without_told_tokens_is_paid_as_the_dearest(standin: MediaStandIn) -> None:
    standin.answers(Answers({"created": 1, "data": [{"b64_json": PNG_BASE64}]}))
    desk = Desk(openai(standin))
    await desk.run("generate_image", {"prompt": "a fox"})
    assert desk.tracker.total.cost == Decimal("0.240025")


async def test_stable_diffusion_is_asked_with_its_name_and_password(standin: MediaStandIn) -> None:
    standin.answers(Answers({"images": [f"data:image/png;base64,{PNG_BASE64}"]}))
    desk = Desk(diffusion(standin))
    await desk.run("generate_image", {"prompt": "a fox", "shape": "portrait"})
    asked = standin.asked[0]
    assert asked.body == {"prompt": "a fox", "width": 512, "height": 768, "steps": 30, "batch_size": 1}
    assert asked.headers["Authorization"] == "Basic YW5hOnZlcnktc2VjcmV0"
    assert desk.tracker.total.cost == 0


async def test_hugging_face_is_asked_again_while_its_model_loads(standin: MediaStandIn) -> None:
    loading = Answers({"error": "Model draws is currently loading", "estimated_time": 500.5}, 503)
    standin.answers(loading, Answers({"error": "loading", "estimated_time": 2}, 503))
    clock = FakeClock()
    drawing = asyncio.create_task(Desk(huggingface(standin, clock=clock)).run("generate_image", {"prompt": "a fox"}))
    await clock.until_sleeping()
    clock.advance(30)
    await clock.until_sleeping()
    clock.advance(2)
    assert (await drawing).files == ("images/a-fox.png",)
    assert [asked.path for asked in standin.asked] == ["/hub/draws"] * 3
    assert standin.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    assert standin.asked[0].body == {"inputs": "a fox", "parameters": {"width": 1024, "height": 1024}}


async def test_a_model_that_never_gets_loaded_is_given_up(standin: MediaStandIn) -> None:
    class Hasty(FakeClock):
        async def sleep(self, seconds: float) -> None:
            self.advance(seconds)

    standin.answers(*[Answers({"estimated_time": 9}, 503)] * 20)
    with pytest.raises(CommandError, match="the model is still loading; try again later"):
        await Desk(huggingface(standin, clock=Hasty())).run("generate_image", {"prompt": "a fox"})
    assert len(standin.asked) == 8


SHOWN, WITHOUT = "gave no picture that can be shown", "without a picture"
INSTEAD: list[tuple[Does, Answers, str]] = [
    (openai, Answers({"error": {"message": f"Incorrect API key provided: {KEY}."}}, 401), "does not accept the key"),
    (openai, Answers({"error": {"message": "The model does not exist"}}, 404), "Set the model to one it offers"),
    (openai, Answers({"error": {"message": "Your request was rejected by the safety system."}}, 400), "safety system"),
    (openai, Answers({"error": {"message": "Slow down."}}, 429), "answered 429: Slow down"),
    (openai, Answers({"created": 1, "data": []}), SHOWN),
    (openai, Answers({"created": 1, "data": None}), SHOWN),
    (openai, Answers({"created": 1, "data": [{"url": "https://x.example/a.png"}]}), SHOWN),
    (openai, Answers({"created": 1, "data": [{"b64_json": "no base64!"}]}), SHOWN),
    (openai, Answers({"created": 1, "data": [{"b64_json": "aGVsbG8="}]}), SHOWN),
    (openai, Answers({"error": "odd"}), SHOWN),
    (openai, Answers(b"<html>"), SHOWN),
    (diffusion, Answers(b"", 401), "check SD_WEBUI_AUTH"),
    (diffusion, Answers(b"", 404), "start it with --api"),
    (diffusion, Answers(b"", 302, {"Location": "http://169.254.169.254/"}), "answered 302"),
    (diffusion, Answers(b"<html>"), WITHOUT),
    (diffusion, Answers(b"[" * 100_000), WITHOUT),
    (diffusion, Answers({"images": []}), WITHOUT),
    (diffusion, Answers({"images": [7]}), WITHOUT),
    (diffusion, Answers({"images": "text"}), WITHOUT),
    (diffusion, Answers({"images": ["!!!"]}), WITHOUT),
    (diffusion, Answers(bytes(41 * 2**20)), "answered more than can be taken"),
    (huggingface, Answers({"error": KEY}, 401), "check HUGGINGFACE_API_TOKEN"),
    (huggingface, Answers({"error": "no"}, 402), "credit is used up"),
    (huggingface, Answers({"error": "no"}, 404), "check HUGGINGFACE_IMAGE_MODEL and HUGGINGFACE_API_URL"),
    (huggingface, Answers({"error": "no"}, 429), "try again later"),
    (huggingface, Answers({"error": "no", "estimated_time": "soon"}, 503), "still loading"),
    (huggingface, Answers(b"<html>", 500), "answered 500"),
    (huggingface, Answers(b"<html>"), SHOWN),
]


@pytest.mark.slow
@pytest.mark.parametrize(("does", "answer", "said"), INSTEAD, ids=range(len(INSTEAD)))
async def test_what_a_service_says_instead_of_a_picture_is_told(
    does: Does, answer: Answers, said: str, standin: MediaStandIn
) -> None:
    standin.answers(answer)
    desk = Desk(does(standin))
    with pytest.raises((CommandError, ModelError), match=said) as caught:
        await desk.run("generate_image", {"prompt": "a fox"})
    assert not [secret for secret in (KEY, "very-secret") if secret in str(caught.value)]
    assert await desk.files.list_files() == ()


@pytest.mark.slow
@pytest.mark.parametrize("does", [openai, diffusion, huggingface])
async def test_a_service_that_hangs_or_is_not_there_is_told(does: Callable[..., MediaCommands]) -> None:
    async with media_standin() as standin:
        standin.answers(Answers(status=0))
        with pytest.raises((CommandError, ModelError), match="did not answer in time"):
            await Desk(does(standin, seconds=0.2)).run("generate_image", {"prompt": "a fox"})
    with pytest.raises((CommandError, ModelError), match="cannot be reached"):
        await Desk(does(standin)).run("generate_image", {"prompt": "a fox"})


async def test_a_picture_that_is_cancelled_leaves_nothing(standin: MediaStandIn) -> None:
    standin.answers(Answers(status=0))
    desk = Desk(diffusion(standin))
    drawing = asyncio.create_task(desk.run("generate_image", {"prompt": "a fox"}))
    await standin.begun.wait()
    drawing.cancel()
    await asyncio.wait([drawing])
    assert drawing.cancelled()
    assert not await desk.files.list_files()
    assert desk.tracker.held == 0


@pytest.mark.parametrize(("data", "ending"), [(PNG, "png"), (JPEG, "jpg"), (WEBP, "webp")])
async def test_a_picture_is_known_by_how_it_begins(data: bytes, ending: str) -> None:
    produced = await Desk(MediaCommands(images=FakeImages(data))).run("generate_image", {"prompt": "?!"})
    assert produced.files == (f"images/untitled.{ending}",)


@pytest.mark.parametrize("data", [b"", b"<svg onload=alert(1)>", b"GIF89a", b"RIFF1234WAVE", PNG + bytes(21 * 2**20)])
async def test_what_is_no_picture_or_too_much_is_paid_for_and_not_kept(data: bytes) -> None:
    desk = Desk(MediaCommands(images=FakeImages(data, cost=Decimal("0.04"))))
    with pytest.raises(CommandError, match="gave no picture that can be shown"):
        await desk.run("generate_image", {"prompt": "a fox"})
    assert (desk.tracker.total.cost, await desk.files.list_files()) == (Decimal("0.04"), ())


async def test_a_picture_that_the_workspace_does_not_take_is_told() -> None:
    tight = InMemoryFiles(Limits(file_bytes=10, workspace_bytes=10, files=3))
    with pytest.raises(CommandError, match="a file may hold at most 10"):
        await Desk(MediaCommands(images=FakeImages()), files=tight).run("generate_image", {"prompt": "a fox"})


async def test_people_see_who_draws_and_what_it_may_cost(standin: MediaStandIn) -> None:
    host = standin.url.removeprefix("http://")
    shown = await Desk(openai(standin)).preview("generate_image", {"prompt": "a fox"})
    assert shown == Preview(title=f"a square picture by gpt-image-2.5-flare · {host}, at most $0.24", body="a fox")
    free = await Desk(diffusion(standin)).preview("generate_image", {"prompt": "a fox", "shape": "portrait"})
    assert free == Preview(title=f"a portrait picture by Stable Diffusion · {host}", body="a fox")
    assert standin.asked == []


@pytest.mark.slow
async def test_a_sound_is_sent_with_its_name_and_paid_by_the_minute(standin: MediaStandIn) -> None:
    desk = Desk(openai(standin))
    await desk.files.write("in/talk.mp3", MP3)
    produced = await desk.run("read_audio_from_file", {"file": "in/talk.mp3"})
    assert produced == CommandOutput(text="Hello there.")
    asked = standin.asked[0]
    assert asked.body == {"model": "gpt-transcribe", "response_format": "json", "file": "talk.mp3"}
    assert asked.data == MP3
    assert desk.tracker.spent["audio"].cost == Decimal("0.0045")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"type": "tokens", "input_tokens": 1000, "output_tokens": 300, "total_tokens": 1300}, "0.009"),
        (
            {
                "type": "tokens",
                "input_tokens": 1000,
                "output_tokens": 300,
                "total_tokens": 1300,
                "input_token_details": {"audio_tokens": 0, "text_tokens": 1000},
            },
            "0.0055",
        ),
        ({"type": "duration", "seconds": 60}, "0.0132"),
        ({"type": "duration", "seconds": -5}, "0.0132"),
        (None, "0.0132"),
    ],
)
async def test_a_sound_is_paid_by_what_is_told_or_by_its_size(usage: object, cost: str, standin: MediaStandIn) -> None:
    standin.answers(Answers({"text": "Hello.", "usage": usage}))
    endpoint = OpenAIMedia(base_url=f"{standin.url}/v1")
    standin.closing.append(endpoint.close)
    desk = Desk(MediaCommands(transcriber=OpenAITranscriber(endpoint, "gpt-4o-transcribe")))
    await desk.files.write("a.wav", bytes(60_000))
    await desk.run("read_audio_from_file", {"filename": "a.wav"})
    assert desk.tracker.total.cost == Decimal(cost)


async def test_hugging_face_is_sent_the_sound_as_what_it_is(standin: MediaStandIn) -> None:
    desk = Desk(huggingface(standin))
    await desk.files.write("a.WAV", b"RIFF sound")
    assert (await desk.run("read_audio", {"filename": "a.WAV"})).text == "Hello there."
    assert (standin.asked[0].headers["Content-Type"], standin.asked[0].data) == ("audio/wav", b"RIFF sound")


@pytest.mark.parametrize("body", [b"<html>", {"chunks": []}, {"text": 7}, [1]])
@pytest.mark.parametrize("does", [openai, huggingface])
async def test_an_answer_without_words_is_told(does: Does, body: object, standin: MediaStandIn) -> None:
    standin.answers(Answers(body))
    desk = Desk(does(standin))
    await desk.files.write("a.mp3", MP3)
    with pytest.raises((CommandError, ModelError), match=r"without a transcription|cannot be read"):
        await desk.run("read_audio_from_file", {"filename": "a.mp3"})


async def test_silence_is_told() -> None:
    desk = Desk(MediaCommands(transcriber=FakeTranscriber(" \n")))
    await desk.files.write("a.mp3", MP3)
    produced = await desk.run("read_audio_from_file", {"filename": "a.mp3"})
    assert produced.text == "No words were heard in a.mp3."


@pytest.mark.parametrize(
    ("filename", "said"),
    [
        ("notes.txt", "notes.txt is not called like a sound file; these are heard: flac, m4a, mp3"),
        ("mp3", "mp3 is not called like a sound file"),
        ("gone.mp3", "There is no file gone.mp3."),
        ("../a.mp3", "is not a path inside the workspace"),
        ("empty.ogg", "empty.ogg is empty."),
        ("long.wav", r"long.wav is too long \(26,214,401 bytes\): at most 26,214,400 can be heard."),
    ],
)
async def test_a_file_that_is_no_sound_is_told_before_and_not_sent(filename: str, said: str) -> None:
    ears = FakeTranscriber()
    roomy = InMemoryFiles(Limits(file_bytes=30_000_000))
    desk = Desk(MediaCommands(transcriber=ears), files=roomy)
    await roomy.write("empty.ogg", b"")
    await roomy.write("long.wav", bytes(25 * 2**20 + 1))
    for act in (desk.preview, desk.run):
        with pytest.raises(CommandError, match=said):
            await act("read_audio_from_file", {"filename": filename})
    assert ears.asked == []


async def test_people_see_what_is_sent_where() -> None:
    desk = Desk(MediaCommands(transcriber=FakeTranscriber(cost=Decimal("0.5"))))
    await desk.files.write("a.mp3", MP3)
    shown = await desk.preview("read_audio_from_file", {"filename": "a.mp3"})
    title = f"a.mp3 ({len(MP3)} bytes) is sent to ears · here, at most $0.50"
    assert shown == Preview(title=title, body="", target="a.mp3", basis=await desk.files.fingerprint("a.mp3"))


@pytest.mark.slow
async def test_a_text_is_spoken_and_offered_as_a_note(standin: MediaStandIn) -> None:
    desk = Desk(openai(standin))
    produced = await desk.run("speak", {"text": "Good morning, team."})
    assert produced.files == ("audio/good-morning-team.mp3",)
    assert await desk.files.read("audio/good-morning-team.mp3") == MP3
    wish = {"model": "tts-1", "voice": "alloy", "input": "Good morning, team.", "response_format": "mp3"}
    assert standin.asked[0].body == wish
    assert desk.tracker.total.cost == Decimal("0.000285")


@pytest.mark.parametrize("data", [b"", b"<html>", b"{}", MP3 + bytes(21 * 2**20)])
async def test_what_is_no_sound_is_not_kept(data: bytes) -> None:
    desk = Desk(MediaCommands(voice=FakeSpeech(data)))
    with pytest.raises(CommandError, match="gave no sound that can be played"):
        await desk.run("speak", {"text": "Hello."})
    assert await desk.files.list_files() == ()


async def test_blank_words_are_not_spoken() -> None:
    voice = FakeSpeech()
    with pytest.raises(CommandError, match="nothing to say"):
        await Desk(MediaCommands(voice=voice)).run("speak", {"text": " \n"})
    assert voice.asked == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("generate_image", {"prompt": "x"}), ("read_audio_from_file", {"filename": "a.mp3"}), ("speak", {"text": "x"})],
)
@pytest.mark.parametrize(("cost", "said"), [(Decimal("0.5"), "budget is reached"), (None, "No price is known")])
async def test_nothing_is_made_beyond_the_budget_or_at_an_unknown_price(
    name: str, arguments: Mapping[str, object], cost: Decimal | None, said: str
) -> None:
    images, ears, voice = FakeImages(cost=cost), FakeTranscriber(cost=cost), FakeSpeech(cost=cost)
    tracker = SpendingTracker(agent=Budget(limit=Decimal("0.4")))
    desk = Desk(MediaCommands(images=images, transcriber=ears, voice=voice), tracker)
    await desk.files.write("a.mp3", MP3)
    with pytest.raises(OverBudget, match=said):
        await desk.run(name, arguments)
    assert [len(each.asked) for each in (images, ears, voice)] == [0, 0, 0]


async def test_what_is_not_set_is_off_with_the_reason() -> None:
    desk = Desk(MediaCommands(no_images=NO_IMAGES, no_transcriber=NO_TRANSCRIBER, no_voice=NO_VOICE))
    assert desk.commands.specs == ()
    for name, setting in (("generate_image", "SD_WEBUI_URL"), ("read_audio", "HUGGINGFACE"), ("speak", "SPEECH_MODEL")):
        with pytest.raises(UnusableReply, match=setting):
            desk.commands.get(name)


async def test_an_unknown_price_at_hugging_face_is_no_price() -> None:
    endpoint = HuggingFace(model="openai/whisper-large-v3-turbo", setting="HUGGINGFACE_AUDIO_MODEL", token=KEY)
    assert HuggingFaceTranscriber(endpoint).price(1000) is None
    assert HuggingFaceImages(endpoint).price("x", "square") is None
    assert KEY not in repr(endpoint)
    assert KEY not in repr(OpenAIMedia(api_key=KEY))
    assert KEY not in repr(StableDiffusion(url="http://127.0.0.1", auth=KEY))
