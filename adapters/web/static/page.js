// Keeps the page up to date: htmx fetches it, Idiomorph draws what changed. All links and forms also work without scripts.
"use strict";

const RETRY_MS = 2000, SLOW_MS = 10_000, SOON_MS = 30, END_PX = 44;
let shown = 0, isAnswer = false, pending = null;  // how many pages were drawn; whether what is drawn now answers a form; the next fetch

const present = () => document.getElementById("present");
const openCard = () => document.querySelector("#thread > article:last-of-type");

/** Whether the person changed a field since the server drew it. */
function isChanged(field) {
  if (field.matches("[type=checkbox], [type=radio]")) return field.checked !== field.defaultChecked;
  if (field.matches("select")) return field.value !== (field.querySelector("[selected]") ?? field[0])?.value;
  return field.value !== field.defaultValue;
}

/** Change a text only from where it differs, so that what is selected before stays selected. */
function changeText(text, { data }) {
  let at = 0;
  while (at < data.length && text.data[at] === data[at]) at++;
  if (text.data !== data) text.replaceData(at, text.length, data.slice(at));
  return false;
}

/** Whether to draw an element again: not what scripts wrote, nor an open sheet, nor a form of a page that is not live. */
function beforeNodeMorphed(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) return old.nodeType !== Node.TEXT_NODE || changeText(old, fresh);
  if (old.matches("button:not([id])") && nameOf(old) !== nameOf(fresh)) {  // it becomes another one, without the focus
    release(old);
    old.blur();
  }
  const isOld = !isAnswer && old.matches("#told, #alert, main:not(:has([data-live])), form:has([aria-invalid=true])");
  const isSameTime = old.matches("time:not(.ago)") && old.dateTime === fresh.dateTime;
  return !(isOld || isSameTime || busy.has(old) || old.matches("#news, #hint, #drop, article .pop:popover-open, .fold > .below:has(> .turn)"));
}

/** Whether an element may leave the page. A sheet in which somebody wrote stays, says why, and decides nothing more. */
function beforeNodeRemoved(old) {
  const sheet = old.nodeType === Node.ELEMENT_NODE && document.querySelector("article .pop:popover-open");
  if (!sheet || !old.contains(sheet)) return old.id !== "outage";
  if (![...sheet.querySelectorAll("input:not([type=hidden]), textarea, select")].some(isChanged)) return true;
  const state = sheet === old ? `: ${sheet.closest("article").ariaLabel.split(", ").slice(1).join(", ")}` : " this was decided";
  if (!sheet.querySelector(":scope > .alert")) say(`Meanwhile${state}. What you wrote stays here.`);
  for (const button of sheet.querySelectorAll("button[name=button]")) button.disabled = true;
  sheet.addEventListener("toggle", () => refresh(), { once: true });
  return false;
}

/** Whether the server's page sets an attribute: not where a person opened, wrote or chose something, or a script switched it. */
function beforeAttributeUpdated(name, element, kind) {
  if (name === "aria-disabled" || (name === "tabindex" && kind === "remove")) return false;
  if (name === "open" && element.matches("details")) return !element.firstChild;
  if (name === "value" && element.matches(".pick")) element.checked = false;  // it selected what the card showed then
  else if (["value", "checked"].includes(name) && element.matches("input, textarea")) return !isChanged(element);
  return !(name === "selected" && isChanged(element.closest("select")));
}
Object.assign(Idiomorph.defaults.callbacks, { beforeNodeMorphed, beforeNodeRemoved, beforeAttributeUpdated });

/** Show a sentence at the top or in the open sheet; "" takes it away. */
function say(sentence) {
  const top = document.getElementById("alert"), place = document.querySelector(".pop:popover-open") ?? top;
  for (const each of [top, place]) each.querySelector(":scope > .alert")?.remove();
  if (!sentence) return;
  place.prepend(Object.assign(document.createElement("p"), { className: "alert", role: "alert", textContent: sentence }));
  place.firstChild.scrollIntoView({ block: "nearest" });
}

/** Fetch this page again. htmx keeps one further call until the answer is there. */
function refresh() {
  const home = document.querySelector("[data-refresh]")?.dataset.refresh ?? location.pathname + location.search;
  return htmx.ajax("GET", home, { target: "#page", swap: "morph:innerHTML show:none" }).catch(() => {});  // the stream comes back
}

/** Draw a page that was fetched, unless it is another one, or from before a form that was answered since. */
function takePage(detail, request, { status, responseURL }) {
  const isRow = request.elt.matches("a, .fold p"), isStale = request.answered !== answered && !isRow;
  detail.shouldSwap &&= !isStale && (isRow || new URL(responseURL).pathname === location.pathname);
  if (new URL(responseURL).pathname === "/enter") say("Your sign-in has ended. Reload the page to sign in again.");
  if (isStale || status === 503) setTimeout(refresh, status === 503 ? RETRY_MS : 0);
  if (status !== 404 || !document.querySelector("form.reply button")) return;
  for (const each of document.querySelectorAll(".acts, .lease, form.reply button, aside form")) each.remove();
  say("This agent was deleted. Nothing can be decided here any more.");
}

/** Fetch this page again after the changes of a moment; one with drawings, which take many reads, after ten seconds. */
function refreshSoon() {
  pending ??= setTimeout(() => { pending = null; refresh(); }, document.querySelector("[data-slow]") ? SLOW_MS : SOON_MS);
}

/** Listen to changes. The browser connects again after a lost connection, but not after an error's answer, or when a session ended. */
function listen() {
  const stream = new EventSource("/events");
  stream.addEventListener("changed", refreshSoon);
  stream.addEventListener("beat", () => document.querySelector("[data-told]") ? showTimes() : refresh());
  stream.addEventListener("open", refresh);
  stream.addEventListener("error", () => { if (stream.readyState === EventSource.CLOSED) setTimeout(() => { listen(); if (!isAway) refresh(); }, RETRY_MS); });
}

/** What to compare the page with after it is drawn. */
function beforeUpdate() {
  noteControls(false);
  const focus = document.activeElement.closest("article, aside, .run")?.id;
  return { waiting: waitingNow(), labels: labelsNow(), meant: meantCards(), focus, isAtEnd: isAtEnd() };
}

/** Finish what was drawn, and say what changed. */
function afterUpdate(was, { elt, form, card }) {
  shown++;
  isAnswer = false;
  finishDrawing();
  callPerson(was.waiting);
  const changed = [...labelsNow()].filter(([id, said]) => was.labels.get(id) !== said).pop();
  if (changed) document.getElementById("news").textContent = changed[1];
  if (elt.matches("a")) goTo(openCard()?.checkVisibility() ? openCard() : currentRow());
  else noteLoss(was.meant, was.focus);
  comeBack(card || was.focus, card);
  if (form?.matches(".reply") && !document.querySelector("#told > *")) present().scrollIntoView({ block: "end" });
  else if (was.isAtEnd && changed) showNewest();
  noteControls(true);
}

/** What scripts add to the server's page. */
function finishDrawing() {
  document.querySelector(".modes:not(:has(:checked)) [checked]")?.click();
  showTimes();
  keepFoldsOpen();
  countSelected();
  watcher.disconnect();
  for (const card of document.querySelectorAll("article[data-hash]")) watcher.observe(commandOf(card));
}

/** What each entry of the thread says, and an opinion on it. */
function labelsNow() {
  const entries = [...document.querySelectorAll("#thread > *, .run > article")];
  return new Map(entries.map(each => [each.id, [each.ariaLabel ?? each.textContent, each.querySelector(".review")?.textContent].join(" ")]));
}

/** Whether the end of the thread is in view, or almost, or its newest entry fills the middle of the screen. */
function isAtEnd() {
  const [newest, end] = ["#thread > :last-child", "#present"].map(each => document.querySelector(each)?.getBoundingClientRect());
  return (end?.bottom > 0 && end.bottom <= innerHeight + END_PX) || (newest?.top <= innerHeight / 2 && newest.bottom >= innerHeight / 2);
}

/** Scroll to the end of the thread, above the reply box; if its newest entry does not fit, to the beginning of that. */
function showNewest(newest = document.querySelector("#thread > :last-child")) {
  const box = document.querySelector("form.reply")?.offsetHeight ?? 0;
  const isFitting = !newest || present()?.getBoundingClientRect().bottom - newest.getBoundingClientRect().top + box <= innerHeight;
  if (present()) (isFitting ? present() : newest).scrollIntoView({ block: isFitting ? "nearest" : "start" });
}

/** What had the focus is gone: focus its card, the entry that took it in, or after a decision in the list the card that took its place. */
function comeBack(id, isOwn) {
  const place = (id && document.getElementById(id)) || (isOwn && document.getElementById("queue") && openCard());
  const active = document.activeElement, isThere = active !== document.body && active.checkVisibility();
  if (!place || isThere) return;
  const title = place.closest(".run:not([open])")?.querySelector("summary");  // a card in it cannot have the focus
  if (!title) place.tabIndex = -1;
  (title ?? place).focus({ preventScroll: true });
}

// An answer to a form has the form's address; what a reload shows is the page itself.
const home = document.querySelector("header[data-refresh]")?.dataset.refresh;
if (home && location.pathname !== new URL(home, location.href).pathname) history.replaceState(null, "", home);

for (const box of document.querySelectorAll("form.reply"))
  new ResizeObserver(() => document.documentElement.style.setProperty("--box", `${box.offsetHeight}px`)).observe(box);
finishDrawing();
document.querySelector("main form.sheet [aria-invalid]:not(fieldset)")?.focus();
// A thread opens at the card that waits for a decision, also if notes or answers follow it.
if (!location.hash) showNewest([...document.querySelectorAll("#thread > article.open")].pop());
noteControls(true);
listen();
