"""Who may use the MCP endpoint: the token, and no other site's page. Loads nothing of the SDK."""

import hmac

from aiohttp import web

MCP_PATH = "/mcp"
MCP_PATHS = (MCP_PATH, f"{MCP_PATH}/")  # clients are configured with either
NO_TOKEN = "This is Signoff's MCP server. Send its token, MCP_TOKEN, as `Authorization: Bearer …`.\n"  # noqa: S105
OTHER_PAGE = "This request came from another page, so nothing was done.\n"


def require_access(request: web.Request, token: str) -> None:
    """Raise HTTPForbidden for a request of another site's page, HTTPUnauthorized for one without the token.

    Programs send no Origin. The token is compared in constant time.
    """
    origin = request.headers.get("Origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("Host"):
        raise web.HTTPForbidden(text=OTHER_PAGE)
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    is_same = hmac.compare_digest(given.strip().encode(errors="surrogateescape"), token.encode())
    if not (is_same and scheme.casefold() == "bearer"):
        raise web.HTTPUnauthorized(text=NO_TOKEN, headers={"WWW-Authenticate": "Bearer"})
