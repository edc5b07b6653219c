"""The pages of the installation as HTML: invitation, success, and failure with its reasons."""

import base64
import hashlib
from html import escape

STYLE = """
:root { color-scheme: light dark; font: 1.05rem/1.5 system-ui, sans-serif; }
body { max-width: 34rem; margin: 12vh auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; }
a.go { display: inline-block; padding: .6rem 1.1rem; border-radius: .4rem; background: #2f5d50; color: #fff;
  text-decoration: none; }
a.go:focus-visible { outline: 3px solid currentColor; outline-offset: 3px; }
code { font-size: 1em; padding: .1em .35em; border: 1px solid; border-radius: .25em; }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_HASH}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "Referrer-Policy": "no-referrer",  # the address contains a code
    "X-Content-Type-Options": "nosniff",
}

AGAIN = "Start again"
REASONS = {
    "access_denied": "You cancelled, so nothing was installed.",
    "invalid_browser": "This page was loaded twice, or started in another browser, so nothing was installed.",
    "invalid_state": "The link is older than ten minutes or was already used, so nothing was installed.",
    "missing_code": "Slack sent no authorization code, so nothing was installed.",
    "invalid_code": "Slack did not confirm the installation, so nothing was installed. See Signoff's log.",
    "workspace_not_allowed": "This Signoff is not for your workspace, so nothing was installed. Its operator can allow "
    "it in SLACK_ALLOWED_WORKSPACES.",
    "storage_error": "Slack agreed, but the installation could not be saved. Wait a minute, then start again.",
    "database_away": "Signoff cannot reach its database, so nothing was installed. Wait a minute, then start again.",
}
UNKNOWN = "Slack did not complete the installation, so nothing was installed."


def invitation(url: str) -> str:
    """The install page with the button Add to Slack."""
    said = "Agents in your channels that ask before they act. Next, Slack lists the permissions that Signoff asks for."
    return _html("Add Signoff to Slack", f"<p>{said}</p>{_link(url, 'Add to Slack')}")


def welcome(team: str, url: str, *, is_enterprise: bool) -> str:
    """The page after an installation."""
    first = "<p>An admin of the organisation now adds it to workspaces.</p>" if is_enterprise else ""
    then = "<p>In a channel, type <code>/invite @Signoff</code>, then <code>/agent new</code>.</p>"
    return _html(f"Signoff is in {team or 'your workspace'}", f"{first}{then}{_link(url, 'Open Slack')}")


def refusal(reason: str, url: str) -> str:
    """The page after a failed installation."""
    return _html("Not installed", f"<p>{REASONS.get(reason, UNKNOWN)}</p>{_link(url, AGAIN)}")


def _link(url: str, text: str) -> str:
    return f'<p><a class="go" href="{escape(url)}">{text}</a></p>'


def _html(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
