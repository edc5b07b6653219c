"""The settings of the web: the services that search it, what agents may download, and internal hosts."""

from typing import ClassVar, Literal

from agent_core.capabilities.declaring import SettingsGroup, needs_beside, needs_extra, setting
from agent_core.capabilities.setting_types import Names, Secret, WebAddress


class WebSettings(SettingsGroup):
    """The services that search the web, and what agents may download and reach."""

    title: ClassVar[str] = "The web"

    brave_api_key: Secret = setting(
        "",
        "The key for Brave's Web Search API. If several search services are set, Signoff uses the first in this list.",
        example="your-brave-key",
    )
    brave_search_url: WebAddress = setting(
        "", "Another address of that API, such as a proxy.", unset="https://api.search.brave.com/res/v1/web/search"
    )
    tavily_api_key: Secret = setting("", "The key for Tavily's search.", example="tvly-your-key")
    tavily_search_url: WebAddress = setting(
        "", "Another address of that search, such as a proxy.", unset="https://api.tavily.com/search"
    )
    searxng_url: WebAddress = setting(
        "",
        "The address of a SearXNG server. Its settings must list `json` in `search.formats`.",
        example="http://127.0.0.1:8888",
    )
    google_api_key: Secret = setting(
        "",
        "The key for Google's Custom Search API, which is closed to new customers and ends on 1 January 2027. "
        "Used only with GOOGLE_CSE_ID.",
        example="your-google-key",
    )
    google_cse_id: str = setting(
        "",
        "The id of the search engine for that API.",
        rule="letters, digits, colons, hyphens and underscores",
        example="0123456789abcdef0",
        pattern=r"^[A-Za-z0-9:_-]*$",
    )
    google_search_url: WebAddress = setting(
        "", "Another address of that API, such as a proxy.", unset="https://www.googleapis.com/customsearch/v1"
    )
    allow_search_scraping: bool = setting(
        False,
        "Agents may read the result pages of public search engines if no search service is set. This needs no "
        "account. The engines' terms may forbid it, and they often refuse. It needs the extra search.",
    )
    allow_downloads: bool = setting(False, "Agents may propose to download files.")
    allow_internal_hosts: Names = setting(
        (),
        "The hosts inside your network that agents may reach. All others are closed to them.",
        rule="host names, addresses or networks, separated by commas",
        example="wiki.intern.example.com,10.20.0.0/16",
    )

    @property
    def has_google(self) -> bool:
        """Whether the key and the search engine id of Google's API are set."""
        return bool(self.google_api_key and self.google_cse_id)

    @property
    def search_service(self) -> Literal["brave", "tavily", "searxng", "google", "scraping"] | None:
        """What searches the web: the first of these that is set; None if nothing is."""
        if self.brave_api_key:
            return "brave"
        if self.tavily_api_key:
            return "tavily"
        if self.searxng_url:
            return "searxng"
        if self.has_google or self.google_search_url:
            return "google"
        return "scraping" if self.allow_search_scraping else None

    def check(self) -> None:
        needs_extra(self.search_service == "scraping", "allow_search_scraping", "ddgs", "search")
        needs_beside(self, "brave_search_url", "brave_api_key")
        needs_beside(self, "tavily_search_url", "tavily_api_key")
        needs_beside(self, "google_cse_id", "google_api_key")
