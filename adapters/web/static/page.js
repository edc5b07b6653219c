// What a person sees change: settings of this browser, calls for attention, dropped files, and the page that is kept up to date.
"use strict";

// Calls the person while the page is not in view, when more agents need approval or one of theirs is done: by title, icon and notification.
const rail = () => document.getElementById("rail").dataset;
const permission = () => window.Notification?.permission;
let { asking, finishedAt = "" } = rail();

/** Show the button only while the browser would ask for the permission. */
function offerToNotify() { document.documentElement.classList.toggle("offers", permission() === "default"); }

/** What waits on this page: its rows, or in a thread its cards that ask, each with its headline. */
function waitingNow() {
  const places = document.querySelectorAll(document.getElementById("queue") ? "#queue li" : ".card:is(.open, .asks)");
  return new Map([...places].map(each => [each.id, each.dataset.headline ?? each.ariaLabel]));
}

/** Show in the icon whether somebody waits, and call the person if something waits that did not wait before. */
function callPerson(before) {
  const was = Number(asking), ended = finishedAt, [headline] = [...waitingNow()].filter(([id]) => !before.has(id)).map(each => each[1]);
  ({ asking, finishedAt = "" } = rail());
  document.querySelector("link[rel=icon]").href = `/static/icon${asking > 0 ? "-due" : ""}.svg`;
  const done = finishedAt > ended ? rail().finished : "";
  if (!(asking > was || done || headline) || !document.hidden || permission() !== "granted") return;  // a card may come after its count: its headline takes the place
  const waiting = asking === "1" ? "An agent waits for you." : `${asking} agents wait for you.`;
  const note = new Notification("Signoff", { body: headline ?? (asking > was ? waiting : done), tag: "asking" });
  note.addEventListener("click", () => { focus(); note.close(); });
}

document.addEventListener("click", async event => {
  if (event.target.id !== "notify") return;
  const answer = await Notification.requestPermission();
  offerToNotify();
  if (answer === "granted") say("Notifications are on. Your browser's settings for this page turn them off.");
  if (answer === "denied") say("Your browser blocks notifications. Allow them in its settings for this page.");
});
offerToNotify();

// Adds files that are dropped anywhere on the page, or pasted into the reply box, by the form that adds chosen ones.
/** Put files into the form and send it. A browser makes an empty file of a folder; one that is too large would be sent in vain. */
function addFiles(event, { files, items }) {
  const form = document.querySelector(".add form"), most = Number(form?.dataset.mostBytes), fit = new DataTransfer();
  if (!form || !files.length) return;
  event.preventDefault();
  const folders = [...items].filter(item => item.webkitGetAsEntry?.()?.isDirectory).map(item => item.getAsFile()?.name);
  for (const file of files) if (file.size <= most && !folders.includes(file.name)) fit.items.add(file);
  form.elements.file.files = fit.files;
  if (fit.files.length) form.requestSubmit();
  if (fit.files.length < files.length) hint(`Not added: folders, and files larger than ${most / 2 ** 20} MB.`);
}

function showDrop(isShown) { const place = document.getElementById("drop"); if (place) place.hidden = !isShown; }
document.documentElement.classList.toggle("drops", Boolean(document.getElementById("drop")));
document.addEventListener("dragover", event => {
  if (event.dataTransfer.types.includes("Files")) { event.preventDefault(); showDrop(true); }
});
document.addEventListener("dragleave", event => { if (!event.relatedTarget) showDrop(false); });
document.addEventListener("drop", event => { showDrop(false); addFiles(event, event.dataTransfer); });
document.addEventListener("paste", event => {
  if (event.target.id === "reply" && !event.clipboardData.getData("text/plain")) addFiles(event, event.clipboardData);
});

// What a person sets in this browser: the theme, keys, finished turns open; and times in their own zone and language.
const FOLDS_OPEN = "signoff.folds-open", FOLDS = "details.fold, details.run", kept = new WeakSet(), YEAR_SECONDS = 365 * 24 * 3600;
const CLOCK = { hour: "numeric", minute: "2-digit" }, UNITS = { d: 86400, h: 3600, min: 60 };
const formats = () => [CLOCK, { month: "short", day: "numeric", ...CLOCK }, { dateStyle: "medium", timeStyle: "short" }].map(each => new Intl.DateTimeFormat(undefined, each));

/** Show times in the person's zone, those of today without a date, those of this year without a year; count ages on. */
function showTimes() {
  const [clock, day, date] = showTimes.formats ??= formats();
  for (const element of document.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime), now = new Date(), seconds = (now - at) / 1000, isToday = at.toDateString() === now.toDateString();
    const [unit, size] = Object.entries(UNITS).find(each => seconds >= each[1]) ?? [], age = unit ? `${Math.floor(seconds / size)} ${unit} ago` : "just now";
    element.title = date.format(at);
    element.textContent = element.matches(".entry .ago") ? age.replace(" ago", "") : element.matches(".ago") ? age : (isToday ? clock : at.getFullYear() === now.getFullYear() ? day : date).format(at);
  }
}

/** Open the finished turns that are new on the page, if this browser keeps them open. */
function keepFoldsOpen() {
  for (const fold of document.querySelectorAll(FOLDS)) {
    if (!kept.has(fold) && localStorage.getItem(FOLDS_OPEN)) fold.open = true;
    kept.add(fold);
  }
}

/** Open the turn that the address names, and show it from its beginning. */
function openNamed() {
  const fold = document.getElementById(`fold-${location.hash.slice(1)}`);
  for (const each of [fold, fold?.closest(".run")]) if (each) each.open = true;
  fold?.closest("article").scrollIntoView({ block: "start" });
}

/** Tie a checkbox to what this browser remembers while it is on, or while it is off. */
function remember(id, name, whileOn, changed) {
  const choice = document.getElementById(id);
  choice.checked = Boolean(localStorage.getItem(name)) === whileOn;
  choice.addEventListener("change", () => {
    if (choice.checked === whileOn) localStorage.setItem(name, "1");
    else localStorage.removeItem(name);
    changed?.(choice.checked);
  });
}
remember("keys-on", KEYS_OFF, false, isOn => document.documentElement.classList.toggle("uses-keys", isOn));
remember("folds-open", FOLDS_OPEN, true, isOn => { for (const fold of document.querySelectorAll(FOLDS)) fold.open = isOn; });

document.querySelector(".theme").addEventListener("change", ({ target: { value } }) => {
  document.cookie = `signoff_theme=${value}; max-age=${YEAR_SECONDS}; path=/; samesite=strict${location.protocol === "https:" ? "; secure" : ""}`;
  if (value) document.documentElement.dataset.theme = value;
  else delete document.documentElement.dataset.theme;
});
document.addEventListener("focusin", ({ target }) => { if (target.id === "limit") target.select(); });  // a typed budget replaces the old one
for (const kind of ["hashchange", "load"]) addEventListener(kind, openNamed);
document.documentElement.classList.add("has-keys", ...(localStorage.getItem(KEYS_OFF) ? [] : ["uses-keys"]));

// Keeps the page up to date: htmx fetches it, Idiomorph draws what changed. All links and forms also work without scripts.
const RETRY_MS = 2000, SLOW_MS = 10_000, SOON_MS = 30, END_PX = 44;
let shown = 0, isAnswer = false, pending = null, isOut = false;  // how many pages were drawn; whether what is drawn now answers a form; the next fetch; whether the session has ended

const present = () => document.getElementById("present"), openCard = () => document.querySelector("#thread > article:last-of-type");
const address = () => document.querySelector("[data-refresh]")?.dataset.refresh ?? location.pathname + location.search;

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
  return !(isOld || busy.has(old) || old.matches("#news, #hint, #drop, article .pop:popover-open, .fold > .below:has(> .turn)"));
}

/** Whether an element may leave the page. A sheet in which somebody wrote stays, says why, and decides nothing more. */
function beforeNodeRemoved(old) {
  const sheet = old.nodeType === Node.ELEMENT_NODE && document.querySelector("article .pop:popover-open");
  if (!sheet || !old.contains(sheet)) return old.id !== "outage";
  if (![...sheet.querySelectorAll("input:not([type=hidden]), textarea, select")].some(isChanged)) return true;
  const state = old.parentElement.closest("article") ? `: ${sheet.closest("article").ariaLabel.split(", ").slice(1).join(", ")}` : " this was decided";
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
  return htmx.ajax("GET", address(), { target: "#page", swap: "morph:innerHTML show:none" }).catch(() => {});  // the stream comes back
}

/** Draw a page that was fetched, unless it is another one, or from before a form was answered or a row was opened since. */
function takePage(detail, request, { status, responseURL }) {
  const isRow = request.elt.matches("a, .below"), isStale = !isRow && (request.answered !== answered || request.path !== address());
  detail.shouldSwap &&= !isStale && (isRow || new URL(responseURL).pathname === location.pathname);
  const wasOut = isOut;
  isOut = new URL(responseURL).pathname === "/enter";
  if (isOut && !wasOut) say("Your sign-in has ended. Reload the page to sign in again.");
  if (isStale || status === 503) setTimeout(refresh, status === 503 ? RETRY_MS : 0);
  if (status !== 404 || isRow || !document.querySelector("form.reply button")) return;
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
  stream.addEventListener("error", () => { if (stream.readyState === EventSource.CLOSED) setTimeout(() => { listen(); if (!isAway) refresh(); }, isOut ? SLOW_MS : RETRY_MS); });
}

/** Fetch what a finished turn did when its row is opened, and show what was opened behind a card's buttons. */
function fetchTurn({ target }) {
  const place = target.matches("details.fold[open]") && target.querySelector(":scope > .below:has(> a)");
  if (place) htmx.ajax("GET", place.firstChild.href, { source: place, target: place, select: ".turn", swap: "innerHTML" }).catch(() => {});
  if (target.matches("details.why[open]")) target.scrollIntoView({ block: "nearest" });
}
document.addEventListener("toggle", fetchTurn, true);

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
  if (elt.matches("[hx-sync]")) goTo(openCard()?.checkVisibility() ? openCard() : currentRow());
  else noteLoss(was.meant, was.focus);
  comeBack(card || was.focus || (form && "main"), card || decidedHere.has(was.focus));  // a page may be here before the answer is
  if (form?.matches(".reply") && !document.querySelector("#told > *")) present().scrollIntoView({ block: "end" });
  else if (was.isAtEnd && changed) showNewest();
  noteControls(true);
}

/** What scripts add to the server's page. */
function finishDrawing() {
  document.querySelector(".modes:not(:has(:checked)) [checked]")?.click();
  if (shown) showTimes();
  keepFoldsOpen();
  countSelected();
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
  const place = (id && document.getElementById(id)) || (isOwn && document.getElementById("queue") && openCard()), active = document.activeElement;
  if (!place || (active !== document.body && active.checkVisibility())) return;
  const title = place.closest(".run:not([open])")?.querySelector("summary");  // a card in it cannot have the focus
  if (!title) place.tabIndex = -1;
  (title ?? place).focus({ preventScroll: true });
  if (place.id !== id && isOwn) scrollTo(0, 0);  // to the beginning of the next card
}

// An answer to a form has the form's address; what a reload shows is the page itself.
const home = document.querySelector("header[data-refresh]")?.dataset.refresh;
if (home && location.pathname !== new URL(home, location.href).pathname) history.replaceState(null, "", home);

/** Tell the stylesheet how high a bar is, where it is not as usual. */
function noteHeight(box) {
  const root = document.documentElement, name = box.id === "top" ? "--top" : "--box", height = `${box.offsetHeight}px`;
  if (getComputedStyle(root).getPropertyValue(name) !== height) root.style.setProperty(name, height);
}
for (const box of document.querySelectorAll("form.reply, #top")) new ResizeObserver(() => noteHeight(box)).observe(box);
finishDrawing();
document.querySelector("main form.sheet [aria-invalid]:not(fieldset)")?.focus();
// A thread opens at the card that waits for a decision, also if notes or answers follow it.
if (!location.hash) showNewest([...document.querySelectorAll("#thread > article.open")].pop());
noteControls(true);
// The page is painted before the browser reads what it knows of times, which takes long, and before the page is fetched again.
const begin = () => { showTimes(); listen(); };
if (document.hidden) begin();
else requestAnimationFrame(() => setTimeout(begin));
