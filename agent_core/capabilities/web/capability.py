"""The feature of the web: makes the HTTP client and the web search by the settings; offers commands and findings."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_core.capabilities.capability import Capability, CommandParts, Finding
from agent_core.capabilities.declaring import variables_of
from agent_core.capabilities.web.downloads import DownloadCommands
from agent_core.capabilities.web.pages import PageCommands
from agent_core.capabilities.web.search import WebSearchCommands
from agent_core.capabilities.web.settings import WebSettings
from agent_core.errors import SettingsError
from agent_core.ports.documents import Documents
from agent_core.ports.web import Search, Web
from agent_core.toolset.registry import Command

if TYPE_CHECKING:
    from agent_core.providers.egress.address_policy import InternalHosts

INTERNAL_HOSTS = "ALLOW_INTERNAL_HOSTS"
NO_DOWNLOADS = "the operator allows no downloads here (ALLOW_DOWNLOADS)."
NO_SEARCH = (
    "no search service is set. BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL would bring one; without an account, "
    "ALLOW_SEARCH_SCRAPING lets public search engines be asked."
)
SEARCH_VARIABLES = "BRAVE_API_KEY, TAVILY_API_KEY, SEARXNG_URL, ALLOW_SEARCH_SCRAPING"
DRAWN = "those that need JavaScript are drawn by Chromium"


@dataclass(frozen=True, kw_only=True)
class WebCapability(Capability):
    """`browser_fault`, `git_fault`: return why Chromium or git cannot be used, or ""."""

    name = "web"
    settings: WebSettings
    web: Web
    search: Search
    browser_fault: Callable[[], str]
    git_fault: Callable[[], str]

    @classmethod
    def of(cls, settings: WebSettings, documents: Documents, *, public_url: str, port: int) -> "WebCapability":
        """`public_url` and `port` are of Signoff's own page. Raise SettingsError for an invalid host."""
        from agent_core.capabilities.web.browser_pages import browser_fault
        from agent_core.capabilities.web.git_clone import git_fault

        web = make_web(settings, documents, public_url=public_url, port=port)
        return cls(
            settings=settings, web=web, search=make_search(settings), browser_fault=browser_fault, git_fault=git_fault
        )

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        commands = (
            *WebSearchCommands(self.search).commands,
            *PageCommands(self.web, parts.metered_model, parts.database).commands,
            *DownloadCommands(self.web, parts.database).commands,
        )
        reasons = {
            "clone_repository": self.git_fault(),
            "google": "" if self.settings.search_service else NO_SEARCH,
            "download_file": "" if self.settings.allow_downloads else NO_DOWNLOADS,
        }
        return tuple(each.switched(reasons.get(each.spec.name, "")) for each in commands)

    async def findings(self) -> Iterable[Finding]:
        no_clones, allowed = self.git_fault(), self.settings.allow_downloads
        pages = self.browser_fault().rstrip(".") or DRAWN
        downloads = (
            "agents may propose them" if allowed else "agents cannot download files; ALLOW_DOWNLOADS=true lets them"
        )
        return (
            self._search(),
            Finding(name="pages", state="on", why=pages, variable=INTERNAL_HOSTS),
            Finding(
                name="repositories",
                state="off" if no_clones else "on",
                why=no_clones or "copied by git, without history",
            ),
            Finding(
                name="downloads",
                state="on" if allowed else "off",
                why=downloads,
                variable="ALLOW_DOWNLOADS" if allowed else "",
            ),
        )

    def _search(self) -> Finding:
        services = {
            "brave": ("Brave's API", "BRAVE_API_KEY"),
            "tavily": ("Tavily", "TAVILY_API_KEY"),
            "searxng": (f"SearXNG at {self.settings.searxng_url}", "SEARXNG_URL"),
            "google": ("Google's own API, which ends on 1 January 2027", "GOOGLE_API_KEY, GOOGLE_CSE_ID"),
            "scraping": ("the pages of public search engines, without an account", "ALLOW_SEARCH_SCRAPING"),
        }
        if self.settings.search_service is None:
            return Finding(name="search", state="off", why="", variable=SEARCH_VARIABLES)
        why, variable = services[self.settings.search_service]
        return Finding(name="search", state="on", why=why, variable=variable)


def make_web(settings: WebSettings, documents: Documents, *, public_url: str, port: int) -> Web:
    """The HTTP client; raise SettingsError for an invalid host."""
    from agent_core.capabilities.web.gateway_web import GatewayWeb

    return GatewayWeb.of(internal_hosts(settings, port), public_url, documents)


def internal_hosts(settings: WebSettings, port: int) -> "InternalHosts":
    """The hosts that ALLOW_INTERNAL_HOSTS names, never the page at `port`; raise SettingsError for an invalid one."""
    from agent_core.providers.egress.address_policy import InternalHosts

    try:
        return InternalHosts.of(settings.allow_internal_hosts, INTERNAL_HOSTS, port)
    except ValueError as fault:
        raise SettingsError(INTERNAL_HOSTS, str(fault), variables_of(WebSettings)[INTERNAL_HOSTS].example) from None


def make_search(settings: WebSettings) -> Search:
    """The search service that is set. If none is, the command is off."""
    from agent_core.capabilities.web import search_services
    from agent_core.capabilities.web.search_engines import GOOGLE_URL, GoogleSearch, MetaSearch

    match settings.search_service:
        case "brave":
            url = settings.brave_search_url or search_services.BRAVE_URL
            return search_services.brave_search(settings.brave_api_key.get_secret_value(), url, "BRAVE_API_KEY")
        case "tavily":
            url = settings.tavily_search_url or search_services.TAVILY_URL
            return search_services.tavily_search(settings.tavily_api_key.get_secret_value(), url, "TAVILY_API_KEY")
        case "searxng":
            return search_services.searxng_search(settings.searxng_url, "SEARXNG_URL")
        case "google":
            return GoogleSearch(
                api_key=settings.google_api_key.get_secret_value(),
                engine=settings.google_cse_id,
                url=settings.google_search_url or GOOGLE_URL,
                settings="GOOGLE_API_KEY and GOOGLE_CSE_ID",
            )
        case "scraping" | None:
            return MetaSearch()
