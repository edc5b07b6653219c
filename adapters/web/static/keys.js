// Single keys: they move between rows or cards, press the buttons of the card in focus as a click there would, and search.
"use strict";

const KEYS_OFF = "signoff.keys-off", TYPED_IN = "input:not(.pick), textarea, select, [contenteditable]";
const STOPS = "#thread > article.card, #thread > .run > summary, #thread > .run[open] > article.card";
const APPROVE = ".acts button[value^='approve:'].go", TEXT_MS = 1000, LOSS_MS = 2000;
const AFTER_TEXT = "Nothing was done. After typed text keys rest for a second.";
const OVER = "That card does not ask you any more. Nothing was done.";
let typedAt = -Infinity, lostAt = -Infinity;

const focusedCard = () => document.activeElement?.closest?.("article.card");
const isAsking = id => Boolean(document.getElementById(id)?.querySelector(APPROVE));
const currentRow = () => document.querySelector("#queue a.entry[aria-current]");

/** The card that a key decides on: the one in focus; in a thread the only one that asks, unless another has the focus. */
function askingCard() {
  const asking = [...document.querySelectorAll("article.card")].filter(card => isAsking(card.id)), stop = document.activeElement?.closest(STOPS);
  if (stop || document.getElementById("queue")) return asking.find(card => card === focusedCard());
  return asking.length === 1 ? asking[0] : null;
}

/** Remember when somebody else decided the card that a key was about to decide on. */
function noteLoss(id) {
  const me = document.getElementById("me")?.defaultValue, said = document.getElementById(id)?.ariaLabel ?? "";
  if (id && !isAsking(id) && !decidedHere.has(id) && !said.endsWith(` by @${me}`)) lostAt = performance.now();
}

/** Put the focus on a card, from its beginning, or on a row. */
function goTo(place) {
  if (!place) return hint("There is no card here.");
  if (place.matches("article")) place.tabIndex = -1;
  place.focus({ preventScroll: true });
  currentRow()?.scrollIntoView({ block: "nearest" });
  place.scrollIntoView({ block: place.matches("a") ? "nearest" : "start" });
}

/** To the next or previous card; in the list first to the one that is open, then by its row to the next one. */
function walk(step) {
  const rows = [...document.querySelectorAll("#queue a.entry")], stops = rows.length ? rows : [...document.querySelectorAll(STOPS)];
  const here = rows.length ? currentRow() : document.activeElement?.closest(STOPS), at = stops.indexOf(here);
  const there = stops[Math.min(Math.max((at < 0 && step < 0 ? stops.length : at) + step, 0), stops.length - 1)];
  const isOpen = rows.length && openCard()?.checkVisibility();
  if (isOpen && (there === here || (step > 0 && focusedCard() !== openCard()))) return goTo(openCard());
  if (!rows.length) return goTo(there);
  document.activeElement.blur();  // a key that follows at once is not for the card that goes
  there.click();
}

/** Press what a key stands for on a card, or say why not. */
function press(label, selector) {
  const card = askingCard(), control = selector === ".pick" && card ? document.getElementById(`pick-${card.id}`) : card?.querySelector(selector);
  if (!control) return hint(whyNot(label, selector));
  if (control.ariaDisabled === "true") return hint("Your decision is being sent.");
  if (control.matches(".pick") && !isSettled(card.querySelector(APPROVE))) return hint(JUST_APPEARED);
  control.click();
}

/** Why a key presses nothing. */
function whyNot(label, selector) {
  if (focusedCard()) return `There is no ${label} on this card.`;
  if (!document.querySelector(APPROVE)) return "No card here asks for your approval.";
  return document.querySelector(selector) ? "Which card? Press j or k to go to one." : `There is no ${label} here.`;
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
  const box = document.getElementById("words") ?? document.getElementById("find"), rail = box?.closest("#rail");
  if (rail && !rail.checkVisibility()) rail.showPopover();
  box?.select();
}

const KEYS = {
  j: () => walk(1),
  k: () => walk(-1),
  a: approve,
  e: () => press("Edit", "[popovertarget^='edit-']"),
  r: () => press("Reject", "[popovertarget^='reject-']"),
  x: () => press("checkbox", ".pick"),
  "/": openSearch,
  "?": () => document.getElementById("keys").togglePopover(),
};

document.addEventListener("keydown", event => {
  const { key } = event, act = KEYS[key], now = performance.now(), isModified = event.ctrlKey || event.metaKey || event.altKey;
  const isOff = key !== "?" && (localStorage.getItem(KEYS_OFF) || document.querySelector(":popover-open:not(#outage)"));
  if (event.target.closest?.(TYPED_IN) || event.isComposing || isModified || event.repeat || isOff) return;
  if (!act) {
    typedAt = key.length === 1 ? now : ["Enter", "Tab", "Escape"].includes(key) ? -Infinity : typedAt;
    if (KEYS[key.toLowerCase()] && event.getModifierState("CapsLock")) hint("Caps Lock is on: keys do nothing.");
    return;
  }
  event.preventDefault();
  hint("");
  if (now - typedAt < TEXT_MS) hint(AFTER_TEXT);
  else if ("aerx".includes(key) && now - lostAt < LOSS_MS) hint(OVER);
  else act();
});

/** Put the focus where a person writes in an open sheet, or on the sheet, so that no button takes what is typed. */
function focusIn(sheet) {
  if (!sheet.matches(":popover-open") || sheet.contains(document.activeElement)) return;
  sheet.tabIndex = -1;
  (sheet.querySelector("textarea, select, input:not([type=hidden], [type=number])") ?? sheet).focus();
}
document.addEventListener("toggle", ({ target }) => { if (target.matches("article .pop")) focusIn(target); }, true);

// The second press of a double click meets the button again, or the sheet that the first one has opened over it.
for (const kind of ["mousedown", "click"]) document.addEventListener(kind, event => {
  const sheet = event.target.closest?.("article .pop") ?? event.target.closest?.("article [popovertarget]")?.popoverTargetElement;
  const isOnField = event.target.closest?.(".pop :is(a, button, input, label, select, textarea)");
  if (event.detail > 1 && sheet?.matches(":popover-open") && !isOnField) event.preventDefault();
});
