// Keeps the page up to date: htmx fetches it and sends its forms, Idiomorph draws what changed. Links and forms also work without it.
"use strict";

const SWAP = "morph:innerHTML show:none", RETRY_MS = 2000, SLOW_MS = 10_000, LONGEST_MS = 300, END_PX = 44;
const OWN = "#news, #hint, #sending, #drop";  // what scripts write
let shown = 0, answered = 0, isAnswer = false;  // pages drawn, forms answered, and whether what is drawn now is such an answer

/** Whether the person changed a field since the server drew it. */
function isChanged(field) {
  if (field.matches("[type=checkbox], [type=radio]")) return field.checked !== field.defaultChecked;
  if (field.matches("select")) return field.value !== (field.querySelector("[selected]") ?? field[0])?.value;
  return field.value !== field.defaultValue;
}

/** Whether a person wrote something in an open sheet. */
function isWritten(sheet) {
  return [...sheet.querySelectorAll("input:not([type=hidden]), textarea, select")].some(isChanged);
}

/** Whether to draw an element again. Not: what scripts write, an open sheet, an answer when no form was sent, a form of a page that is not live. */
function beforeNodeMorphed(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) return true;
  if (old.matches(OWN) || (!isAnswer && old.matches("#told, #alert"))) return false;
  if (!isAnswer && old.matches("main:not(:has([data-live])), form:has([aria-invalid=true])")) return false;
  if (old.matches("time:not(.ago)") && old.dateTime === fresh.dateTime) return false;
  if (old.matches("button:not([id])") && nameOf(old) !== nameOf(fresh)) leaveButton(old);
  return !(old.matches("article .pop:popover-open") || busy.has(old));
}

function nameOf(button) { return `${button.value} ${button.dataset.label ?? button.textContent}`; }

/** A button becomes another one, which has not the focus. */
function leaveButton(button) {
  if (busy.has(button)) release(button);
  if (button === document.activeElement) button.blur();
}

/** Whether an element may leave the page. A sheet in which somebody writes stays, and says what became of its card. */
function beforeNodeRemoved(old) {
  if (old.id === "outage") return false;
  const sheet = old.nodeType === Node.ELEMENT_NODE && (old.matches("article .pop:popover-open") ? old : old.querySelector("article .pop:popover-open"));
  if (!sheet || !isWritten(sheet)) return true;
  const state = sheet === old && old.closest("article").ariaLabel.split(", ").slice(1).join(", ");
  tellInSheet(sheet, state ? `Meanwhile: ${state}. What you wrote stays here.` : "Meanwhile this was decided. What you wrote stays here.");
  return false;
}

/** Whether the server's page sets an attribute: not where a person opened, wrote or chose something, or a script switched it. */
function beforeAttributeUpdated(name, element, kind) {
  if (name === "aria-disabled" || (name === "tabindex" && kind === "remove")) return false;
  if (name === "open" && element.matches("details")) return !element.firstChild;
  if (name === "value" && element.matches(".pick")) element.checked = false;  // it selects what the card showed then
  else if (["value", "checked"].includes(name) && element.matches("input, textarea")) return !isChanged(element);
  return !(name === "selected" && isChanged(element.closest("select")));
}
Object.assign(Idiomorph.defaults.callbacks, { beforeNodeMorphed, beforeNodeRemoved, beforeAttributeUpdated });

function tellInSheet(sheet, sentence) {
  if (sheet.querySelector(".alert")) return;
  sheet.prepend(alertOf(sentence));
  for (const button of sheet.querySelectorAll("button[name=button]")) button.disabled = true;
  sheet.addEventListener("toggle", event => { if (event.newState === "closed") refresh(); }, { once: true });
}

function alertOf(sentence) {
  return Object.assign(document.createElement("p"), { className: "alert", role: "alert", textContent: sentence });
}

/** Show a sentence at the top or in the open sheet; "" takes it away. */
function say(sentence) {
  const top = document.getElementById("alert"), place = document.querySelector(".pop:popover-open") ?? top;
  for (const each of [top, place]) each.querySelector(":scope > .alert")?.remove();
  if (!sentence) return;
  place.prepend(alertOf(sentence));
  place.firstChild.scrollIntoView({ block: "nearest" });
}

let asked = null, isAskedAgain = false, retry = null;
/** Fetch this page again; calls during a fetch share one more. */
function refresh() {
  if (asked) isAskedAgain = true;
  else asked = fetchPage();
  return asked;
}

async function fetchPage() {
  do {
    isAskedAgain = false;
    const home = document.querySelector("[data-refresh]")?.dataset.refresh ?? location.pathname + location.search;
    await htmx.ajax("GET", home, { target: "#page", swap: SWAP }).catch(() => {});  // the event stream connects again and refreshes
  } while (isAskedAgain);
  asked = null;
}

let pending = null, firstTold = 0;
/** Fetch this page again after the changes of a moment, however many follow; one with drawings, which take many reads, after ten seconds. */
function refreshSoon() {
  const isSlow = document.querySelector("[data-slow]"), now = Date.now();
  if (!pending) firstTold = now;
  else if (isSlow || now - firstTold > LONGEST_MS) return;
  clearTimeout(pending);
  pending = setTimeout(() => { pending = null; refresh(); }, isSlow ? SLOW_MS : 30);
}

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

/** What to compare with the page after the next update. */
function beforeUpdate() {
  const active = document.activeElement, card = active.closest("article, aside, .run");
  return {
    places: placesOfControls(), waiting: waitingNow(), labels: labelsNow(), selected: selectedCards(), meant: askingCard()?.id,
    focus: active === document.body ? "" : card?.id || active.id, isAtEnd: isAtEnd(), thread: threadText(),
  };
}

/** Finish what was drawn, and say what changed. */
function afterUpdate(was, { elt, form, card }) {
  shown++;
  isAnswer = false;
  finishDrawing();
  callPerson(was.waiting);
  announce(was.labels);
  noteFewerSelected(was.selected);
  noteLoss(was.meant);
  if (elt.matches("#queue a, a.back")) goTo(openCard()?.checkVisibility() ? openCard() : currentRow());
  else comeBack(card || was.focus, card && document.getElementById("queue"));
  if (form?.matches(".reply") && !document.querySelector("#told > *")) present().scrollIntoView({ block: "end" });
  else if (was.isAtEnd && was.thread !== threadText()) showNewest();
  noteMoved(was.places);
}

/** What scripts add to the server's page. */
function finishDrawing() {
  const modes = document.getElementById("reply-modes");
  if (modes && !modes.querySelector(":checked")) modes.querySelector("[checked]").checked = true;
  showLocalTimes();
  keepFoldsOpen();
  countSelected();
  watchCards();
  noteAppeared();
}

const present = () => document.getElementById("present");
const openCard = () => document.querySelector("#thread > article:last-of-type");
function threadText() { return document.getElementById("thread")?.textContent + present()?.textContent; }

/** Whether the newest entry fills the middle of the screen, or the end of the thread is in view, or almost. */
function isAtEnd() {
  const end = present()?.getBoundingClientRect().bottom, middle = innerHeight / 2;
  const newest = document.querySelector("#thread > :last-child")?.getBoundingClientRect();
  return (end > 0 && end <= innerHeight + END_PX) || (newest?.top <= middle && newest.bottom >= middle);
}

/** Scroll to the end of the thread, above the reply box; if all from `newest` on does not fit, to its beginning. */
function showNewest(newest = document.querySelector("#thread > :last-child")) {
  if (!present()) return;
  const height = present().getBoundingClientRect().bottom - (newest ?? present()).getBoundingClientRect().top;
  const box = document.querySelector("form.reply")?.offsetHeight ?? 0;
  if (height + box <= innerHeight) present().scrollIntoView({ block: "nearest" });
  else newest.scrollIntoView({ block: "start" });
}

/** What had the focus is gone: focus its card, the entry that took it in, or in the list the card that took its place. */
function comeBack(id, isInList) {
  const place = (id && document.getElementById(id)) || (isInList && openCard());
  if (!place || document.activeElement !== document.body) return;
  const title = place.closest(".run:not([open])")?.querySelector("summary");  // a card in it cannot have the focus
  if (!title) place.tabIndex = -1;
  (title ?? place).focus({ preventScroll: true });
}

/** What is announced of each entry of the thread. */
function labelsNow() {
  const said = each => `${each.ariaLabel ?? each.textContent} ${each.querySelector(".review")?.textContent ?? ""}`;
  return new Map([...document.querySelectorAll("article, .notice")].map(each => [each.id, said(each)]));
}

function announce(labels) {
  const changed = [...labelsNow()].filter(([id, said]) => labels.get(id) !== said).pop();
  if (changed) document.getElementById("news").textContent = changed[1];
}

/** The agent of this page is gone: say so once, and take away what decides. What was written stays. */
function endThread() {
  if (!document.querySelector(".acts, .lease, form.reply button")) return;
  for (const each of document.querySelectorAll("#thread .acts, #top .acts, #present *, .lease, form.reply button, aside form")) each.remove();
  say("This agent was deleted. Nothing can be decided here any more.");
}

// An answer to a form has the form's address; what a reload shows is the page itself.
const home = document.querySelector("header[data-refresh]")?.dataset.refresh;
if (home && location.pathname !== new URL(home, location.href).pathname) history.replaceState(null, "", home);

const replyBox = document.querySelector("form.reply");
if (replyBox) new ResizeObserver(() => document.documentElement.style.setProperty("--box", `${replyBox.offsetHeight}px`)).observe(replyBox);
document.addEventListener("DOMContentLoaded", () => {
  finishDrawing();
  document.querySelector("main form.sheet [aria-invalid]:not(fieldset)")?.focus();
  // A thread opens at the card that waits for a decision, also if notes or answers follow it.
  if (!location.hash) showNewest([...document.querySelectorAll("#thread > article.open")].pop());
  listen();
});
