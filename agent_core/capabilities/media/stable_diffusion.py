"""Images by a Stable Diffusion WebUI that the operator runs, free of charge."""

import base64
import json
from dataclasses import dataclass, field
from decimal import Decimal

from agent_core.capabilities.media.media_http import HttpService
from agent_core.errors import CommandError
from agent_core.model.model_calls import FREE, Usage
from agent_core.ports.media import GeneratedFile, Shape

NAME = "Stable Diffusion"
SIZES: dict[Shape, tuple[int, int]] = {"square": (512, 512), "landscape": (768, 512), "portrait": (512, 768)}
STEPS = 30
STATUS_ADVICE = {
    401: "it wants a user's name and password: the operator should check {auth_setting}.",
    403: "it does not let this in: the operator should check {auth_setting}.",
    404: "it has no API there: the operator should start it with --api and check {url_setting}.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StableDiffusion:
    """Implements `Images`. `auth` is `user:password` if the WebUI was started with --api-auth.

    `url_setting` and `auth_setting` are names of settings, for error messages.
    """

    url: str
    auth: str = field(default="", repr=False)
    seconds: float = 300.0
    url_setting: str = "its address"
    auth_setting: str = "its user and password"

    @property
    def label(self) -> str:
        return f"{NAME} · {self._service.host}"

    def price(self, prompt: str, shape: Shape) -> Decimal | None:
        return FREE

    async def draw(self, prompt: str, shape: Shape) -> GeneratedFile:
        width, height = SIZES[shape]
        parameters = {"prompt": prompt, "width": width, "height": height, "steps": STEPS, "batch_size": 1}
        answer = await self._service.post("/sdapi/v1/txt2img", json=parameters)
        if answer.status != 200:
            why = STATUS_ADVICE.get(answer.status, "try again later, or with another prompt.")
            why = why.format(url_setting=self.url_setting, auth_setting=self.auth_setting)
            raise CommandError(f"{NAME} answered {answer.status}: {why}")
        return GeneratedFile(data=_picture(answer.data), usage=Usage())

    @property
    def _service(self) -> HttpService:
        packed = base64.b64encode(self.auth.encode()).decode()
        headers = {"Authorization": f"Basic {packed}"} if self.auth else {}
        return HttpService(name=NAME, url=self.url, headers=headers, seconds=self.seconds)


def _picture(body: bytes) -> bytes:
    try:
        answer = json.loads(body)
        packed = answer["images"][0]
        return base64.b64decode(packed.rpartition(",")[2], validate=True)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise CommandError(f"{NAME} answered without a picture.") from None
