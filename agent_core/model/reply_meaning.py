"""What a reply to an open proposal means. Pure functions; in doubt a reply decides nothing.

A reply rejects only if it refuses or says what is to be different. No words approve: people approve with a button that
carries the hash of what they were shown.
"""

import re
import unicodedata
from typing import Literal, TypeAlias

from agent_core.model.note import is_question

ReplyMeaning: TypeAlias = Literal["feedback", "question", "talk", "unclear", "forwarded"]
"""`feedback` rejects with the text as the reason; the others decide nothing.

`talk` is for somebody else. `forwarded` holds the words of somebody else, so reading it exposes the agent.
"""


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words that agree or thank, a line or two per language: en, de, fr, es, pt, it, nl, pl, ru, tr, ar, zh, ja, ko.
AGREEING = _set_of(
    """
    yes yep yeah yup y ok okay okey kk sure fine good great nice perfect cool awesome excellent lovely amazing brilliant
    approve approved agree agreed lgtm proceed continue right correct thanks thank thx ty cheers absolutely definitely
    certainly wonderful fantastic superb neat sweet yay bravo confirmed confirm accepted accept granted permitted better
    work works nothing go ship
    ja jo jawohl klar gerne gern gut super prima passt danke dankeschön einverstanden genehmigt stimmt stimme perfekt
    toll fortfahren
    oui ouais dac bien bon super parfait merci approuvé volontiers absolument
    sí si vale claro bueno bien perfecto gracias genial aprobado adelante dale
    sim claro bom boa ótimo perfeito obrigado obrigada aprovado beleza
    sì certo bene ottimo perfetto grazie approvato d'accordo
    prima goed oké akkoord bedankt dank mooi
    tak dobrze dobra jasne dzięki dziękuję świetnie super
    да ага хорошо ок окей ладно отлично супер спасибо согласен согласна конечно
    evet tamam olur güzel harika teşekkürler sağol onaylıyorum
    نعم تمام حسنا حسنًا موافق ممتاز شكرا شكرًا أجل
    好 好的 可以 行 はい いいね 네 예 좋아요
    """
)
REFUSING = _set_of(
    """
    no nope not don't dont never wrong stop cancel nein nicht falsch non pas não nunca nee niet nie нет не hayır لا
    """
)
# What turns a refusing word before it round: "no objections", "nicht schlecht", "pas de souci".
NO_OBJECTION = _set_of(
    """
    comment comments mind objection objections problem problems worries worry concerns concern issue issues doubt
    complaints worrying bad stop need wrong
    schlecht einwände problème souci mal problema objeciones probleem против плохо возражений
    """
)
# What says that something is to be different: a verb that an instruction begins with, or a word anywhere in it.
DIRECTING = _set_of(
    """
    use add change make write append read try put keep remove delete rename replace start begin list search check fix
    shorten say include mention move save call skip split translate summarise summarize ask leave take explain give show
    create update send open let test sort count set turn cut drop drink avoid answer wait compare describe find get
    nutze verwende benutze nimm schreib schreibe lies lösche ändere füge
    utilise ajoute change écris lis supprime remplace mets usa añade cambia escribe lee borra pon
    """
)
DIFFERENT = _set_of(
    """
    instead wrong should must shouldn't mustn't needs prefer rather missing incorrect mistake typo without don't dont
    never unless falsch statt lieber fehlt faux plutôt manque debería falta errado errata sbagliato fout źle нужно
    неправильно надо yanlış خطأ
    """
)
DIRECTING_UNSPACED = re.compile("^(?:请)?(?:用|把|不(?![错錯])|别|改|加(?!油)|删|写|读|换)|にして|ではなく|말고")
OPENERS = _set_of("first firstly please however also actually then next well but so because still sorry bitte")
# A text of nothing but these says to go on: "send it", "keep going", "that should do".
ONLY_ON = (
    _set_of("a it this that them now then so on up going run running do be must should happen done es das")
    | DIRECTING
    | AGREEING
    | OPENERS
)
MAX_AGREEING_WORDS = 8
TO_SOMEBODY = re.compile(r"(?:^|\s)@\w")
CLOSING = ")]}\"'”’»!. "  # what may stand after a question mark
CALLED = re.compile(r"(?:(?:hey|hi|hello|hallo)\s+)?([^\W\d_]\w*)\s*[,:]\s", re.IGNORECASE)
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
    if names_somebody or TO_SOMEBODY.search(said) or _calls_somebody(said):
        return "unclear"
    return "feedback" if _wants_another(_words(said), said) else "unclear"


def is_agreement(text: str) -> bool:
    """Whether a short text agrees or thanks, and refuses nothing."""
    words = _words(text)
    return len(words) <= MAX_AGREEING_WORDS and not AGREEING.isdisjoint(words) and REFUSING.isdisjoint(words)


def _wants_another(words: list[str], said: str) -> bool:
    """Whether the text refuses, or says that something is to be different."""
    if words and words[0] in REFUSING:
        return NO_OBJECTION.isdisjoint(words[1:4]) and AGREEING.isdisjoint(words[1:3])
    if not words or words[0] in AGREEING or ONLY_ON.issuperset(words):
        return False
    if next(word for word in words if word not in OPENERS) in DIRECTING:
        return True
    is_different = not DIFFERENT.isdisjoint(words) or DIRECTING_UNSPACED.search(said) is not None
    return is_different and not is_agreement(said)


def _calls_somebody(said: str) -> bool:
    """Whether the text begins with what may be a name: "Ben, have a look"."""
    called = CALLED.match(said)
    return bool(called and called[1][0].isupper() and not {called[1].casefold()} & (OPENERS | REFUSING))


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.casefold().translate(APOSTROPHES))
