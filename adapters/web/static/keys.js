// Single keys move between rows or cards, press the buttons of the card in focus as a click there would, and search.
"use strict";

const KEYS_OFF = "signoff.keys-off", TEXT_MS = 1000, LOSS_MS = 2000, APPROVE = ".acts button[value^='approve:'].go";
const STOPS = "#thread > article.card, #thread > .run > summary, #thread > .run[open] > article.card";
// When a letter was typed that is no key, when others decided the card that a key was meant for, and where j or k led since the last decision.
let typedAt = -Infinity, lostAt = -Infinity, walked = null;

const isAsking = id => Boolean(document.getElementById(id)?.querySelector(APPROVE));
const currentRow = () => document.querySelector("#queue a.entry[aria-current]");
const stopInFocus = () => document.activeElement.closest(STOPS);

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

/** Remember when somebody else decided such a card. */
function noteLoss(ids, focus) {
  const own = `by @${document.getElementById("me").defaultValue}`, said = id => document.getElementById(id)?.ariaLabel?.split(/[,·]/) ?? [];
  if (ids.every(id => isAsking(id) || decidedHere.has(id) || said(id).some(part => part.trim().endsWith(own)))) return;
  lostAt = performance.now();
  if (ids.includes(focus)) hint("That card does not ask you any more.");
}

/** Put the focus on a card, from its beginning, or on a row. */
function goTo(place) {
  if (!place) return hint("There is no card here.");
  if (place.matches("article")) place.tabIndex = -1;
  walked = place;
  place.focus({ preventScroll: true });
  currentRow()?.scrollIntoView({ block: "nearest" });
  place.scrollIntoView({ block: place.matches("a") ? "nearest" : "start" });
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
  if (control) return control.click();
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
  "j": () => walk(1), "k": () => walk(-1), "/": openSearch, "?": () => document.getElementById("keys").togglePopover(),
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
  (target.querySelector("textarea, select, input:not([type=hidden], [type=number])") ?? target).focus();
}, true);

// The second press of a double click meets the button again, or the sheet over it: the focus stays where a person writes.
document.addEventListener("mousedown", event => {
  const isRepeated = event.detail > 1 && event.target.closest?.("article .pop, article [popovertarget]");
  if (isRepeated && !event.target.closest(".pop :is(button, input, label, select, textarea)")) event.preventDefault();
});
