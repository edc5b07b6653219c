// Keeps the page up to date. All links and forms also work without it.
"use strict";

const REGIONS = "[data-live]", END_PX = 44, RETRY_MS = 2000, SLOW_MS = 10_000, LONGEST_MS = 300;
const UNCONFIRMED = "Signoff cannot be reached: your click is not confirmed. Look whether it took effect before you try again. What you wrote stays here.";
let asked = null, sent = 0, taken = 0, pending = null, firstTold = 0, retry = null;

/** Update the page from the server's HTML; text that the person is typing stays. */
function take(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const regions = [...fresh.querySelectorAll(REGIONS)], known = new Set(regions.map(region => region.id));
  const wasAtEnd = isAtEnd();
  taken++;
  let isChangedThread = false;
  const newRows = [...fresh.querySelectorAll("#queue li")].filter(each => !document.getElementById(each.id));
  const headlines = newRows.map(each => each.dataset.headline), chosen = selectedCards();
  arrangeRuns(fresh);
  for (const region of regions) {
    const old = document.getElementById(region.id);
    if (old && signature(old) === region.outerHTML) continue;
    isChangedThread ||= !old || old.matches("#thread > *, #present");
    if (!fresh.getElementById("queue") && region.matches(".card:is(.open, .asks)") && !old?.matches(":is(.open, .asks)")) headlines.push(region.getAttribute("aria-label"));
    if (!old) { insert(region); announce(region); }
    else replace(old, region);
  }
  for (const region of document.querySelectorAll("#thread > " + REGIONS))
    if (!known.has(region.id)) leave(region);
  const box = document.getElementById("reply"), twin = fresh.getElementById("reply");
  if (box && twin) box.placeholder = twin.placeholder;
  callPerson(fresh, headlines);
  keepOpen();
  showLocalTimes();
  countSelected();
  noteFewerSelected(chosen);
  if (wasAtEnd && isChangedThread) showNewest();
  noteControls();
  turnToOnly();
}

const served = new WeakMap();
function signature(element) {
  if (!served.has(element)) served.set(element, element.outerHTML);
  return served.get(element);
}

function insert(region) {
  const place = placeOf(region);
  if (!place) return;
  served.set(region, region.outerHTML);
  if (place.matches("[data-list]")) place.append(region);
  else insertInOrder(place, region);
}

/** Whether the newest entry fills the middle of the screen, or the end of the thread is in view, or almost. */
function isAtEnd() {
  const end = document.getElementById("present")?.getBoundingClientRect().bottom, middle = innerHeight / 2;
  const newest = document.querySelector("#thread > :last-child")?.getBoundingClientRect();
  return (end > 0 && end <= innerHeight + END_PX) || (newest?.top <= middle && newest.bottom >= middle);
}

/** Scroll to the end of the thread, above the reply box; if all from `newest` on does not fit, to its beginning. */
function showNewest(newest = document.querySelector("#thread > :last-child")) {
  const present = document.getElementById("present");
  if (!present) return;
  const height = present.getBoundingClientRect().bottom - (newest || present).getBoundingClientRect().top;
  const box = document.querySelector("form.reply")?.offsetHeight || 0;
  noteScriptScroll();
  if (height + box <= innerHeight) present.scrollIntoView({ block: "nearest" });
  else newest.scrollIntoView({ block: "start" });
}

/** Scroll to what the person has just written, wherever they were. */
function showOwnReply() {
  noteScriptScroll();
  document.getElementById("present")?.scrollIntoView({ block: "end" });
}

/** Replace a region, unless it is a card with an open sheet: that may be typed in. */
function replace(old, region) {
  if (old.matches("article") && staysForItsSheet(old, region)) return;
  const active = document.activeElement, inside = old.contains(active) && active.id;
  const at = inside && [active.selectionStart, active.selectionEnd];
  const opened = new Set([...old.querySelectorAll("details[open]")].map(titleOf));
  served.set(region, region.outerHTML);
  keepSelection(old, region);
  for (const field of old.querySelectorAll("input[id]:not(.pick), textarea[id], select[id]")) {
    const twin = region.querySelector("#" + CSS.escape(field.id));
    if (!twin || !isChanged(field)) continue;
    if (field.type === "file") twin.files = field.files;
    else twin.value = field.value;
  }
  for (const detail of region.querySelectorAll("details")) if (opened.has(titleOf(detail))) detail.open = true;
  const isOpen = old.matches(":popover-open"), restoreReading = rememberReading(old);
  old.replaceWith(region);
  restoreReading(region);
  if (isOpen) region.showPopover();
  if (inside === region.id) comeBack(inside);
  else if (inside) focusAt(document.getElementById(inside), at);
  announce(region, old);
}

function titleOf(detail) { return detail.id || detail.querySelector("summary").textContent; }

/** Restore the focus and the selection. */
function focusAt(field, [start, end]) {
  field?.focus({ preventScroll: true });
  if (typeof start === "number") field?.setSelectionRange(start, end);
}

function isChanged(field) { return field.value !== (field.defaultValue ?? (field.querySelector("[selected]") || field[0]).value); }

function announce(region, old) {
  const review = !old?.querySelector(".review") && region.querySelector(".review");
  const said = review ? review.textContent : region.getAttribute("aria-label") || region.textContent;
  if (region.matches("article, .notice")) document.getElementById("news").textContent = said;
}

// An answer to a form has the form's address; what a reload shows is the page itself.
const home = document.querySelector("header[data-refresh]")?.dataset.refresh;
if (home && location.pathname !== new URL(home, location.href).pathname) history.replaceState(null, "", home);

/**
 * Fetch this page again, or where its answer took long a page with the same navigation; return when it is shown. Calls
 * during a fetch share one more fetch. A response from before a sent form is ignored.
 */
function refresh() {
  if (asked) asked.again = true;
  else {
    asked = { again: true };
    asked.done = fetchWhileAsked();
  }
  return asked.done;
}

async function fetchWhileAsked() {
  while (asked.again) {
    asked.again = false;
    await fetchPage();
  }
  asked = null;
}

async function fetchPage() {
  const before = sent;
  try {
    const address = document.querySelector("[data-refresh]")?.dataset.refresh || location.href;
    const answer = await fetch(address, { headers: { Accept: "text/html", ...BY_SCRIPT } });
    const text = await answer.text();
    if (before !== sent) asked.again = true;
    else if (answer.status === 503) { clearTimeout(retry); retry = setTimeout(refresh, RETRY_MS); checkServer(); }
    else if (answer.status === 404 && document.getElementById("present")) endThread();
    else if (answer.ok && document.querySelector("[data-reloads]")) location.reload();
    else if (answer.ok && document.querySelector(REGIONS)) take(text);
  } catch { /* the event stream reconnects and refreshes */ }
}

/** Fetch this page again after the changes of a moment, however many follow; one with drawings, which take many reads, after ten seconds. */
function refreshSoon() {
  const isSlow = document.querySelector("[data-slow]"), now = Date.now();
  if (!pending) firstTold = now;
  else if (isSlow || now - firstTold > LONGEST_MS) return;
  clearTimeout(pending);
  pending = setTimeout(() => { pending = null; refresh(); }, isSlow ? SLOW_MS : 30);
}

/** The agent of this page is gone: say so once, and take away what decides. What was written stays. */
function endThread() {
  if (!document.querySelector(".acts, .lease, form.reply button")) return;
  for (const each of document.querySelectorAll("#thread .acts, #present *, .lease, form.reply button, aside form")) each.remove();
  say("This agent was deleted. Nothing can be decided here any more.");
}

/** The focused button was removed: move the focus to its card, or beside a list of cards to the one that took its place. */
function comeBack(id) {
  const own = id && document.getElementById(id), card = own || (id && document.querySelector("[data-list] > article:last-of-type"));
  if (!card || document.activeElement !== document.body) return;
  if (!own) settleAgain(card);
  const title = card.closest(".run:not([open])")?.querySelector("summary");  // a card in it cannot have the focus
  if (!title) card.tabIndex = -1;
  (title || card).focus({ preventScroll: true });
}

function say(sentence) {
  const top = document.getElementById("alert"), place = document.querySelector(".pop:popover-open") || top;
  for (const each of [top, place]) each.querySelector(":scope > .alert")?.remove();
  if (!sentence) return;
  const line = document.createElement("p");
  line.className = "alert";
  line.setAttribute("role", "alert");
  line.textContent = sentence;
  place.prepend(line);
  line.scrollIntoView({ block: "nearest" });
}

// A budget that is typed replaces the old one.
document.addEventListener("focusin", event => { if (event.target.id === "limit") event.target.select(); });

const replyBox = document.querySelector("form.reply");
function measureBox() { document.documentElement.style.setProperty("--box", `${replyBox.offsetHeight}px`); }
if (replyBox) {
  measureBox();
  new ResizeObserver(measureBox).observe(replyBox);
}
document.querySelectorAll(REGIONS).forEach(signature);
showLocalTimes();
document.querySelector("main form.sheet [aria-invalid]:not(fieldset)")?.focus();
// A thread opens at the card that waits for a decision, also if notes or answers follow it.
if (!location.hash) showNewest([...document.querySelectorAll("#thread > article.open")].pop());
noteControls();
/** Listen to changes. The browser connects again after a lost connection, but not after an error's answer. */
function listen() {
  const stream = new EventSource("/events");
  stream.addEventListener("changed", refreshSoon);
  stream.addEventListener("beat", () => document.querySelector("[data-told]") ? showAges() : refresh());
  stream.addEventListener("open", refresh);
  stream.addEventListener("error", () => {
    checkServer();
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => { listen(); refresh(); }, RETRY_MS);
  });
}
listen();
checkServer();
