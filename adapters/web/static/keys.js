// Single keys: they move between cards, press the buttons of the card in focus, as a click there would, and search.
"use strict";

const KEYS_OFF = "signoff.keys-off", TYPED_IN = "input:not(.pick), textarea, select, [contenteditable]";
const CONTROLS = "a, button, input, label, select, summary, textarea";
const STOPS = "#thread > article.card, #thread > .run > summary, #thread > .run[open] > article.card";
const APPROVE = ".acts > button[value^='approve:'].go";

const focusedCard = () => document.activeElement?.closest?.("article.card");
let meant = null;  // the id of the card that asked when the person turned to it, by the focus or the pointer

function turnTo(card) { if (card?.id !== meant) meant = card?.querySelector(APPROVE) ? card.id : null; }

/** Whether somebody else decided the card that the person turned to: what they press now may be meant for that one. */
function isOver() { return meant && !document.getElementById(meant)?.querySelector(APPROVE); }

document.addEventListener("focusin", event => { if (event.target.id !== "main") turnTo(focusedCard()); });
document.addEventListener("pointerdown", event => turnTo(event.target.closest?.("article.card")));

/** The card that a key decides on: the one in focus if it asks. Without one, the only one of a thread that does. */
function askingCard() {
  const asking = [...document.querySelectorAll("article.card")].filter(card => card.querySelector(APPROVE));
  if (asking.includes(focusedCard())) return focusedCard();
  return asking.length === 1 && !document.querySelector("[data-list]") ? asking[0] : null;
}

/** Move the focus to the next or previous card and show it from its beginning. */
function walk(step) {
  const cards = [...document.querySelectorAll(STOPS)], at = cards.indexOf(document.activeElement?.closest(STOPS));
  const there = at < 0 && step < 0 ? cards.at(-1) : cards[Math.min(Math.max(at + step, 0), cards.length - 1)];
  if (!there) return;
  if (!isInSight(there)) settleAgain(there);
  if (there.matches("article")) there.tabIndex = -1;
  there.focus({ preventScroll: true });
  noteScriptScroll();
  there.scrollIntoView({ block: "start" });
}

/** Open a sheet of the card. */
function openSheet(card, kind) {
  const opener = card?.querySelector(`[popovertarget^="${kind}-"]`);
  opener?.click();
  focusIn(opener?.popoverTargetElement);
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
  a: card => card?.querySelector(APPROVE).click(),
  e: card => openSheet(card, "edit"),
  r: card => openSheet(card, "reject"),
  x: card => card?.querySelector(".pick")?.click(),
  "/": openSearch,
  "?": () => document.getElementById("keys").togglePopover(),
};

document.addEventListener("click", event => {
  const opener = event.target.closest?.("article.card [popovertarget]"), sheet = opener?.popoverTargetElement;
  if (!sheet || opener.popoverTargetAction === "hide") return;
  if (event.detail > 1 && sheet.matches(":popover-open")) event.preventDefault();  // a double click opens it too
  else sheet.addEventListener("toggle", () => focusIn(sheet), { once: true });
});

// The second press of a double click may meet the sheet that the first one has opened over the button.
document.addEventListener("mousedown", event => {
  const isOnSheet = event.target.closest?.("article.card .pop") && !event.target.closest(CONTROLS);
  if (event.detail > 1 && isOnSheet) event.preventDefault();
});

// Enter on a checkbox would send the form of all that are selected.
document.addEventListener("keydown", event => { if (event.key === "Enter" && event.target.matches?.(".pick")) event.preventDefault(); });

const TEXT_PAUSE = 2000, TEXT_ENDS = ["Enter", "Tab", "Escape"], DECISIVE = "aerx";  // ms
let typedAt = -TEXT_PAUSE;

/** Whether a key is a letter in a field, or a command that people would not give in the middle of a text they type. */
function isInText(event) {
  const isWritten = event.target.closest?.(TYPED_IN) || event.isComposing, continues = event.timeStamp - typedAt < TEXT_PAUSE;
  const isLetter = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (isLetter && (isWritten || !KEYS[event.key])) typedAt = event.timeStamp;
  if (TEXT_ENDS.includes(event.key)) typedAt = -TEXT_PAUSE;
  return isWritten || (continues && DECISIVE.includes(event.key));
}

document.addEventListener("keydown", event => {
  const isTyped = isInText(event), act = KEYS[event.key];
  if (!act || isTyped || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key !== "?" && (localStorage.getItem(KEYS_OFF) || document.querySelector(":popover-open"))) return;
  event.preventDefault();
  if (isOver()) {
    meant = null;
    typedAt = event.timeStamp;  // it may begin a reason, the rest of which is no command either
    const isDecisive = DECISIVE.includes(event.key);
    document.getElementById("news").textContent = `Somebody decided that card.${isDecisive ? " Nothing was done." : ""}`;
    if (isDecisive) return;
  }
  act(askingCard());
});

document.documentElement.classList.add("has-keys");
const keysOn = document.getElementById("keys-on");
keysOn.checked = !localStorage.getItem(KEYS_OFF);
keysOn.addEventListener("change", () => {
  if (keysOn.checked) localStorage.removeItem(KEYS_OFF);
  else localStorage.setItem(KEYS_OFF, "1");
});
