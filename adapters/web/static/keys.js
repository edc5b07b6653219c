// Single keys: they move between cards, press the buttons of the card in focus, as a click there would, and search.
"use strict";

const KEYS_OFF = "signoff.keys-off", TYPED_IN = "input:not(.pick), textarea, select, [contenteditable]";
const CONTROLS = "a, button, input, label, select, summary, textarea";
const STOPS = "#thread > article.card, #thread > .run > summary, #thread > .run[open] > article.card";
const APPROVE = ".acts > button[value^='approve:'].go";

const focusedCard = () => document.activeElement?.closest?.("article.card");
let meant = null;   // the id of the card that asked when the person turned to it: by the focus, by the pointer, as the only one
let walked = null;  // what names the card, or the entry of several, to which j or k led
const decidedHere = new Set();  // ids of cards that the person decides on this page

/** The card that a key decides on: the one in focus if it asks. In a thread the only one that does, unless one walked to another. */
function askingCard() {
  const asking = [...document.querySelectorAll("article.card")].filter(card => card.querySelector(APPROVE)), focused = focusedCard();
  if (asking.includes(focused)) return focused;
  const isAlone = asking.length === 1 && !document.querySelector("[data-list]");
  const stop = document.activeElement?.closest(STOPS);
  return isAlone && !(stop && nameOfStop(stop) === walked) ? asking[0] : null;
}

/** The id of a card; of an entry of several commands, in which the title has the focus, that of the entry. */
function nameOfStop(stop) { return stop.id || stop.parentElement.id; }

/** The person turned to a card, or away from all. */
function turnTo(card) {
  if (!card || card.id !== meant) meant = (card?.querySelector(APPROVE) ? card : askingCard())?.id ?? null;
}

/** Whether a card asks this person. */
function isAsking(id) { return Boolean(document.getElementById(id)?.querySelector(APPROVE)); }

/** A person who turned to no card sees the only one that asks. Call it after every change of the page. */
function turnToOnly() {
  const isFree = !meant || (isDecidedByPerson(meant) && !isAsking(meant)), card = isFree && askingCard();
  if (!card) return;
  meant = card.id;
  settleForKeys(card);
}

/** Whether the card that the person turned to asks them no more, as somebody else decided it: a key may still be meant for it. */
function isOver() { return meant && !isDecidedByPerson(meant) && !isAsking(meant); }

/** Whether this person decided a card: here, or as the card itself says by a line, in another window, or by a click whose answer was lost. */
function isDecidedByPerson(id) {
  const name = document.getElementById("me")?.defaultValue, said = document.getElementById(id)?.getAttribute("aria-label") ?? "";
  return decidedHere.has(id) || (name && !isAsking(id) && said.endsWith(` by @${name}`));
}

/** Say that the card which the person turned to is decided; call it before a card leaves the page. */
function noteLoss(card) {
  if (card.id === meant && !decidedHere.has(meant)) hint(`${titleOfCard(card)} asks no more.`);
}

document.addEventListener("focusin", event => { if (event.target.id !== "main") turnTo(focusedCard()); });
document.addEventListener("pointerdown", event => turnTo(event.target.closest?.("article.card")));

/** Move the focus to the next or previous card and show it from its beginning. */
function walk(step) {
  if (document.getElementById("queue")) return walkRows(step);
  const cards = [...document.querySelectorAll(STOPS)], at = placeAmong(cards, step);
  const there = cards[Math.min(Math.max(at + step, 0), cards.length - 1)];
  if (!there) return hint("There is no card here.");
  if (!isInSight(there)) settleAgain(there);
  if (there.matches("article")) there.tabIndex = -1;
  walked = nameOfStop(there);
  there.focus({ preventScroll: true });
  noteScriptScroll();
  there.scrollIntoView({ block: "start" });
}

/** The index of the card in focus; without one, that from which a step leads to an end. */
function placeAmong(cards, step) {
  const at = cards.indexOf(document.activeElement?.closest(STOPS));
  return at < 0 && step < 0 ? cards.length : at;
}

/** Press what a key stands for on a card, or say why not. */
function press(label, selector) {
  const card = askingCard(), control = selector === ".pick" && card ? document.getElementById(`pick-${card.id}`) : card?.querySelector(selector);
  if (!control) return hint(whyNot(label, selector));
  if (control.disabled) return hint("Your decision is being sent.");
  if (control.matches(".pick") && !isSettledForKeys(card)) return hint(JUST_APPEARED);
  control.click();
  focusIn(control.popoverTargetElement);
}

/** Move the focus to the button that approves the selected cards; return whether there are any. */
function goToSelected() {
  const number = document.querySelectorAll(".pick:checked").length;
  if (!number) return false;
  document.querySelector("[data-selected]").focus();
  hint(`Enter approves ${number === 1 ? "the selected card" : `the ${number} selected cards`}. To decide on one alone, take it out with x.`);
  return true;
}

/** Why a key presses nothing. */
function whyNot(label, selector) {
  if (focusedCard()) return `There is no ${label} on this card.`;
  if (!document.querySelector(APPROVE)) return "No card here asks for your approval.";
  return document.querySelector(selector) ? "Which card? Press j or k to go to one." : `There is no ${label} here.`;
}

/** Put the focus where a person writes in an open sheet, or on the sheet, so that no button takes what is typed. */
function focusIn(sheet) {
  if (!sheet?.matches(":popover-open") || sheet.contains(document.activeElement)) return;
  const field = sheet.querySelector("textarea, select, input:not([type=hidden], [type=number])");
  if (!field) sheet.tabIndex = -1;
  (field || sheet).focus();
}

/** Put the focus where one searches; a narrow screen hides the box in the navigation. */
function openSearch() {
  const box = document.getElementById("words") || document.getElementById("find"), rail = box?.closest("#rail");
  if (rail && !rail.checkVisibility()) rail.showPopover();
  box?.focus();
  box?.select();
}

const KEYS = {
  j: () => walk(1),
  k: () => walk(-1),
  a: () => goToSelected() || press("Approve", APPROVE),
  e: () => press("Edit", "[popovertarget^='edit-']"),
  r: () => press("Reject", "[popovertarget^='reject-']"),
  x: () => press("checkbox", ".pick"),
  "/": openSearch,
  "?": () => document.getElementById("keys").togglePopover(),
};

document.addEventListener("click", event => {
  const opener = event.target.closest?.("article.card [popovertarget]"), sheet = opener?.popoverTargetElement;
  if (!sheet || opener.popoverTargetAction === "hide") return;
  if (event.detail > 1 && sheet.matches(":popover-open")) {  // a double click opens it too
    event.preventDefault();
    focusIn(sheet);
  } else sheet.addEventListener("toggle", () => focusIn(sheet), { once: true });
});

// The second press of a double click may meet the sheet that the first one has opened over the button.
document.addEventListener("mousedown", event => {
  const isOnSheet = event.target.closest?.("article.card .pop") && !event.target.closest(CONTROLS);
  if (event.detail > 1 && isOnSheet) event.preventDefault();
});

// Enter on a checkbox would send the form of all that are selected.
document.addEventListener("keydown", event => { if (event.key === "Enter" && event.target.matches?.(".pick")) event.preventDefault(); });

// In a sheet Enter is a line end, and Ctrl+Enter or Cmd+Enter presses its button, as a click would.
document.addEventListener("keydown", event => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !event.target.matches?.("article.card .pop :is(textarea, input)")) return;
  event.preventDefault();
  event.target.form.querySelector("button:not([type=button])").click();
});

const AFTER_TEXT = "Nothing was done. After typed text keys rest for two seconds.";
const AFTER_LOSS = "Nothing was done. After a card that others decided keys rest for two seconds, as you may be typing a reason.";
const TEXT_PAUSE = 2000, TEXT_ENDS = ["Enter", "Tab", "Escape"], DECISIVE = "aerx";  // ms
let typedAt = -TEXT_PAUSE, isAfterLoss = false;

/** Whether a key is a letter in a field, or a command that people would not give in the middle of a text they type. */
function isInText(event) {
  const isWritten = event.target.closest?.(TYPED_IN) || event.isComposing, continues = event.timeStamp - typedAt < TEXT_PAUSE;
  const isLetter = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (isLetter && (isWritten || !KEYS[event.key])) [typedAt, isAfterLoss] = [event.timeStamp, false];
  if (TEXT_ENDS.includes(event.key)) typedAt = -TEXT_PAUSE;
  return isWritten || (continues && DECISIVE.includes(event.key));
}

/** Whether the keys are switched off, or a sheet is open, in which one writes. */
function isKeyless(key) { return key !== "?" && (localStorage.getItem(KEYS_OFF) || document.querySelector(":popover-open:not(#outage)")); }

document.addEventListener("keydown", event => {
  const isTyped = isInText(event), { key } = event, act = KEYS[key], isDecisive = DECISIVE.includes(key);
  const isElsewhere = event.target.closest?.(TYPED_IN) || event.isComposing || event.ctrlKey || event.metaKey || event.altKey;
  if (isElsewhere || event.repeat || isKeyless(key)) return;
  hint("");
  if (!act && KEYS[key.toLowerCase()] && event.getModifierState("CapsLock")) return hint("Caps Lock is on: keys do nothing.");
  if (!act) return;
  event.preventDefault();
  if (isTyped) return hint(isAfterLoss ? AFTER_LOSS : AFTER_TEXT);
  if (isOver()) {
    meant = walked = null;
    turnToOnly();
    [typedAt, isAfterLoss] = [event.timeStamp, true];  // it may begin a reason, the rest of which is no command either
    hint(`That card does not ask you any more.${isDecisive ? " Nothing was done." : ""}`);
    if (isDecisive) return;
  }
  act();
});

document.documentElement.classList.add("has-keys");
const keysOn = document.getElementById("keys-on");
keysOn.checked = !localStorage.getItem(KEYS_OFF);
keysOn.addEventListener("change", () => {
  if (keysOn.checked) localStorage.removeItem(KEYS_OFF);
  else localStorage.setItem(KEYS_OFF, "1");
});
turnToOnly();
