"""The feature of posts: makes the publisher for X if its keys are set; offers its command and finding."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent_core.capabilities.capability import Capability, CommandParts, Finding, provided_finding
from agent_core.capabilities.posts.commands import PublishCommands
from agent_core.capabilities.posts.settings import PostSettings
from agent_core.ports.media import PostPublisher
from agent_core.toolset.registry import Command

X_VARIABLES = "X_API_KEY, X_API_SECRET, X_ACCESS_TOKEN and X_ACCESS_TOKEN_SECRET"
NO_PUBLISHER = f"{X_VARIABLES} are not set."


@dataclass(frozen=True, kw_only=True)
class PostCapability(Capability):
    """`publisher`: None unless all four keys are set."""

    name = "posts"
    publisher: PostPublisher | None

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        return PublishCommands(self.publisher, NO_PUBLISHER).commands

    async def findings(self) -> Iterable[Finding]:
        return (provided_finding("posts", "X" if self.publisher else "", X_VARIABLES.replace(" and", ",")),)


def make_publisher(settings: PostSettings) -> PostPublisher | None:
    """The publisher for X, or None unless its four keys are set."""
    if not settings.has_x:
        return None
    from agent_core.capabilities.posts.x_posts import X_API_URL, XPosts

    return XPosts(
        api_key=settings.x_api_key.get_secret_value(),
        api_secret=settings.x_api_secret.get_secret_value(),
        access_token=settings.x_access_token.get_secret_value(),
        access_token_secret=settings.x_access_token_secret.get_secret_value(),
        url=settings.x_api_url or X_API_URL,
        settings=X_VARIABLES,
    )
