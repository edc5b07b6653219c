"""Workspaces that let Signoff in, on every database."""

from dataclasses import replace
from datetime import UTC

import pytest

from agent_core.errors import Conflict
from agent_core.model.origin import Installation, SurfaceName
from agent_core.ports.database import Database
from agent_core.testing.examples import NOON

ACME = Installation(surface="slack", workspace="T1", name="Acme", sealed="first", installed_at=NOON)
STRANGE = "'Ümläut' \\0000 \x00 \ud800 🦆"


async def put(database: Database, *installations: Installation, replacing: str | None = None) -> None:
    async with database.begin() as work:
        for installation in installations:
            work.installations.put(installation, replacing=replacing)
        await work.commit()


async def kept(database: Database, workspace: str = "T1", surface: SurfaceName = "slack") -> Installation | None:
    async with database.begin() as work:
        return await work.installations.get(surface, workspace)


async def test_an_installation_comes_back_as_it_was(database: Database) -> None:
    strange = replace(ACME, workspace="T_%/x", name=STRANGE)
    await put(database, ACME, strange)
    found = await kept(database)
    assert found == ACME
    assert found.installed_at.tzinfo == UTC
    assert await kept(database, "T_%/x") == strange


async def test_a_workspace_without_one_has_none(database: Database) -> None:
    await put(database, ACME)
    assert await kept(database, "T2") is None
    assert await kept(database, surface="discord") is None


async def test_the_installations_of_a_surface_come_by_workspace(database: Database) -> None:
    other = replace(ACME, workspace="T2")
    await put(database, other, ACME, replace(ACME, surface="discord"))
    async with database.begin() as work:
        assert await work.installations.of("slack") == (ACME, other)
        assert await work.installations.of("web") == ()


async def test_the_last_to_put_one_is_kept(database: Database) -> None:
    async with database.begin() as first, database.begin() as second:
        first.installations.put(replace(ACME, name="first"))
        second.installations.put(replace(ACME, name="not this"))
        second.installations.put(replace(ACME, name="second"))
        await first.commit()
        await second.commit()
    assert await kept(database) == replace(ACME, name="second")


async def test_one_sealed_as_expected_is_replaced(database: Database) -> None:
    await put(database, ACME, replace(ACME, workspace="T2"))
    await put(database, replace(ACME, sealed="second"), replacing="first")
    assert await kept(database) == replace(ACME, sealed="second")
    assert await kept(database, "T2") == replace(ACME, workspace="T2")


async def test_the_second_of_two_overlapping_replacements_conflicts(database: Database) -> None:
    await put(database, ACME)
    async with database.begin() as first, database.begin() as second:
        first.installations.put(replace(ACME, sealed="winner"), replacing="first")
        second.installations.put(replace(ACME, sealed="loser"), replacing="first")
        await first.commit()
        with pytest.raises(Conflict):
            await second.commit()
    assert await kept(database) == replace(ACME, sealed="winner")


async def test_one_that_was_removed_is_not_brought_back_by_a_replacement(database: Database) -> None:
    await put(database, ACME)
    async with database.begin() as work:
        work.installations.remove("slack", "T1")
        await work.commit()
    with pytest.raises(Conflict):
        await put(database, replace(ACME, sealed="late"), replacing="first")
    assert await kept(database) is None


async def test_only_the_workspace_named_is_removed(database: Database) -> None:
    others = (replace(ACME, workspace="T2"), replace(ACME, surface="discord"))
    await put(database, ACME, *others)
    async with database.begin() as work:
        work.installations.remove("slack", "T1")
        work.installations.remove("slack", "never there")
        await work.commit()
    async with database.begin() as work:
        assert (*await work.installations.of("slack"), *await work.installations.of("discord")) == others


@pytest.mark.parametrize("is_put_last", [True, False])
async def test_the_last_change_of_a_unit_counts(database: Database, is_put_last: bool) -> None:
    async with database.begin() as work:
        for is_put in (not is_put_last, is_put_last):
            if is_put:
                work.installations.put(ACME)
            else:
                work.installations.remove("slack", "T1")
        await work.commit()
    assert await kept(database) == (ACME if is_put_last else None)


async def test_what_is_put_is_not_seen_before_the_commit(database: Database) -> None:
    async with database.begin() as work:
        work.installations.put(ACME)
        assert await work.installations.get("slack", "T1") is None
        assert await work.installations.of("slack") == ()
    assert await kept(database) is None


def test_what_is_sealed_is_not_printed() -> None:
    assert "first" not in repr(ACME)
