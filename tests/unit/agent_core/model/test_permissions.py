"""What a standing rule covers: no more than its words say, and nothing that can be read in two ways."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent_core.model.command import CommandCall
from agent_core.model.permissions import (
    Condition,
    Kind,
    StandingRule,
    is_closed_while_exposed,
    parse_rules,
    rule_problem,
    serialise_rules,
)
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent

RULE = StandingRule(id="0123456789abcdef", effect="allow", command="read_file", by=ANA, at=NOON, risks=("read",))


@pytest.mark.proves("rules:never-wider")
@pytest.mark.parametrize(
    ("kind", "value", "covered", "other"),
    [
        ("is", "a.md", ["a.md"], ["A.md", "a.md ", "./a.md", "b.md", "", 1, None]),
        ("begins", "how to ", ["how to fry"], ["How to fry", "what"]),
        ("in", "docs/**", ["docs/a.md", "docs/x/y.md"], ["docs", "docs/../secret", "/docs/a", "./docs/a", "docsx/a"]),
        ("in", "docs/*.md", ["docs/a.md"], ["docs/x/a.md", "docs/a.txt", "docs/a.md/../../b.md", "docs\\a.md"]),
        ("in", "**/*.md", ["a.md", "x/y/a.md"], ["a.txt", "../a.md", "~/a.md/b"]),
        (
            "on",
            "example.org",
            [
                "https://example.org/a?b#c",
                "http://www.example.org:8080",
                "HTTPS://EXAMPLE.ORG./",
                "https://example.org",
            ],
            [
                "https://example.org.evil.com/",
                "https://evilexample.org/",
                "https://example.org@evil.com/",
                "https://example.org:80@evil.com/",
                "https://evil.com\\@example.org/",
                "https://evil.com/https://example.org",
                "https://example.org\t.evil.com",
                "ftp://example.org/",
                "//example.org/",
                " https://example.org/",
                "https://example.org/\n",
                "https://еxample.org/",
            ],
        ),
        (
            "runs",
            "git status",
            ["git status", "git status -s", "git status docs/a.md"],
            [
                "git statusx",
                "git  status",
                "git status; rm -rf .",
                "git status && rm a",
                "git status\nrm a",
                "git status $(rm a)",
                "git status `rm a`",
                "git status > a",
                "git status | sh",
                "git status *",
                "git 'status'",
                "PATH=. git status",
                "sudo git status",
                " git status",
            ],
        ),
    ],
)
def test_a_condition_fits_what_it_says_and_nothing_else(
    kind: Kind, value: str, covered: list[object], other: list[object]
) -> None:
    condition = Condition("argument", kind, value)
    assert [given for given in covered if not condition.fits({"argument": given})] == []
    assert [given for given in other if condition.fits({"argument": given}) is True] == []
    assert not condition.fits({"another": value})


@pytest.mark.proves("rules:never")
@pytest.mark.parametrize(
    ("kind", "value", "denied", "allowed"),
    [
        (
            "in",
            "secrets/**",
            ["secrets/a", "secrets//a", "./secrets/a", "secrets/./a", "x/../secrets/a", "/secrets/a"],
            ["a"],
        ),
        ("is", "key", ["key", "./key", ".//key"], ["key2", "x/key"]),
        (
            "on",
            "evil.com",
            ["https://evil.com/", " https://evil.com", "https://evil.com/a b", "https://ｅvil.com"],
            ["https://a.org"],
        ),
        (
            "runs",
            "git push",
            [
                "git push",
                "git  push",
                "true; git push",
                "'git' push",
                "g\\it push > a",
                "/usr/bin/git push",
                "env git push",
            ],
            ["git status", "ls | wc", "ls *.txt"],
        ),
        (
            "runs",
            "rm",
            ["/bin/rm -rf a", "busybox rm a", "X=1 rm a", "r\\\nm a", "r$@m a", "r``m a", "/bin/r? a"],
            ["ls *", "echo $HOME"],
        ),
    ],
)
def test_a_rule_that_denies_holds_for_what_may_be_meant(
    kind: Kind, value: str, denied: list[str], allowed: list[str]
) -> None:
    condition = Condition("argument", kind, value)
    assert [given for given in denied if condition.fits({"argument": given}) is False] == []
    assert [given for given in allowed if condition.fits({"argument": given}) is not False] == []


@pytest.mark.proves("rules:never")
@pytest.mark.parametrize("spelling", [
    "https://EVIL.example/x", "https://evil.example:443/x", "https://u@evil.example/x", "https://evil.example./x",
    "https://evil.example/./x", "https://evil.example/%78", "https://evil.example/x#a", " https://evil.example/x",
])  # fmt: skip
def test_an_address_that_is_denied_is_denied_in_every_spelling(spelling: str) -> None:
    condition = Condition("url", "is", "https://evil.example/x")
    assert condition.fits({"url": spelling}) is None
    assert condition.fits({"url": "https://evil.example/y"}) is False


def test_a_path_of_very_many_folders_is_not_matched() -> None:
    assert Condition("argument", "in", "**/a/**/b.txt").fits({"argument": "a/" * 3_000}) is None


def test_an_argument_that_the_words_do_not_name_is_not_covered() -> None:
    turn = a_turn(an_agent(), risks=("read",))
    call = CommandCall("read_file", {"path": "docs/a.md", "share_with": "eve"})
    turn = replace(turn, proposal=replace(turn.proposal, call=call))
    rule = replace(RULE, conditions=(Condition("path", "in", "docs/**"),), others=("start",))
    assert not rule.applies(turn, NOON)
    assert replace(rule, effect="never").applies(turn, NOON)


def test_words_show_what_cannot_be_seen() -> None:
    rule = replace(RULE, conditions=(Condition("path", "is", " a\n\u202eb"),))
    assert '"path" is' not in rule.words
    assert 'path is " a\\n\\u202eb"' in rule.words


def test_a_number_is_not_the_text_that_is_written_alike() -> None:
    assert Condition("n", "is", "1").fits({"n": 1})
    assert not Condition("n", "is", "1").fits({"n": True})
    assert not Condition("n", "is", "null").fits({"n": None})


@pytest.mark.parametrize(
    "changes",
    [
        {"command": "write_file"},
        {"agent_id": "agent-bob"},
        {"until": NOON},
        {"risks": ("read", "network")},
        {"source": "toy 2"},
        {"conditions": (Condition("path", "in", "other/**"),)},
    ],
)
def test_a_rule_applies_to_its_command_agent_time_classes_and_source_alone(changes: dict[str, object]) -> None:
    agent = an_agent()
    turn = a_turn(agent, risks=("read",))
    turn = replace(turn, proposal=replace(turn.proposal, call=CommandCall("read_file", {"path": "docs/a.md"})))
    rule = replace(RULE, conditions=(Condition("path", "in", "docs/**"),), until=NOON + timedelta(days=1))
    assert rule.applies(turn, NOON)
    if "risks" in changes or "source" in changes:
        assert not rule.applies(replace(turn, **changes), NOON)  # type: ignore[arg-type]
    else:
        assert not replace(rule, **changes).applies(turn, NOON)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"conditions": (Condition("paht", "is", "a"),)},
            "no argument paht. Its arguments: path and start",
        ),
        (
            {"conditions": (Condition("path", "in", "../**"),)},
            "cover nothing or everything, or could be read in two ways",
        ),
        ({"conditions": (Condition("path", "on", "*.org"),)}, "read in two ways"),
        ({"conditions": (Condition("path", "runs", "sh -c $x"),)}, "read in two ways"),
        ({"risks": ("write",)}, "needs a condition: with any arguments it would allow everything"),
        ({"conditions": (Condition("path", "in", "**/" * 3 + "a"),)}, "read in two ways"),
        ({"conditions": (Condition("path", "in", "a\nb"),)}, "read in two ways"),
        ({"conditions": (Condition("url", "begins", "https://a.org"),)}, "no argument url"),
        ({"conditions": (Condition("path", "on", "0.1"),)}, "read in two ways"),
        ({"conditions": (Condition("path", "is", "a"),) * 11}, "at most 10 conditions"),
        ({"effect": "never", "left": 1}, "has no number"),
        ({"left": 0}, "from 1 to 1,000"),
        ({"until": NOON}, "That time is past"),
    ],
)
def test_a_rule_that_covers_nothing_or_everything_cannot_be_made(changes: dict[str, object], said: str) -> None:
    assert said in rule_problem(replace(RULE, **changes), ["path", "start"])  # type: ignore[arg-type]
    assert rule_problem(RULE, ["path", "start"]) == ""


def test_rules_are_stored_and_read_again() -> None:
    rule = replace(RULE, conditions=(Condition("path", "in", "docs/**"),), until=NOON, left=3, agent_name="Ada")
    assert parse_rules(serialise_rules([rule])) == (rule,)
    assert "Always allow read_file with path in docs/** for all agents here until 14 March 2026" in rule.words
    text = serialise_rules([rule])
    for newer in ("[{}]", "1", "null", text.replace('"in"', '"near"'), text.replace('"allow"', '"maybe"')):
        with pytest.raises(ValueError, match="rule"):
            parse_rules(newer)


def test_network_writes_and_programs_are_closed_after_untrusted_content() -> None:
    agent = an_agent()
    closed = [("execute",), ("publish",), ("network", "write")]
    assert all(is_closed_while_exposed(a_turn(agent, risks=risks)) for risks in closed)
    assert not any(is_closed_while_exposed(a_turn(agent, risks=risks)) for risks in [("network",), ("write",)])
