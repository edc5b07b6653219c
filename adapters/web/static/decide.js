// What decides: guards against a click that nobody meant, keys, and how forms are sent and answered.
"use strict";

// Keeps a click from deciding what a person has not seen: by a control that has just come or moved, on a command that was never on the screen.
const DECIDING = ".acts:not(.toast *) button:not([type=button]), .lease button, .pop:not(#keys, #channel-sheet) button:not([type=button])", SAFE = /^(reject|stop|review|revoke):/;
const SETTLING_MS = 700, MOVED_PX = 4, HELD_MS = 5000, LINE_PX = [3, 17], STEP_PX = 8;
const UNREAD = "What this does was not on the screen yet. Read it, then press again.";
const read = new Set(), controls = new Map();  // hashes of commands that were on the screen; where each control stands, when it came and moved

/** Names a control across updates. */
const keyOf = control => [control.closest("[popover]")?.id, control.id, control.value].join(" ");
/** What a card shows of its command: the lines of a change, another text, its arguments, or the title of one without any. */
const COMMAND = [".preview:not(.edited) > pre :is(.add, .cut)", ".preview:not(.edited) > pre", ".arguments:not(.why *)", ".preview", "h2"];
const commandOf = card => COMMAND.map(each => card.querySelectorAll(each)).find(each => each.length);

/** Note where controls stand, before and after an update, and what was read then. What it moved settles anew: another button may be under the pointer. */
function noteControls(isUpdated) {
  noteRead();
  const present = [...document.querySelectorAll(DECIDING)], keys = present.map(keyOf);
  for (const key of controls.keys()) if (!keys.includes(key)) controls.delete(key);  // one that comes back settles anew
  for (const control of present) {
    const { x, y } = control.getBoundingClientRect(), key = keyOf(control), now = performance.now(), was = controls.get(key);
    const isMoved = !was || (isUpdated && Math.hypot(x - was.x, y - was.y) > MOVED_PX);
    controls.set(key, { x, y, came: was?.came ?? now, moved: isMoved ? now : was.moved });
  }
}

/** Let the controls in a place settle as if they had just come. */
function settleAgain(place) {
  noteControls(false);
  for (const control of place.querySelectorAll(DECIDING)) controls.get(keyOf(control)).came = performance.now();
}

/** Whether a control has stood for a moment, for a pointer also at its place. */
const isSettled = (control, isPointer, { came, moved } = controls.get(keyOf(control)) ?? { came: Infinity }) =>
  performance.now() - (isPointer ? Math.max(came, moved) : came) >= SETTLING_MS;

/** Whether the beginning of a text is on the screen, and nothing lies over it, as heads, buttons and the reply box do. */
const isSeen = (text, { left, top } = text.getBoundingClientRect()) => LINE_PX.every(each => text.contains(document.elementFromPoint(left + 9, top + each)));
/** Note the commands that are on the screen, once the page was drawn where it stays. */
function noteRead() {
  for (const card of document.hidden || !noteRead.isOn ? [] : document.querySelectorAll("article[data-hash]")) {
    if (!read.has(card.dataset.hash) && [...commandOf(card)].some(each => isSeen(each))) read.add(card.dataset.hash);
    card.toggleAttribute("data-unread", !read.has(card.dataset.hash));
  }
}
for (const kind of ["scroll", "resize", "toggle", "visibilitychange"]) addEventListener(kind, noteRead, { capture: true, passive: true });
addEventListener("pageshow", () => requestAnimationFrame(() => requestAnimationFrame(() => { noteRead.isOn = true; noteRead(); })));

/** Bring a card back instead of letting a control decide unseen; return whether it was held back. */
function holdBack(control, isPointer) {
  const card = control.closest("article"), { top, bottom, height } = (card ?? control).getBoundingClientRect();
  const isInSight = Math.min(bottom, innerHeight) - Math.max(top, 0) >= Math.min(height, innerHeight / 3);
  const isUnread = card?.dataset.hash && !read.has(card.dataset.hash) && !SAFE.test(control.value);
  if (!isUnread && (isPointer || !card || isInSight)) return false;
  control.closest(".pop")?.hidePopover();
  if (isUnread) card.querySelector(".preview [value=changes]")?.click();
  const [place] = isUnread ? commandOf(card) : [card];
  for (let y = 0; y < innerHeight && !isSeen(place); y += STEP_PX) scrollBy(0, place.getBoundingClientRect().top - y);  // until nothing lies over it
  settleAgain(card);
  return hint(isUnread ? UNREAD : "This card was out of sight. Read it, then press again.");
}

/** Say for some seconds why nothing was done. */
function hint(sentence) {
  document.getElementById("hint").textContent = sentence;
  clearTimeout(hint.timer);
  if (sentence) hint.timer = setTimeout(hint, HELD_MS, "");
  return true;
}

/** Whether a control may not act yet; a row whose command was not on the screen is opened instead of selected. */
function isHeld(control, isPointer) {
  const hash = control.matches(".pick") && control.value.split(" ").pop(), id = control.id.slice("pick-".length), card = document.getElementById(id);
  if (!hash) return holdBack(control, isPointer) || (!isSettled(control, isPointer) && hint("This has just appeared: nothing was done. Read it, then press again."));
  if (read.has(hash)) return false;
  if (!card) document.getElementById(`row-${id}`).click();
  return card ? holdBack(card.querySelector("h2"), true) : hint(UNREAD);
}

document.addEventListener("click", event => {
  const control = event.target.closest?.(`${DECIDING}, .pick:checked`);
  if (!control || !isHeld(control, event.detail > 0)) return control && hint("");
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
document.addEventListener("toggle", ({ target }) => { if (target.matches(":popover-open:not(.menu)")) settleAgain(target); }, true);

// Single keys move between rows or cards, press the buttons of the card in focus as a click there would, and search.
const KEYS_OFF = "signoff.keys-off", TEXT_MS = 1000, LOSS_MS = 2000, APPROVE = ".acts button[value^='approve:'].go";
const STOPS = "#thread > article.card, #thread > .run > summary, #thread > .run[open] > article.card";
// When a letter was typed that is no key, when others decided the card that a key was meant for, and where j or k led since the last decision.
let typedAt = -Infinity, lostAt = -Infinity, walked = null;

const isAsking = id => Boolean(document.getElementById(id)?.querySelector(APPROVE));
const currentRow = () => document.querySelector("#queue a.entry[aria-current]"), stopInFocus = () => document.activeElement.closest(STOPS);

/** The card that a key decides on: the one in focus; in a thread the only one that asks, unless one walked to another. */
function askingCard() {
  const asking = [...document.querySelectorAll("article.card")].filter(card => isAsking(card.id));
  const isAlone = asking.length === 1 && !document.getElementById("queue") && !(walked && walked === stopInFocus());
  return asking.find(card => card === stopInFocus()) ?? (isAlone ? asking[0] : null);
}

/** The ids of the cards that a key may be meant for. */
function meantCards() {
  const card = askingCard();
  return (card ? [card] : [...document.querySelectorAll("article.card")]).map(each => each.id).filter(isAsking);
}

/** Remember when somebody else decided such a card. What is named or quoted says nothing of that. */
function noteLoss(ids, focus) {
  const stateOf = id => document.getElementById(id)?.ariaLabel?.split(/ · turn \d+ · /).pop().replace(/“.*”/s, "");
  const own = `by @${document.getElementById("me").defaultValue}`, said = id => stateOf(id)?.split(/[,·]/) ?? [];
  if (!document.getElementById("thread") || ids.every(id => isAsking(id) || decidedHere.has(id) || said(id).some(part => part.trim().endsWith(own)))) return;
  lostAt = performance.now();
  if (ids.includes(focus)) hint("That card does not ask you any more.");
}

/** Put the focus on a card, from its beginning, or on a row. */
function goTo(place) {
  if (!place) return hint("There is no card here.");
  if (place.matches("article")) place.tabIndex = -1;
  walked = place;
  (place.querySelector(":scope > .fold > summary") ?? place).focus({ preventScroll: true });
  currentRow()?.scrollIntoView({ block: "nearest" });
  return document.getElementById("queue") && place.matches("article") ? scrollTo(0, 0) : place.scrollIntoView({ block: place.matches("a") ? "nearest" : "start" });
}

/** To the next or previous card; in the list first to the one that is open, then by its row to the next one. */
function walk(step) {
  const row = currentRow(), card = openCard(), stops = [...document.querySelectorAll(row ? "#queue a.entry" : STOPS)];
  const at = stops.indexOf(row ?? stopInFocus()), last = stops.length - 1;
  const there = stops[Math.min(Math.max(at < 0 && step < 0 ? last : at + step, 0), last)];
  const isOpen = row && card?.checkVisibility() && (there === row || (step > 0 && !card.contains(document.activeElement)));
  if (isOpen || !row) return goTo(isOpen ? card : there);
  document.activeElement.blur();  // a key that follows at once is not for the card that goes
  there.click();
}

/** Press what a key stands for on a card, or say why not. */
function press(label, selector) {
  const card = askingCard(), control = selector === ".pick" && card ? document.getElementById(`pick-${card.id}`) : card?.querySelector(selector);
  if (control?.ariaDisabled === "true") return hint("Your decision is being sent.");
  if (control) return hint("") && control.click();
  if (stopInFocus()) return hint(`There is no ${label} on this card.`);
  hint(document.querySelector(APPROVE) ? "Which card? Press j or k to go to one." : "No card here asks for your approval.");
}

/** Approve the card; with cards selected, go to the button that approves them. */
function approve() {
  const number = selectedCards().length;
  if (!number) return press("Approve", APPROVE);
  document.querySelector("[data-selected]").focus();
  hint(`Enter approves ${number === 1 ? "the selected card" : `the ${number} selected cards`}. To decide on one alone, take it out with x.`);
}

/** Put the focus where one searches; a narrow screen hides the box in the navigation. */
function openSearch() {
  const box = document.getElementById("words") ?? document.getElementById("find");
  if (!box.checkVisibility()) document.getElementById("rail").showPopover();
  box.select();
}

const KEYS = {
  "j": () => walk(1), "k": () => walk(-1), "/": openSearch, "?": () => document.getElementById("shortcuts").togglePopover(),
  "a": approve, "e": () => press("Edit", "[popovertarget^='edit-']"), "r": () => press("Reject", "[popovertarget^='reject-']"),
  "x": () => press("checkbox", ".pick"),
};

document.addEventListener("keydown", event => {
  const { key, target, timeStamp } = event, act = KEYS[key];
  const isWritten = target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]") || event.isComposing || event.repeat;
  const isOff = key !== "?" && (localStorage.getItem(KEYS_OFF) || document.querySelector(":popover-open:not(#outage)"));
  if (isWritten || isOff || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!act && key !== "Shift") typedAt = key.length === 1 ? timeStamp : -Infinity;
  if (!act) return;
  event.preventDefault();
  const isText = timeStamp - typedAt < TEXT_MS, isLate = "aerx".includes(key) && performance.now() - lostAt < LOSS_MS;
  if (!isText && !isLate) return act();
  typedAt = hint(isText ? "Nothing was done. After typed text keys rest for a second." : "That card does not ask you any more. Nothing was done.") && timeStamp;
});

// An open sheet has the focus where a person writes, or as a whole, so that no button takes what is typed.
document.addEventListener("toggle", ({ target }) => {
  if (!target.matches("article .pop:popover-open")) return;
  target.tabIndex = -1;
  (target.querySelector("[autofocus]") ?? target.querySelector("textarea, select, input:not([type=hidden], [type=number])") ?? target).focus();
}, true);

// The second press of a double click meets the button again, or the sheet over it: the focus stays where a person writes.
document.addEventListener("mousedown", event => {
  const isRepeated = event.detail > 1 && event.target.closest?.("article .pop, article [popovertarget]");
  if (isRepeated && !event.target.closest(".pop :is(button, input, label, select, textarea)")) event.preventDefault();
});

// Sends forms by htmx and shows the answer: the page, a refusal above the form, or that nobody knows what became of it.
const busy = new Map(), decidedHere = new Set();  // labels of buttons whose form is on its way; ids of cards that the person decides here
let answered = 0, begun = null;  // forms that were answered; the proposals that were seen when the reply was begun

const contentOf = form => String(new URLSearchParams(new FormData(form))), parsed = text => new DOMParser().parseFromString(text, "text/html");
const refusalIn = text => parsed(text).querySelector("#alert .alert")?.textContent ?? "That did not work.";
const selectedCards = () => [...document.querySelectorAll(".pick:checked")].map(each => each.id.slice("pick-".length));
const nameOf = button => `${button.value} ${busy.get(button) ?? button.textContent}`;

/** Let a button be pressed again, under its own name. */
function release(button) {
  if (!busy.has(button)) return;
  if (button.dataset.busy) button.textContent = busy.get(button);
  busy.delete(button);
  button.ariaDisabled = isAway ? "true" : null;
}

document.addEventListener("htmx:configRequest", ({ detail }) => {
  const button = detail.triggeringEvent?.submitter;
  if (button?.name) detail.parameters[button.name] = button.value;
  if (detail.elt.matches(".reply")) detail.parameters.seen = begun?.join(" ") ?? "";
});

document.addEventListener("htmx:beforeRequest", ({ detail: { requestConfig: request, xhr } }) => {
  request.answered = answered;
  if (request.verb !== "post") return;
  const form = request.elt.form ?? request.elt, button = request.triggeringEvent.submitter ?? request.elt;
  const buttons = [...form.elements].filter(each => each.matches("button")), card = form.closest("article, aside")?.id ?? "";
  const name = form.closest("article") && document.querySelector(".pane #top h2")?.textContent.trim();  // it may be gone then
  Object.assign(request, { form, buttons, card, name, shown, written: contentOf(form) });
  if (/^(approve|edit|reject|stop):/.test(button.value)) decidedHere.add(card);
  for (const each of buttons) {
    busy.set(each, each.textContent);
    each.ariaDisabled = "true";
  }
  if (button.dataset.busy) document.getElementById("news").textContent = button.textContent = button.dataset.busy;
  form.addEventListener("input", () => buttons.forEach(release), { once: true });
  xhr.addEventListener("error", () => noteAway(UNCONFIRMED, true));
  xhr.addEventListener("loadend", () => { buttons.forEach(release); if (xhr.status !== 200) decidedHere.delete(card); });
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { xhr, requestConfig: request } = detail;
  (request.verb === "post" ? takeAnswer : takePage)(detail, request, xhr);
  if (detail.shouldSwap) request.was = beforeUpdate();
});
document.addEventListener("htmx:afterRequest", ({ detail: { requestConfig: request } }) => {
  if (request.was) afterUpdate(request.was, request);
});

// htmx would push the address of a form's answer; the page keeps its own.
document.addEventListener("htmx:beforeHistoryUpdate", ({ detail: { history, requestConfig } }) => {
  if (requestConfig.verb === "post") Object.assign(history, { type: "replace", path: location.pathname + location.search });
});

/** Show the answer to a form; a page that was drawn since it was sent is newer than the answer. */
function takeAnswer(detail, request, { status, responseURL, responseText }) {
  const { form, card } = request, pathOf = address => new URL(address, location.href).pathname;
  answered++;
  request.buttons.forEach(release);
  if (AWAY_STATUSES.includes(status)) return noteAway(status === 503 ? refusalIn(responseText) : UNCONFIRMED, true);
  if (status >= 400) return refuse(request, responseText);
  const isHere = [location.pathname, pathOf(request.path)].includes(pathOf(responseURL));
  if (!isHere) location.href = responseURL;
  say("");
  walked = null;
  (request.triggeringEvent?.submitter ?? form).closest(".pop")?.hidePopover();  // what is about an agent stays open
  if (request.boosted && contentOf(form) === request.written) form.reset();
  isAnswer = detail.shouldSwap = isHere && (shown === request.shown || !request.boosted);
  if (isAnswer) return;
  const told = parsed(responseText).querySelectorAll("#told > *");
  if (told.length) document.getElementById("told").replaceChildren(...told);
  refresh().then(() => comeBack(card, card));
}

/** Say why a form was refused, in a list also of whose card, and mark its fields. */
function refuse({ form, name }, text) {
  const names = [...parsed(text).querySelectorAll("[aria-invalid]")].map(each => each.name || each.querySelector("[name]")?.name);
  say((name && !document.querySelector(".pop:popover-open") ? `“${name.replace(/[“”]/g, "'")}”: ` : "") + refusalIn(text));
  for (const each of form.querySelectorAll("input, select, textarea")) each.ariaInvalid = names.includes(each.name) ? "true" : null;
  form.querySelector("[aria-invalid]")?.focus();
  refresh();
}

document.addEventListener("keydown", event => {
  const { key, target } = event, isLine = target.matches?.("[data-enter]") && !event.shiftKey && !event.isComposing;
  const isSheet = (event.ctrlKey || event.metaKey) && target.matches?.(".card .pop :is(textarea, input)");
  if (key !== "Enter" || !(isLine || isSheet || target.matches?.(".pick"))) return;  // Enter on a checkbox would send all that are selected
  event.preventDefault();
  if (isLine && !target.dataset.enter) target.form.requestSubmit();
  else if (!target.matches(".pick")) target.form.querySelector(isLine ? `#${target.dataset.enter}` : "button:not([type=button])").click();
});

// A reply is about the cards that were on the screen when the person began to type it: about none if a browser brought it back.
document.addEventListener("input", ({ target }) => {
  const hashes = document.querySelector("input[name=seen]")?.value.split(" ") ?? [];
  if (target.id === "reply") begun = target.value ? begun ?? hashes.filter(hash => read.has(hash)) : null;
});
document.addEventListener("reset", ({ target }) => { if (target.matches(".reply")) begun = null; });

/** Write the number of selected cards on the button. */
function countSelected() {
  const button = document.querySelector("[data-selected]"), number = selectedCards().length;
  if (button) button.textContent = number ? `Approve ${number} selected` : "Approve selected";
}
document.addEventListener("change", ({ target }) => { if (target.matches(".pick")) countSelected(); });
