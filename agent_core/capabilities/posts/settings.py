"""The settings of posts on X: four keys, all or none."""

from typing import ClassVar

from agent_core.capabilities.declaring import SettingsGroup, needs_extra, refuse_if, setting
from agent_core.capabilities.setting_types import Secret, WebAddress

OTHER_KEYS = ("x_api_key", "x_api_secret", "x_access_token")


class PostSettings(SettingsGroup):
    """The four keys of an app and an account on X."""

    title: ClassVar[str] = "Posts on X"

    x_api_key: Secret = setting(
        "",
        "The API key of an app on X. Agents may propose posts if all four keys are set. They need the extra x.",
        unset="no posts",
        example="your-api-key",
    )
    x_api_secret: Secret = setting("", "The secret of that API key.", unset="no posts", example="your-api-secret")
    x_access_token: Secret = setting(
        "", "The access token of the account that posts.", unset="no posts", example="your-access-token"
    )
    x_access_token_secret: Secret = setting(
        "", "The secret of that access token.", unset="no posts", example="your-access-token-secret"
    )
    x_api_url: WebAddress = setting(
        "",
        "Another address of X's API, such as a proxy.",
        unset="https://api.twitter.com",
        example="https://x.proxy.example.com",
    )

    @property
    def has_x(self) -> bool:
        """Whether agents may propose posts on X."""
        return bool(self.x_api_key)

    def check(self) -> None:
        last, missing = "x_access_token_secret", [name.upper() for name in OTHER_KEYS if not getattr(self, name)]
        if self.x_access_token_secret:
            refuse_if(missing, last, f"needs {', '.join(missing)} beside it.")
        else:
            refuse_if(len(missing) < len(OTHER_KEYS), last, "is missing beside the other keys of X.")
        needs_extra(self.has_x, "x_api_key", "tweepy", "x")
