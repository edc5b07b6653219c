"""Where Signoff was let in: a workspace of a chat platform or a tool server, with its encrypted tokens."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from agent_core.model.channels import SurfaceName

InstalledOn: TypeAlias = SurfaceName | Literal["mcp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Signoff in one workspace. `sealed` holds the tokens, encrypted; only the surface can decrypt them.

    On "mcp" the workspace is the name of a tool server at which somebody signed in.
    """

    surface: InstalledOn
    workspace: str
    name: str
    sealed: str = field(repr=False)
    installed_at: datetime
