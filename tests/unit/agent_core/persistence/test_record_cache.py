"""A cache keeps what is used."""

from agent_core.persistence.record_cache import RecordCache


def test_what_was_not_used_for_longest_is_dropped() -> None:
    cache = RecordCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    cache.put("a", 4)
    assert (cache.get("a"), len(cache)) == (4, 2)
