"""Which writes PostgreSQL gets as one statement, and which one after another."""

from sqlalchemy import bindparam, delete, insert, select, text, update

from agent_core.persistence.joined_writes import MAX_JOINED, join_writes, split_into_steps
from agent_core.persistence.tables import agents, audit, deliveries, preferences
from agent_core.persistence.writes import DecidedWrite, Write

SAVE = update(agents).where(agents.c.id == bindparam("the_id"), agents.c.revision == bindparam("read"))
CLAIM, FORGET = insert(deliveries), delete(deliveries).where(deliveries.c.at < bindparam("before"))
SPEND = text(
    "INSERT INTO budgets (channel, spent, estimated) VALUES (:channel, :cost, 0) ON CONFLICT (channel) DO UPDATE"
    " SET spent = budgets.spent + excluded.spent"
)


def save(agent_id: str) -> Write:
    return Write(SAVE, {"the_id": agent_id, "read": 1, "fence": 2}, checked=True)


def claim(delivery: str) -> Write:
    return Write(CLAIM, {"id": delivery})


def sizes(*writes: Write | DecidedWrite) -> list[int]:
    """How many writes each step has; 0 for one that reads before."""
    return [0 if isinstance(step, DecidedWrite) else len(step) for step in split_into_steps(writes)]


def test_writes_to_different_rows_are_one_step() -> None:
    remove = Write(delete(preferences).where(preferences.c.channel == bindparam("of_channel")), {"of_channel": "a"})
    spend = Write(SPEND, {"channel": "a", "cost": 1})
    assert sizes(save("a"), save("b"), claim("a"), remove, spend) == [5]


def test_a_second_write_to_a_row_is_a_step_of_its_own() -> None:
    spend = Write(SPEND, {"channel": "a", "cost": 1})
    assert sizes(save("a"), claim("a"), save("a"), claim("b")) == [2, 2]
    assert sizes(spend, Write(SPEND, {"channel": "b", "cost": 1}), spend) == [2, 1]


def test_a_write_to_unknown_rows_is_joined_with_none_of_its_table() -> None:
    forget = Write(FORGET, {"before": None})
    assert sizes(claim("a"), forget, save("a")) == [1, 2]
    assert sizes(forget, claim("a")) == [1, 1]


def test_what_reads_cascades_or_has_many_rows_runs_alone() -> None:
    count = select(audit.c.id).scalar_subquery()
    reads = Write(update(preferences).values(text=count), {})
    copies = Write(text("INSERT INTO budgets (channel, spent) SELECT id, 0 FROM agents"), {})
    cascades = Write(delete(agents).where(agents.c.id == bindparam("the_id")), {"the_id": "a"})
    many = Write(CLAIM, [{"id": "b"}, {"id": "c"}])
    for alone in (reads, copies, cascades, many):
        assert sizes(save("x"), claim("a"), alone, save("y"), claim("z")) == [2, 1, 2]


def test_what_is_decided_within_the_transaction_runs_alone() -> None:
    decided = DecidedWrite(lock=select(), query=select(), values={}, decide=lambda _rows: save("a"))
    assert sizes(save("a"), decided, save("b"), claim("b")) == [1, 0, 2]


def test_a_step_has_a_limit() -> None:
    assert sizes(*(claim(str(number)) for number in range(MAX_JOINED + 1))) == [MAX_JOINED, 1]


def test_joined_statements_number_their_arguments_one_after_another() -> None:
    sql, arguments = join_writes([claim("d"), save("a")])
    assert sql == (
        "WITH change_0 AS (INSERT INTO deliveries (id) VALUES ($1::VARCHAR) RETURNING 1),"
        " change_1 AS (UPDATE agents SET fence=$2::INTEGER WHERE agents.id = $3::VARCHAR"
        " AND agents.revision = $4::INTEGER RETURNING 1)"
        " SELECT EXISTS (TABLE change_0), CAST(CASE WHEN EXISTS (TABLE change_1) THEN '1'"
        " ELSE 'A record was saved elsewhere since it was read.' END AS int)"
    )
    assert arguments == ["d", 2, "a", 1]
