"""Repository of deletions that are not finished outside the database."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert, select

from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope
from agent_core.model.records.deletion import Deletion
from agent_core.persistence.tables import deletions
from agent_core.persistence.write_buffer import SqlRepository

_COLUMNS = deletions.c
_PAGE = (
    select(deletions).where(_COLUMNS.agent_id > bindparam("after")).order_by(_COLUMNS.agent_id).limit(bindparam("most"))
)
_ADD = insert(deletions)
_FINISH = delete(deletions).where(_COLUMNS.agent_id == bindparam("the_id"))


class SqlDeletions(SqlRepository):
    """See `Deletions` in the ports."""

    async def page(self, *, most: int, after: str = "") -> tuple[Deletion, ...]:
        rows = await self._buffer.rows(_PAGE, {"after": after, "most": most})
        return tuple(
            Deletion(
                agent_id=AgentId(row.agent_id),
                channel=ChannelScope.parse(row.channel),
                head=AgentId(row.head) if row.head else None,
                index=row.index_name,
                at=row.at,
            )
            for row in rows
        )

    def add(self, deletion: Deletion) -> None:
        columns = {"agent_id": deletion.agent_id, "channel": deletion.channel.key, "head": deletion.head}
        self._buffer.queue(_ADD, {**columns, "index_name": deletion.index, "at": deletion.at})

    def finish(self, deletions: Sequence[Deletion]) -> None:
        if deletions:
            self._buffer.queue(_FINISH, [{"the_id": each.agent_id} for each in deletions])

    async def empty_journal(self) -> bool:
        return await self._buffer.empty_journal()
