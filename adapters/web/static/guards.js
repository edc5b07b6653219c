// Keeps a click from deciding what a person has not seen: a control that has just come or moved, a command that was never on the screen.
"use strict";

const DECIDING = ".acts button:not([type=button]), .lease button, .pop button:not([type=button])", SAFE = /^(reject|stop|edit|review|revoke):/;
const SETTLING_MS = 700, MOVED_PX = 4, HELD_MS = 5000, FIRST_LINE_PX = 28;
const JUST_APPEARED = "This has just appeared: nothing was done. Read it, then press again.";
const UNREAD = "What this does was not on the screen yet. Read it, then press again.";
const OUT_OF_SIGHT = "This card was out of sight. Read it, then press again.";
const read = new Set(), moved = new Map();  // hashes of proposals whose command was on the screen; when a control was last moved
let appeared = new Map(), hintTimer = null;  // when each control came

/** Names a control across updates by its value and its form's hidden fields. */
function keyOf(control) {
  const carried = [...(control.form?.querySelectorAll("input[type=hidden]") ?? [])].map(field => field.value);
  return [control.closest("[popover]")?.id, control.id, control.value, ...carried].join(" ");
}

function noteAppeared() {
  const keys = [...document.querySelectorAll(DECIDING)].map(keyOf);
  appeared = new Map(keys.map(key => [key, appeared.get(key) ?? performance.now()]));
}

/** Where each control that decides stands on the screen. */
function placesOfControls() {
  const shown = [...document.querySelectorAll(DECIDING)].filter(each => each.checkVisibility());
  return new Map(shown.map(each => [keyOf(each), each.getBoundingClientRect()]));
}

/** Let what an update moved settle: another button may be under the pointer now. */
function noteMoved(before) {
  for (const [key, { x, y }] of placesOfControls()) {
    const was = before.get(key);
    if (!was || Math.hypot(x - was.x, y - was.y) > MOVED_PX) moved.set(key, performance.now());
  }
}

/** Let the controls in a place settle as if they had just appeared. */
function settleAgain(place) {
  for (const control of place.querySelectorAll(DECIDING)) appeared.set(keyOf(control), performance.now());
}

function isSettled(control, isPointer) {
  const key = keyOf(control), since = Math.max(appeared.get(key) ?? performance.now(), (isPointer && moved.get(key)) || 0);
  return performance.now() - since >= SETTLING_MS;
}

/** What a card shows of its command: the text of its preview, its arguments, or the title of one without any. */
function commandOf(card) {
  return card.querySelector(".preview pre") ?? card.querySelector(".preview, .arguments") ?? card.querySelector("h2");
}

const box = document.querySelector("form.reply")?.offsetHeight ?? 0;  // it lies over the page
const watcher = new IntersectionObserver(entries => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) read.add(target.closest("article")?.dataset.hash);
}, { rootMargin: `0px 0px ${-box - FIRST_LINE_PX}px` });

/** Notice when a command comes on the screen. */
function watchCards() {
  watcher.disconnect();
  for (const card of document.querySelectorAll("article[data-hash]")) if (!read.has(card.dataset.hash)) watcher.observe(commandOf(card));
}

/** Whether a third of a screen of the card is in view, or all of it. */
function isInSight(card) {
  const { top, bottom, height } = card.getBoundingClientRect();
  return Math.min(bottom, innerHeight) - Math.max(top, 0) >= Math.min(height, innerHeight / 3);
}

/** Bring a card back instead of letting a control decide unseen; return whether it was held back. */
function holdBack(control, isPointer) {
  const card = control.closest("article"), hash = card?.dataset.hash;
  const isUnread = hash && !read.has(hash) && !SAFE.test(control.value);
  if (!isUnread && (isPointer || !card || isInSight(card))) return false;
  control.closest("[popover]")?.hidePopover();
  if (isUnread) commandOf(card).scrollIntoView({ block: "center" });
  else card.scrollIntoView({ block: "start" });
  settleAgain(card);
  hint(isUnread ? UNREAD : OUT_OF_SIGHT);
  return true;
}

/** Say for some seconds why nothing was done. */
function hint(sentence) {
  const place = document.getElementById("hint");
  clearTimeout(hintTimer);
  place.textContent = sentence;
  if (sentence) hintTimer = setTimeout(() => { place.textContent = ""; }, HELD_MS);
}

/** Whether a click may do what its button says; else say why not. */
function isAllowed(control, isPointer) {
  if (control.ariaDisabled === "true" || holdBack(control, isPointer)) return false;
  if (isSettled(control, isPointer)) return true;
  hint(JUST_APPEARED);
  return false;
}

/** A row whose command was not on the screen is opened instead of selected. */
function isReadRow(pick) {
  if (read.has(pick.value.split(" ").pop())) return true;
  document.getElementById(`row-${pick.id.slice("pick-".length)}`).click();
  hint(UNREAD);
  return false;
}

document.addEventListener("click", event => {
  const control = event.target.closest?.(DECIDING), pick = event.target.closest?.(".pick:checked");
  if ((!control || isAllowed(control, event.detail > 0)) && (!pick || isReadRow(pick))) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
document.addEventListener("toggle", ({ target, newState }) => {
  if (newState === "open" && target.matches("[popover]")) settleAgain(target);
}, true);
