"""What a reply to an open proposal means."""

import pytest

from agent_core.text.reply_meaning import is_agreement, meaning_of

pytestmark = pytest.mark.proves("reply:agrees")


AGREEING = """
    yes / Ok, go ahead / approve / Looks good to me, thanks! / nice / LGTM / I think it's good
    sieht gut aus, danke / c’est bon, merci / sí, gracias / ótimo, obrigado / va bene / akkoord, bedankt
    tak, dziękuję / да, спасибо / evet, teşekkürler / نعم شكرا / 네, 감사합니다
    that should work / should be fine
    ich stimme zu / bitte fortfahren / looks good, nothing missing / ship it
    confirmed, run that / I agree with this plan
"""
IN_DOUBT = """
    much better! / sounds better / no changes needed / I don't see any problem / I don't mind / leave it as is
    create the file / es fehlt nichts / pas d'objection / no hace falta cambiar nada, sigue
    não mudaria nada / non manca niente
    niets fout / nie mam uwag / нет проблем / не возражаю / yanlış bir şey yok / لا مشكلة / 不用改，执行吧 / 写得很好
    このままにしていい / change nothing, it's fine / let us proceed / wrong window, sorry / wait for Ben
    let me check / let me check first
    I don't know / ben, don't touch my desk / call me / read this / send it to Ben only / nope, all good
    ok but use the other file / Yes, and add a line / thanks Ben / hmm / wait / later / 🤔 / go / 👍 / ✅ 🎉 / do it
    嗯 / Ben, have a look / hey Ben: this is odd / look at this @ben / carry on / No objections / no worries, go ahead
    nope, all good / stop worrying, it's fine / nothing wrong with that / not bad / nicht schlecht / pas de souci
    c'est pas mal / не против / keep going / that must be it / let it run / send it / create it now / save it please
    set it up / give it a go / please do / well done / this should do it
    好的，谢谢 / 可以执行 / 没有问题，继续 / 请继续 / 不错 / はい、お願いします
    続けてください / 계속 하세요
    don't stop / Don't reject this, I checked it / do not cancel it / Don't let me stop you / don't be late, Ana
    No, run it / Nope, all clear from my side / Stop, I take that back: run it / nein, die andere Datei
    This should run before lunch / Ben should see this when it is done / gina should decide / Safety first!
    someone from legal should look at this / one moment, I'll look at it first / must run, back at 5
    needs more coffee here / missing you all here / this must be the best one yet / This is rather clever
    keep in mind we deploy at 5 / Keep it exactly as it is / include Ben next time / say hi to Ben / make sure
    remove me from this channel / fix in progress on our side, carry on / typo in my last message / use
    Move ahead / Move forward with it / Don't make me wait / do not delay, run it / Add the line as proposed
    Please add it as shown / rename it as planned / Use whatever you think best / instead of talking, run it
    the printer shows the wrong time again / wrong room, ignore me / lunch at 1 instead / The title is wrong
    fix for 123 is deployed / move the stand-up to 10 / Set the table, I bring the cake / reject = true in the config
    It must say 36 / the total should be 36 / the price is missing
"""
REASONS = """
    Call it b.md / please heed this / don't run it / do not run it / No! No! / reject: the tone is off
    no, that is the wrong file / read the file first / please check it first
    no thanks / nein danke / reject / do not run this / 取消 / いいえ / 아니요 / لا
    no / No, use catgut / Use catgut / not yet / don’t / stop / stop it / no way / please don't
    Nein, bitte nicht / First, add notes.md
    用另一个文件 / 不要删
    не надо / Make it shorter / 别删
"""


def _each(texts: str) -> list[str]:
    return [text.strip() for line in texts.splitlines() for text in line.split(" / ") if text.strip()]


@pytest.mark.parametrize("text", _each(AGREEING))
def test_agreement_and_thanks_in_many_languages(text: str) -> None:
    assert is_agreement(text)
    assert meaning_of(text) == "unclear"


@pytest.mark.parametrize(
    "text", ["@ben have a look", "＠Ben can you look", "\u200b@ben look", "@ben?", "@Ana and @Ben: what about this?"]
)
def test_a_line_to_somebody_else_is_talk(text: str) -> None:
    assert meaning_of(text) == "talk"


def test_a_line_that_begins_with_a_mention_is_talk_and_one_with_a_mention_in_it_is_unclear() -> None:
    assert meaning_of("have a look at this?", to_somebody=True) == "talk"
    assert meaning_of("use the figures of", names_somebody=True) == "unclear"


@pytest.mark.parametrize("text", _each(IN_DOUBT))
def test_what_may_be_something_else_than_a_reason_is_unclear(text: str) -> None:
    assert meaning_of(text) == "unclear"


@pytest.mark.parametrize("text", _each(REASONS))
def test_feedback_is_a_reason_to_reject(text: str) -> None:
    assert meaning_of(text) == "feedback"


@pytest.mark.parametrize("text", ["Why this file?", "ok?", "is this safe?)", "why this file???!", "لماذا؟", "为什么？"])
def test_a_question_is_a_question(text: str) -> None:
    assert meaning_of(text) == "question"
