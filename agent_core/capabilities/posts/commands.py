"""The command send_tweet, and the length of a post as X counts it. The post is exactly what people approved."""

import re
import unicodedata
from dataclasses import dataclass

from pydantic import BaseModel, Field

from agent_core.errors import CommandError
from agent_core.model.command import Preview
from agent_core.ports.media import PostPublisher
from agent_core.toolset.registry import Command, CommandContext, declare

MAX_POST_LENGTH = 280
# docs.x.com/fundamentals/counting-characters; the ranges are those of twitter-text's configuration v3.
SINGLE_WEIGHT_RANGES = ((0, 4351), (8192, 8205), (8208, 8223), (8242, 8247))
LINK_LENGTH, EMOJI_LENGTH = 23, 2
PICTOGRAM = (
    r"[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff]"
)
EMOJI = re.compile(
    rf"[0-9#*]\ufe0f?\u20e3|[\U0001f1e6-\U0001f1ff]{{2}}"
    rf"|{PICTOGRAM}[\ufe0f\U0001f3fb-\U0001f3ff]*(?:\u200d{PICTOGRAM}[\ufe0f\U0001f3fb-\U0001f3ff]*)*"
)
COMMON_TOP_LEVEL_DOMAINS = (
    "com|org|net|edu|gov|info|io|ai|dev|app|co|me|tv|eu|uk|de|fr|es|it|nl|ch|at|us|ca|jp|in|br|au"
)
PATH = r"[/?#:](?:[!-~]*[\w/=#+&-])?"
LINK = re.compile(
    rf"https?://[\w-]+(?:\.[\w-]+)+(?:{PATH})?|(?<![\w@.-])(?:[a-z0-9-]+\.)+(?:{COMMON_TOP_LEVEL_DOMAINS})\b(?:{PATH})?",
    re.IGNORECASE | re.ASCII,
)
NO_ACCOUNT = "no account is set."


class Post(BaseModel):
    """What everybody will read."""

    text: str = Field(description="the post, at most 280 characters as X counts them", min_length=1, max_length=4000)


@dataclass(frozen=True, slots=True)
class PublishCommands:
    """The command send_tweet. Without a publisher it is off, and the sentence `off` says why."""

    publisher: PostPublisher | None = None
    off: str = NO_ACCOUNT

    async def send_tweet(self, given: Post, _context: CommandContext) -> str:
        """Post a text on X (Twitter), for everybody to read."""
        publisher = self._publisher()
        _require_fit(given.text)
        address = await publisher.post(given.text)
        return f"It is posted: {address}" if address else "It is posted; its address was not told."

    async def preview(self, given: Post, _context: CommandContext) -> Preview:
        """The exact text and its length; a text that is too long is rejected before people are asked."""
        publisher = self._publisher()
        length = _require_fit(given.text)
        return Preview(title=f"to everybody on {publisher.label} · {length} of {MAX_POST_LENGTH}", body=given.text)

    @property
    def commands(self) -> tuple[Command, ...]:
        tweet = declare(
            Post,
            self.send_tweet,
            self.preview,
            label="Send tweet",
            risks=("publish",),
            category="publish",
            synonyms=("post_tweet", "tweet"),
            aliases={"tweet_text": "text", "tweet": "text", "message": "text", "content": "text"},
        )
        return (tweet.switched("" if self.publisher else self.off),)

    def _publisher(self) -> PostPublisher:
        if self.publisher is None:
            raise CommandError(f"Nothing can be posted here: {self.off}")
        return self.publisher


def weighted_length(text: str) -> int:
    """The length of a post as X counts it: a link counts 23, an emoji and most East Asian characters count 2.

    A link without https:// is recognised only by common top-level domains. X knows more of them and decides.
    """
    plain = unicodedata.normalize("NFC", text)
    rest, links = LINK.subn("", plain)
    rest, emoji = EMOJI.subn("", rest)
    single = sum(first <= ord(letter) <= last for letter in rest for first, last in SINGLE_WEIGHT_RANGES)
    return LINK_LENGTH * links + EMOJI_LENGTH * emoji + 2 * len(rest) - single


def _require_fit(text: str) -> int:
    if not text.strip():
        raise CommandError("There is nothing to post.")
    length = weighted_length(text)
    if length > MAX_POST_LENGTH:
        raise CommandError(
            f"The text is too long for a post: {length} of {MAX_POST_LENGTH} characters, of which a link takes "
            f"{LINK_LENGTH}, an emoji and most characters of East Asia two."
        )
    return length
