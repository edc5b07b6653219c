"""What a reply to an open proposal means."""

import pytest

from agent_core.model.reply_meaning import meaning_of

pytestmark = pytest.mark.proves("reply:agrees")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "yes",
            "Ok, go ahead",
            "approve",
            "Looks good to me, thanks!",
            "nice",
            "LGTM",
            "I think it's good",
            "well done",
        ),
        *("sieht gut aus, danke", "c’est bon, merci", "sí, gracias", "ótimo, obrigado", "va bene", "akkoord, bedankt"),
        *(
            "tak, dziękuję",
            "да, спасибо",
            "evet, teşekkürler",
            "نعم شكرا",
            "好的，谢谢",
            "はい、お願いします",
            "네, 감사합니다",
        ),
        *(
            "👍",
            "✅ 🎉",
            "Ship it!",
            "do it",
            "confirmed, run that",
            "you may proceed with this",
            "可以执行",
            "没有问题，继续",
        ),
    ],
)
def test_agreement_and_thanks_in_many_languages(text: str) -> None:
    assert meaning_of(text) == "agreement"


@pytest.mark.parametrize(
    "text", ["@ben have a look", "＠Ben can you look", "\u200b@ben look", "@ben?", "@Ana and @Ben: what about this?"]
)
def test_a_line_to_somebody_else_is_talk(text: str) -> None:
    assert meaning_of(text) == "talk"


def test_a_line_that_begins_with_a_mention_is_talk_and_one_with_a_mention_in_it_is_unclear() -> None:
    assert meaning_of("have a look at this?", to_somebody=True) == "talk"
    assert meaning_of("use the figures of", names_somebody=True) == "unclear"


@pytest.mark.parametrize(
    "text",
    [
        *("ok but use the other file", "Yes, and add a line", "thanks Ben", "hmm", "wait", "later", "🤔", "go"),
        *("Ben, have a look", "hey Ben: this is odd", "嗯", "No objections", "no worries, go ahead", "carry on"),
        *("look at this @ben", "I agree with this plan"),
    ],
)
def test_what_may_be_something_else_than_a_reason_is_unclear(text: str) -> None:
    assert meaning_of(text) == "unclear"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "no",
            "No, use catgut",
            "Use catgut",
            "The title is wrong",
            "not yet",
            "don’t",
            "stop",
            "nein, die andere Datei",
        ),
        *(
            "First, read notes.md",
            "However, the title is wrong",
            "用另一个文件",
            "не надо",
            "Say hello to the world instead",
        ),
    ],
)
def test_feedback_is_a_reason_to_reject(text: str) -> None:
    assert meaning_of(text) == "feedback"


@pytest.mark.parametrize("text", ["Why this file?", "ok?", "is this safe?)", "why this file???!", "لماذا؟", "为什么？"])
def test_a_question_is_a_question(text: str) -> None:
    assert meaning_of(text) == "question"
