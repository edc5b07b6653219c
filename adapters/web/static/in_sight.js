// What a person cannot see cannot be approved: remembers which commands have been on the screen, and brings back a card
// that somebody is about to decide on without having seen it.
"use strict";

const SAFE = /^(reject|stop|edit|review|revoke):/, FIRST_LINE_PX = 28, HELD_MS = 5000;
const OUT_OF_SIGHT = "This card was out of sight. Read it, then press again.";
const UNREAD = "What this does was not on the screen yet. Read it, then press again.";
// Hashes of proposals: those whose heading, and those whose command, was on the screen; and those that were brought back.
const noticed = new Set(), read = new Set(), broughtBack = new Set();

/** What a card shows of its command: the text of its preview, its arguments, or the title of one without any. */
function commandOf(card) {
  return card.querySelector(".preview pre") || card.querySelector(".preview, .arguments") || card.querySelector("h2");
}

/** Whether the first line of an element is on the screen, below its padding, and nothing lies over it. */
function isShown(element) {
  if (!element) return true;
  const { x, y, width, height } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(x + width / 2, y + Math.min(height - 1, FIRST_LINE_PX)));
}

/** Remember what is on the screen now; call it whenever something moved. */
function noteSeen() {
  if (document.hidden) return;
  for (const card of document.querySelectorAll("article[data-hash]")) {
    const { hash } = card.dataset;
    if (!read.has(hash) && isShown(commandOf(card))) read.add(hash);
    if (!noticed.has(hash) && (read.has(hash) || isShown(card.querySelector("h2")))) noticed.add(hash);
  }
}

/** Whether a third of a screen of the card is in view, or all of it. */
function isInSight(card) {
  const { top, bottom, height } = card.getBoundingClientRect();
  return Math.min(bottom, innerHeight) - Math.max(top, 0) >= Math.min(height, innerHeight / 3);
}

/** Bring a card back instead of letting a control act that would decide unseen; return whether it was held back. */
function holdBack(control, isPointer) {
  const card = control.matches(".pick") ? document.getElementById(turnOf(control)) : control.closest("article");
  if (!card) return false;
  const { hash } = card.dataset, isKnown = read.has(hash) || (broughtBack.has(hash) && isInSight(card));
  const isUnread = hash && !isKnown && !SAFE.test(control.value);
  if (!isUnread && (isPointer || isInSight(card))) return false;
  if (isUnread) broughtBack.add(hash);
  control.closest("[popover]")?.hidePopover();
  noteScriptScroll();
  if (isUnread) commandOf(card)?.scrollIntoView({ block: "center" });
  else card.scrollIntoView({ block: "start" });
  settleAgain(card);
  tellHeld(card, isUnread ? UNREAD : OUT_OF_SIGHT);
  return true;
}

let hintTimer = null;
/** Say for some seconds why a key did nothing, or take that away. What lies below the line is not shown and takes no click. */
function hint(sentence) {
  const place = document.getElementById("hint");
  if (!place) return;
  place.textContent = sentence;
  clearTimeout(hintTimer);
  if (sentence) place.animate([{ opacity: 0.2 }, { opacity: 1 }], 200);  // the same sentence again is seen to be new
  if (sentence) hintTimer = setTimeout(() => hint(""), HELD_MS);
  noteSeen();
}

/** Say beside the buttons why nothing happened, for some seconds. */
function tellHeld(card, sentence) {
  const place = card.querySelector(".below > .acts");
  document.getElementById("news").textContent = sentence;
  if (!place) return;
  place.dataset.held = sentence;
  setTimeout(() => delete place.dataset.held, HELD_MS);
}

/**
 * Of the proposals that were on the page when a line was begun, those that it may decide on. A command such as !approve,
 * also one to a helper (@NAME !approve), needs to have seen what it does; any other line rejects, or asks.
 */
function seenOf(begun, text) {
  const known = /^\s*(!|@[^]*!)/.test(text) ? begun.read : begun.noticed;
  return begun.hashes.split(" ").filter(hash => known.has(hash)).join(" ");
}

document.addEventListener("visibilitychange", noteSeen);
document.addEventListener("click", event => {
  const pick = event.target.closest?.(".pick");
  const isClosed = pick?.checked && !read.has(pick.value.split(" ").pop()) && !document.getElementById(turnOf(pick));
  if (isClosed) openRow(document.getElementById(`row-${turnOf(pick)}`)).then(() => hint(UNREAD));
  else if (!pick?.checked || !holdBack(pick, event.detail > 0)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
