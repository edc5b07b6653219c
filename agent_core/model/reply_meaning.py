"""What a reply to an open proposal means. Pure functions; in doubt a reply decides nothing.

Agreement, thanks and talk never reject, and never approve either: people approve with a button that carries the hash of
what they were shown.
"""

import re
import unicodedata
from typing import Literal, TypeAlias

from agent_core.model.note import is_question

ReplyMeaning: TypeAlias = Literal["feedback", "agreement", "question", "talk", "unclear", "forwarded"]
"""`feedback` rejects with the text as the reason; the others decide nothing.

`talk` is for somebody else. `forwarded` holds the words of somebody else, so reading it exposes the agent.
"""


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words that agree or thank, a line or two per language: en, de, fr, es, pt, it, nl, pl, ru, tr, ar.
AGREEING = _set_of(
    """
    yes yep yeah yup y ok okay okey kk sure fine good great nice perfect cool awesome excellent lovely amazing brilliant
    approve approved agree agreed lgtm proceed continue right correct thanks thank thx ty cheers absolutely definitely
    certainly wonderful fantastic superb neat sweet yay bravo confirmed confirm accepted accept granted permitted
    ja jo jawohl klar gerne gern gut super prima passt danke dankeschön einverstanden genehmigt stimmt perfekt toll
    oui ouais dac bien bon super parfait merci approuvé volontiers absolument
    sí si vale claro bueno bien perfecto gracias genial aprobado adelante dale
    sim claro bom boa ótimo perfeito obrigado obrigada aprovado beleza
    sì certo bene ottimo perfetto grazie approvato d'accordo
    prima goed oké akkoord bedankt dank mooi
    tak dobrze dobra jasne dzięki dziękuję świetnie super
    да ага хорошо ок окей ладно отлично супер спасибо согласен согласна конечно
    evet tamam olur güzel harika teşekkürler sağol onaylıyorum
    نعم تمام حسنا حسنًا موافق ممتاز شكرا شكرًا أجل
    """
)
# Words that may stand beside these without saying anything else.
FILLING = _set_of(
    """
    go ahead on it it's that this this's looks look sounds sound to me my you your so very much lot many a the of course
    is are all do please i i'm think job work well done ship run makes make sense for with now again here works really
    just then one and we let's us team everyone 1 may can carry
    das es ist sieht aus mir für mach mal weiter so sehr gemacht geht los bitte vielen dank alles
    c'est est ça va pour moi très d'accord fais le vas y allez beaucoup
    me va está todo muy a tudo per tutto bien is het ziet er uit in orde to jest это все очень çok ederim
    """
)
REFUSING = _set_of(
    "no nope not don't dont never wrong stop cancel nein nicht falsch non pas não nunca nee niet nie нет не hayır لا"
)
NO_OBJECTION = _set_of(
    """
    comment comments mal sure mind objection objections problem problems worries worry concerns concern issue issues
    doubt complaints bad stop need
    """
)
CONSENT = _set_of("yes yep ok okay approve approved agree agreed lgtm proceed continue confirmed thanks thank")
MAX_CONSENT_WORDS = 8
# What says that something is to be different: verbs that an instruction begins with, and words anywhere in it.
DIRECTING = _set_of(
    """
    use add change make write append read try put keep remove delete rename replace start begin list search check fix
    shorten say include mention move save call skip split translate summarise summarize ask leave take explain give show
    create update send open let test sort count set turn cut drop drink avoid answer work wait compare describe find get
    please rather instead first
    nutze verwende benutze nimm schreib schreibe lies lösche ändere füge mach bitte lieber erst
    utilise ajoute change écris lis supprime remplace mets fais plutôt usa añade cambia escribe lee borra pon haz
    """
)
DIFFERENT = _set_of(
    """
    instead wrong should shouldn't must mustn't needs need prefer rather missing incorrect mistake typo too without
    don't dont never better unless only falsch statt nicht lieber sollte muss fehlt zu faux
    plutôt pas trop manque debería falta errado errata sbagliato fout neen źle нужно неправильно надо yanlış خطأ
    """
)
DIRECTING_UNSPACED = re.compile("^(?:用|请|把|不|别|改|加|删|写|读|换)|ください|にして|ではなく|하세요|해 주세요|말고")
OPENERS = _set_of("first firstly instead please however also actually then next well but so because still sorry")
AGREEING_PHRASES = frozenset(
    (
        *("go ahead", "go on", "go for it", "do it", "do that", "please do", "that works", "works for me"),
        *("no problem", "ship it", "all good", "run it", "well done", "make it so", "mach das", "mach weiter"),
        *("los geht's", "ça marche", "ça va", "vas y", "allez y", "pas de problème", "de acuerdo", "está bien"),
        *("hazlo", "tudo bem", "pode ser", "va bene", "doe maar"),
    )
)
AGREEING_UNSPACED = re.compile(  # zh, ja, ko
    "(?:好的?|可以|执行|继续|通过|没有问题|没事|行|同意|批准|没问题|沒問題|谢谢|謝謝|太好了|不错|不錯|赞|はい|いいね|いいです|了解(?:です)?|お願いします"
    "|承認(?:します)?|ありがとう(?:ございます)?|大丈夫(?:です)?|네|예|좋아요?|좋습니다|감사합니다|고마워요?|승인(?:합니다)?|[了吧呢啊です!])+"
)
AGREEING_SIGNS = frozenset("👍👌✅✔🎉💯🙏❤🚀👏🙌😀😃😊🙂")
TO_SOMEBODY = re.compile(r"(?:^|\s)@\w")
CLOSING = ")]}\"'”’»!. "  # what may stand after a question mark
CALLED = re.compile(r"(?:(?:hey|hi|hello|hallo)\s+)?([^\W\d_]\w*)\s*[,:]\s", re.IGNORECASE)
MAX_UNCLEAR_LETTERS = 15
APOSTROPHES = str.maketrans("’ʼ", "''")


def meaning_of(text: str, *, to_somebody: bool = False, names_somebody: bool = False) -> ReplyMeaning:
    """What the author's own words mean.

    `to_somebody`: they begin with a mention of a person or a group; `names_somebody`: they hold one anywhere.
    """
    said = "".join(each for each in unicodedata.normalize("NFKC", text) if unicodedata.category(each) != "Cf").strip()
    if to_somebody or said.startswith("@"):
        return "talk"
    if is_question(said.rstrip(CLOSING)):
        return "question"
    words = _words(said)
    if not words:
        return "agreement" if AGREEING_SIGNS.intersection(said) else "unclear"
    if _agrees(words):
        return "agreement"
    names_somebody = names_somebody or TO_SOMEBODY.search(said) is not None
    return "unclear" if names_somebody or _is_unclear(words, said) else "feedback"


def _is_unclear(words: list[str], said: str) -> bool:
    """Whether the words may be something else than a reason to reject."""
    if words[0] in REFUSING:
        return any(word in NO_OBJECTION for word in words[1:4]) or (words[1:2] != [] and words[1] in AGREEING)
    if len(words) <= MAX_CONSENT_WORDS and not CONSENT.isdisjoint(words) and REFUSING.isdisjoint(words):
        return True
    if len(words) == 1 and len(words[0]) <= (2 if _is_unspaced(words[0]) else MAX_UNCLEAR_LETTERS):
        return True
    return words[0] in AGREEING or _calls_somebody(said) or FILLING.issuperset(words) or not _directs(words, said)


def _directs(words: list[str], said: str) -> bool:
    """Whether the text says that something is to be different."""
    start = next((word for word in words if word not in OPENERS), "")
    return start in DIRECTING or not DIFFERENT.isdisjoint(words) or DIRECTING_UNSPACED.search(said) is not None


def _calls_somebody(said: str) -> bool:
    """Whether the text begins with what may be a name: "Ben, have a look"."""
    called = CALLED.match(said)
    return bool(called and called[1][0].isupper() and called[1].casefold() not in OPENERS)


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.casefold().translate(APOSTROPHES))


def _agrees(words: list[str]) -> bool:
    if AGREEING_UNSPACED.fullmatch("".join(words)) or " ".join(words) in AGREEING_PHRASES:
        return True
    return not AGREEING.isdisjoint(words) and all(word in AGREEING or word in FILLING for word in words)


def _is_unspaced(word: str) -> bool:
    """Whether the word is of a script that does not separate words (Chinese, Japanese) or of Hangul."""
    return any(unicodedata.name(letter, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL")) for letter in word)
