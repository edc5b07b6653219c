"""The settings of memory: the model and endpoint that embed texts, and the index in Pinecone if there is one."""

from typing import ClassVar

from pydantic import field_validator

from agent_core.capabilities.declaring import needs_beside, refuse_if, setting
from agent_core.capabilities.models.settings import Endpoint, ModelSettings
from agent_core.capabilities.setting_types import HostAddress, Secret, WebAddress

LOCAL = "local"
USUAL_EMBEDDINGS = "text-embedding-3-small"
NO_MODEL_NAMED = "must name a model of EMBEDDING_BASE_URL."
NO_EMBEDDINGS = "names a model, so OPENAI_API_KEY, OPENAI_BASE_URL or EMBEDDING_BASE_URL must say where it is."


class MemorySettings(ModelSettings):
    """Which model finds memories by their meaning, and the index in Pinecone if there is one."""

    title: ClassVar[str] = "Memory"

    embedding_model: str = setting(
        "",
        "Finds memories by meaning: `local`, which is free and knows English, or a model.",
        rule="`local`, or the name of a model of the endpoint",
        unset="text-embedding-3-small if the endpoint is OpenAI's own, else `local`",
        example="text-embedding-3-small",
    )
    embedding_base_url: WebAddress = setting(
        "",
        "Another endpoint for EMBEDDING_MODEL. Signoff does not send OPENAI_API_KEY to it.",
        unset="the language model's endpoint",
        example="http://127.0.0.1:8080/v1",
    )
    embedding_api_key: Secret = setting(
        "", "The key for EMBEDDING_BASE_URL. An endpoint on your own machine needs none.", example="your-embedding-key"
    )
    pinecone_api_key: Secret = setting(
        "",
        "The key for Pinecone, which then finds memories.",
        unset="none. The database finds memories",
        example="pcsk_your-key",
    )
    pinecone_index: str = setting(
        "signoff",
        "The index in Pinecone. Signoff creates it if it is missing.",
        rule="up to 45 small letters, digits and hyphens, with a letter or a digit at both ends",
        pattern=r"^[a-z0-9]([a-z0-9-]{0,43}[a-z0-9])?$",
    )
    pinecone_host: HostAddress = setting(
        "",
        "The index's own address, which saves the lookup by name.",
        unset="looked up",
        example="https://signoff-abc1234.svc.us-east-1.pinecone.io",
    )
    pinecone_controller_host: HostAddress = setting(
        "", "Another address of the Pinecone API that lists and creates indexes.", unset="https://api.pinecone.io"
    )

    @property
    def embedding_name(self) -> str:
        """The name of the embedding model: `local`, or the name of a model that `embedding_endpoint` serves."""
        return self.embedding_model or (USUAL_EMBEDDINGS if self.is_openai else LOCAL)

    @property
    def embedding_endpoint(self) -> Endpoint | None:
        """The endpoint of the embedding model, or None if it runs on this machine."""
        if self.embedding_name == LOCAL:
            return None
        if not self.embedding_base_url:
            return self.openai_endpoint
        return Endpoint(
            url=self.embedding_base_url,
            key=self.embedding_api_key.get_secret_value(),  # send no key to a host that it was not set for
            url_variable="EMBEDDING_BASE_URL",
            key_variable="EMBEDDING_API_KEY",
        )

    @field_validator("embedding_model", mode="before")
    @classmethod
    def _local_in_any_case(cls, given: object) -> object:
        return LOCAL if isinstance(given, str) and given.strip().lower() == LOCAL else given

    def check(self) -> None:
        is_local = self.embedding_model in ("", LOCAL)
        refuse_if(is_local and self.embedding_base_url, "embedding_model", NO_MODEL_NAMED)
        has_place = self.embedding_base_url or self.openai_endpoint
        refuse_if(not is_local and not has_place, "embedding_model", NO_EMBEDDINGS)
        needs_beside(self, "pinecone_host", "pinecone_api_key")
        needs_beside(self, "pinecone_controller_host", "pinecone_api_key")
