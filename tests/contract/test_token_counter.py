"""What every token counter keeps to: the estimate, and OpenAI's tokenizers from files on this machine."""

import asyncio
import base64
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
import tiktoken

from agent_core.capabilities.models.token_counters import (
    ENCODINGS,
    MAX_EXACT_CHARACTERS,
    CachedCounts,
    EncodingFile,
    EstimatedTokens,
    TiktokenCounters,
    build_encoding,
    estimate,
    missing,
    read_encoding,
)
from agent_core.ports.models import TokenCounter

LANGUAGES = {
    "English": "The agent asked before it deleted three old reports, and nobody in the channel objected to that.",
    "German": "Der Agent fragte nach, bevor er drei alte Geschwindigkeitsberichte löschte, und niemand widersprach.",
    "Vietnamese": "Tác nhân đã hỏi trước khi xóa ba báo cáo cũ, và không ai trong kênh phản đối điều đó.",
    "Russian": "Агент спросил разрешения, прежде чем удалить три старых отчёта, и никто не возразил.",
    "Greek": "Ο πράκτορας ρώτησε πριν διαγράψει τρεις παλιές αναφορές και κανείς δεν έφερε αντίρρηση.",
    "Hebrew": "הסוכן שאל לפני שמחק שלושה דוחות ישנים, ואף אחד בערוץ לא התנגד לכך.",
    "Arabic": "سأل الوكيل قبل أن يحذف ثلاثة تقارير قديمة، ولم يعترض أحد في القناة على ذلك.",
    "Hindi": "एजेंट ने तीन पुरानी रिपोर्टें हटाने से पहले पूछा, और चैनल में किसी ने आपत्ति नहीं की।",
    "Tamil": "மூன்று பழைய அறிக்கைகளை நீக்கும் முன் முகவர் கேட்டார், யாரும் எதிர்க்கவில்லை.",
    "Thai": "ตัวแทนถามก่อนที่จะลบรายงานเก่าสามฉบับ และไม่มีใครในช่องคัดค้าน",
    "Georgian": "აგენტმა სამი ძველი ანგარიშის წაშლამდე იკითხა და არავინ შეეწინააღმდეგა.",
    "Amharic": "ወኪሉ ሦስት የቆዩ ሪፖርቶችን ከመሰረዙ በፊት ጠየቀ፤ ማንም አልተቃወመም።",
    "Korean": "에이전트는 오래된 보고서 세 개를 지우기 전에 물었고 채널의 누구도 반대하지 않았다.",
    "Japanese": "エージェントは古い報告書を三件削除する前に確認し、誰も反対しなかった。",
    "Chinese": "代理在删除三份旧报告之前先征求了意见，频道里没有人反对。",
}
WRITINGS = {
    "faces": "Done ✅ 🎉🎉 — thanks 🙏🏽, the 👩‍👩‍👧‍👦 are happy 🇩🇪🇫🇷!",
    "mathematics": "∀ε>0 ∃δ>0: |x−x₀|<δ ⇒ |f(x)−f(x₀)|<ε, ∑ᵢ₌₁ⁿ i² = n(n+1)(2n+1)/6",
    "code": "async def stop(self, id: AgentId, *, by: Actor) -> Agent:\n    return (await self.get(id)).stop(by)\n",
    "a table": "| name | state | why |\n|---|---|---|\n| web | on | http://127.0.0.1:8700 |\n",
    "a log": "2026-01-05T09:00:30.123456+00:00 INFO agent_core.loop turn decided turn=01JH8Z6Q8XK3V5T9R2 fence=17",
    "hexadecimals": hashlib.sha256(b"a file").hexdigest() * 3,
    "base64": base64.b64encode(hashlib.sha512(b"a file").digest() * 3).decode(),
    "a box": "┌────────┬───┐\n│ name   │ 1 │\n└────────┴───┘\n",
    "names": "getUserByIDFromHTTPRequestXMLParser_snake_case_name__init__",
}
TRYING = {
    "one letter": "a",
    "blanks": " ",
    "line ends": "\n",
    "a script of its own": "\u3000\u0301",
    "lone surrogates": "\ud800",
    "zeros": "\0",
    "special tokens": "<|endoftext|><|im_start|>",
}


@pytest.fixture(scope="module")
def exact() -> TiktokenCounters:
    """Loaded once, as each encoding takes a third of a second."""
    counters = TiktokenCounters()

    async def prepare() -> None:
        for model in ("gpt-5.4-mini", "gpt-4", "qwen3:4b"):
            await counters.prepare(model)

    asyncio.run(prepare())
    return counters


@pytest.fixture(params=["estimate", "gpt-5.4-mini", "gpt-4", "qwen3:4b"])
def counter(request: pytest.FixtureRequest, exact: TiktokenCounters) -> TokenCounter:
    return EstimatedTokens() if request.param == "estimate" else exact.of(request.param)


@pytest.fixture
def held() -> Iterator[Event]:
    """Holds a file back until it is set."""
    event = Event()
    yield event
    event.set()


@pytest.mark.slow
def test_nothing_has_no_tokens_and_everything_else_has_some(counter: TokenCounter) -> None:
    assert counter.count("") == 0
    assert all(counter.count(text) > 0 for text in (*LANGUAGES.values(), *WRITINGS.values(), *TRYING.values()))


@pytest.mark.slow
@pytest.mark.parametrize("unit", TRYING.values(), ids=TRYING)
@pytest.mark.parametrize("length", [MAX_EXACT_CHARACTERS, 1_000_000])
def test_no_text_is_too_odd_or_too_long(counter: TokenCounter, unit: str, length: int) -> None:
    text = unit * (length // len(unit))
    assert 0 < counter.count(text) <= len(text.encode(errors="replace")) * 2


def test_the_estimate_says_that_it_is_one_and_is_seldom_below_a_tokenizer(exact: TiktokenCounters) -> None:
    assert not EstimatedTokens().is_exact
    new, old, estimate = exact.of("gpt-5.4-mini").count, exact.of("gpt-4").count, EstimatedTokens().count
    assert [name for name, text in (LANGUAGES | WRITINGS).items() if estimate(text) < new(text)] == []
    assert [name for name, text in (LANGUAGES | WRITINGS).items() if estimate(text) < old(text) * 0.85] == []


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("你好", 2), ("!?!?!?", 6), ("1234567", 3), ("\ud800", 1)]
)
def test_the_estimate_counts_bytes_or_signs(text: str, tokens: int) -> None:
    assert EstimatedTokens().count(text) == tokens


@pytest.mark.slow
def test_of_a_text_beyond_all_windows_every_byte_is_estimated() -> None:
    assert estimate("a " * 100_000 + "ü" * 10) == estimate("a " * 100_000) + 20


@pytest.mark.parametrize(
    ("text", "new", "old"),
    [
        ("tiktoken is great!", 6, 6),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 8, 9),
        ("<|endoftext|>", 7, 7),
        ("\ud83d\ude00\ud800", 2, 3),
    ],
)
def test_known_texts_have_their_known_counts(exact: TiktokenCounters, text: str, new: int, old: int) -> None:
    counts = [exact.of(model).count(text) for model in ("gpt-5.4-mini", "gpt-4", "qwen3:4b")]
    assert counts == [new, old, new]


@pytest.mark.parametrize(
    ("model", "is_exact"),
    [
        ("gpt-4o-2024-11-20", True),
        ("openai/gpt-4o", True),
        ("text-embedding-3-small", True),
        ("llama3.3", False),
    ],
)
async def test_a_count_is_exact_for_openais_own_models(exact: TiktokenCounters, model: str, is_exact: bool) -> None:
    await exact.prepare(model)
    assert exact.of(model).is_exact is is_exact


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODINGS)
def test_a_tokenizer_is_that_of_tiktoken_itself(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = ENCODINGS[name]
    content = read_encoding(ours, None) or b""
    tmp_path.joinpath(ours.file).write_bytes(content)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    own, theirs = build_encoding(ours, content), tiktoken.get_encoding(name)
    assert (ours.pattern, len(own._mergeable_ranks)) == (theirs._pat_str, 0)
    for text in (*LANGUAGES.values(), *WRITINGS.values()):
        assert own.encode_ordinary(text) == theirs.encode_ordinary(text)
    assert ours.file == hashlib.sha1(ours.url.encode()).hexdigest()


@pytest.mark.slow
async def test_until_the_tokenizer_is_there_the_estimate_counts_and_nobody_waits(held: Event) -> None:
    def read(encoding: EncodingFile) -> bytes | None:
        held.wait()
        return read_encoding(encoding, None)

    counters = TiktokenCounters(read=read)
    counter = counters.of("gpt-5.4-mini")
    before = (counter.is_exact, counter.count("antidisestablishmentarianism"))
    held.set()
    await counters.prepare("gpt-5.4-mini")
    assert before == (False, 10)
    assert (counter.is_exact, counter.count("antidisestablishmentarianism")) == (True, 6)


async def test_a_tokenizer_that_takes_too_long_is_not_waited_for(held: Event) -> None:
    counters = TiktokenCounters(seconds=0.01, read=lambda _: b"" if held.wait() else None)
    await counters.prepare("gpt-4")
    assert not counters.of("gpt-4").is_exact


async def test_each_encoding_is_read_once(exact: TiktokenCounters) -> None:
    read: list[str] = []

    def remember(encoding: EncodingFile) -> bytes | None:
        read.append(encoding.name)
        return None

    counters = TiktokenCounters(read=remember)
    for model in ("gpt-4o", "gpt-5", "gpt-4", "llama3.3", "gpt-4o"):
        await counters.prepare(model)
    assert read == ["o200k_base", "cl100k_base"]
    assert not counters.of("gpt-4o").is_exact


@pytest.mark.parametrize("content", [b"", b"no ranks"])
async def test_a_file_that_cannot_be_used_leaves_the_estimate(content: bytes) -> None:
    counters = TiktokenCounters(read=lambda _: content)
    await counters.prepare("gpt-4o")
    assert (counters.of("gpt-4o").is_exact, counters.of("gpt-4o").count("abcd")) == (False, 2)


@pytest.mark.slow
def test_a_file_with_another_content_than_it_should_have_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoding = ENCODINGS["cl100k_base"]
    tmp_path.joinpath(encoding.file).write_bytes(b"YQ== 0\n")
    right = read_encoding(encoding, tmp_path) or b""
    monkeypatch.setattr("agent_core.capabilities.models.token_counters.PACKAGE", "not_installed_here")
    assert missing(tmp_path) == ("o200k_base", "cl100k_base")
    tmp_path.joinpath(encoding.file).write_bytes(right)
    assert missing(tmp_path) == ("o200k_base",)
    assert missing(None) == ("o200k_base", "cl100k_base")


@pytest.mark.slow
def test_counts_are_kept_up_to_a_size() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    counts = CachedCounts(count, max_characters=1_000)
    given = [letter * 10 for letter in "abacdefghijab"]
    assert [counts.of(text) for text in given] == [10] * len(given)
    assert asked == [letter * 10 for letter in "abcdefghijb"]
    assert counts.of("c" * 126) == counts.of("c" * 126) == 126
    assert asked[-2:] == ["c" * 126] * 2


@pytest.mark.slow
def test_nothing_is_loaded_before_a_model_is_counted_for() -> None:
    code = "import sys, agent_core.capabilities.models.token_counters; print('tiktoken' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout == "False\n"
