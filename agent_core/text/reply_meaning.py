"""What a reply to an open proposal means, by word lists in many languages. It may reject; no words approve.

A reply rejects only if it refuses or says what is to be different; in doubt it decides nothing. People approve with a
button that carries the hash of what they were shown.
"""

import re
import unicodedata
from typing import Literal, TypeAlias

QUESTION_MARKS = ("?", "？", "؟", "⸮", "\u037e")  # the last is the Greek question mark


def is_question(text: str) -> bool:
    """Whether the text ends with a question mark of any script."""
    return text.rstrip().endswith(QUESTION_MARKS)


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
    certainly wonderful fantastic superb neat sweet yay bravo confirmed confirm accepted accept granted permitted works
    work nothing go ship
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
# A refusal is these alone, or one of the phrases, or it begins so.
REFUSING = _set_of(
    """
    no nope nah reject rejected stop never cancel nein non nee não nie нет стоп hayır asla jamais لا توقف
    取消 不行 不要 いいえ やめて 아니요
    """
)
PHRASES = frozenset(
    (
        *("no thanks", "no thank you", "nein danke", "non merci", "no gracias", "nee bedankt", "nie dziękuję"),
        *("not yet", "no way", "not now", "not like this", "not like that", "not this", "not that", "stop it"),
        *("stop that", "please don't", "don't", "do not", "nicht", "bitte nicht", "noch nicht", "не надо", "ещё нет"),
    )
)
BEGINNING = re.compile(
    r"(?:please )?(?:(?:call|name) (?:it|this|that|the|them) |\w+ (?:it|the|all|both)\b.* first$|(?:don't|dont|do not) "
    r"(?!worry|mind|see|know|care|think|bother|change|need|hesitate|wait|ask|forget|stop|let|reject|cancel|be|get|make|keep|delay|look|pass))"
)
# What says that something is to be different: a verb that an instruction begins with, or after "no," a word.
DIRECTING = _set_of(
    """
    use add change write append put remove rename replace shorten split translate summarise summarize make heed
    nutze verwende benutze nimm schreib schreibe ändere ersetze utilise ajoute remplace écris usa añade cambia escribe
    """
)
NO_OBJECTS = _set_of("in of to me us him her my your sure sense up way ahead forward whatever")  # "make sure"
GOING_ON = re.compile(r"\b(?:as (?:proposed|planned|shown|agreed|discussed)|(?:run|do|ship) it|go ahead)\b")
DIFFERENT = _set_of("instead wrong incorrect statt stattdessen plutôt")
NEGATION = _set_of(
    "nothing not isn't doesn't don't no never none sorry chat thread channel window"
)  # "nothing wrong", "wrong window, sorry"
DIRECTING_UNSPACED = re.compile("^(?:请)?(?:用|把|别|不要|改成|换成|加上|删掉)|にして(?!も|い)|ではなく|말고|하지 ?마")
OPENERS = _set_of("first firstly please however also actually then next well but so because still sorry bitte")
# A text of nothing but these says to go on: "make it so", "keep going", "that should do".
ONLY_ON = (
    _set_of(
        """
        a as in is like one way it this that them now then so on up going run running do be must should happen done
        es das
        """
    )
    | DIRECTING
    | AGREEING
    | OPENERS
) - {"heed"}
MAX_AGREEING_WORDS = 8
TO_SOMEBODY = re.compile(r"(?:^|\s)@\w")
REFUSED = re.compile(rf"\W*(?:{'|'.join(REFUSING)})\s*[,.;:!…—–]", re.IGNORECASE)
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
    if not words or words[0] in AGREEING or ONLY_ON.issuperset(words):
        return False
    line = " ".join(words)
    if line in PHRASES or REFUSING.issuperset(words):
        return True
    if refusal := REFUSED.match(said):  # "no" alone says no; what follows may be about something else
        is_wrong = not DIFFERENT.isdisjoint(words) and NEGATION.isdisjoint(words[1:])
        return words[0] == "reject" or is_wrong or _wants_another(words[1:], said[refusal.end() :])
    if is_agreement(said):
        return False
    if BEGINNING.match(line) or DIRECTING_UNSPACED.search(said):
        return True
    if GOING_ON.search(line):
        return False
    first, *others = [word for word in words if word not in OPENERS] or [""]
    return first in DIRECTING and bool(others) and others[0] not in NO_OBJECTS


def _calls_somebody(said: str) -> bool:
    """Whether the text begins with what may be a name: "Ben, have a look"."""
    called = CALLED.match(said)
    return bool(called and called[1][0].isupper() and not {called[1].casefold()} & (OPENERS | REFUSING))


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.casefold().translate(APOSTROPHES))
