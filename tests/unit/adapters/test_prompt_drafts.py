"""How a prompt of a tool server is named, found by what people type, and told apart from others."""

import pytest

from adapters.typed.prompt_drafts import MAX_KEY, PromptChoice, find_choice, left_out_text
from adapters.typed.subcommands import NewPrompt, NewSentence, subcommand_of
from agent_core.errors import InvalidInput
from agent_core.ports.tool_servers import SourcePrompt

NAMES = ("plan", "plan a party", "茶", "tea\u200b", 'a "b"', "a.b", "x" * 200, "/etc:1|2", "@everyone", "-" * 79)
CHOICES = tuple(PromptChoice(f"server-{'s' * 23}", SourcePrompt(name=name)) for name in NAMES)


@pytest.mark.parametrize("choice", CHOICES, ids=lambda each: ascii(each.prompt.name)[:20])
def test_each_prompt_is_found_by_its_full_name_its_key_and_its_name(choice: PromptChoice) -> None:
    for typed in (choice.full_name, choice.key, choice.prompt.name):
        assert find_choice(CHOICES, typed) is choice


@pytest.mark.parametrize("choice", CHOICES, ids=lambda each: ascii(each.prompt.name)[:20])
def test_a_key_is_short_and_can_be_typed_as_one_word(choice: PromptChoice) -> None:
    assert len(choice.key) <= MAX_KEY
    assert subcommand_of(f"new prompt {choice.key}") == NewPrompt(choice.key)
    assert subcommand_of(f'new prompt "{choice.key}"') == NewPrompt(choice.key)
    assert len({each.key for each in CHOICES}) == len(CHOICES)


def test_a_sentence_about_prompts_is_a_sentence() -> None:
    assert subcommand_of("new prompt the team for news") == NewSentence("prompt the team for news")
    assert subcommand_of("new prompt") == NewPrompt("")
    assert subcommand_of('new prompt "tea.plan a party"') == NewPrompt("tea.plan a party")


def test_two_servers_with_one_name_are_told_apart() -> None:
    tea, coffee = (PromptChoice(name, SourcePrompt(name="plan a party")) for name in ("tea", "coffee"))
    with pytest.raises(InvalidInput) as asked:
        find_choice((tea, coffee), "plan a party")
    assert str(asked.value) == f"Several servers have a prompt plan a party: write {tea.key} or {coffee.key}."
    assert find_choice((tea, coffee), "coffee.plan a party") is coffee
    assert find_choice((tea, coffee), coffee.key) is coffee


def test_of_the_prompts_that_cannot_be_used_a_few_are_named_in_short() -> None:
    fault = "has a name of 300 characters, and 200 are the most"
    faulty = [PromptChoice("tea", SourcePrompt(name=f"{number}\u200b{'x' * 200}…", fault=fault)) for number in range(5)]
    said = left_out_text([*CHOICES, *faulty])
    assert said.count("has a name of 300 characters") == 3
    assert said.startswith("Left out: The prompt 0⟨U+200B⟩xxx")
    assert said.endswith("And 2 more.")
    assert len(said) < 500
    assert left_out_text(CHOICES) == ""
    with pytest.raises(InvalidInput, match="has a name of 300 characters"):
        find_choice([*CHOICES, *faulty], faulty[0].prompt.name)
