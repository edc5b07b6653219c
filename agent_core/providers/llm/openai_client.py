"""Base of the providers on OpenAI-compatible endpoints, with the client of OpenAI's SDK."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_core.providers.llm.model_endpoint import ModelEndpoint

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(slots=True, kw_only=True)
class OpenAIEndpoint(ModelEndpoint):
    """Base class of language models, embedders and media on an OpenAI-compatible endpoint."""

    base_url: str = OPENAI_URL

    @property
    def is_openai(self) -> bool:
        return urlsplit(self.base_url).hostname == urlsplit(OPENAI_URL).hostname

    async def client(self) -> "AsyncOpenAI":
        """The SDK's client; create it in a thread at first use, because importing the SDK is slow."""
        opened: AsyncOpenAI = await self._open_client()
        return opened

    def _sdk(self) -> Any:
        import openai

        return openai

    def _sdk_error(self) -> type[Exception]:
        error: type[Exception] = self._sdk().OpenAIError
        return error

    def _new_client(self) -> Any:
        client = self._sdk().AsyncOpenAI(**self._client_options())
        _ = client.chat.completions, client.models, client.embeddings  # lazily imported submodules
        return client
