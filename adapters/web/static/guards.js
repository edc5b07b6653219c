// Keeps a click from deciding what a person has not seen: by a control that has just come or moved, on a command that was never on the screen.
"use strict";

const DECIDING = ".acts button:not([type=button]), .lease button, .pop:not(#keys, #channel-sheet) button:not([type=button])", SAFE = /^(reject|stop|edit|review|revoke):/;
const SETTLING_MS = 700, MOVED_PX = 4, HELD_MS = 5000, FIRST_LINE_PX = 28;
const JUST_APPEARED = "This has just appeared: nothing was done. Read it, then press again.";
const UNREAD = "What this does was not on the screen yet. Read it, then press again.";
const read = new Set(), controls = new Map();  // hashes of commands that were on the screen; where each control stands, when it came and moved

/** Names a control across updates. */
const keyOf = control => [control.closest("[popover]")?.id, control.id, control.value].join(" ");
/** What a card shows of its command: the text of its preview, its arguments, or the title of one without any. */
const commandOf = card => card.querySelector(".preview pre") ?? card.querySelector(".preview, .arguments") ?? card.querySelector("h2");

/** Note where controls stand, before and after an update. What it moved settles anew: another button may be under the pointer. */
function noteControls(isUpdated) {
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

function isSettled(control, isPointer) {
  const { came, moved } = controls.get(keyOf(control)) ?? { came: Infinity };
  return performance.now() - (isPointer ? Math.max(came, moved) : came) >= SETTLING_MS;
}

const boxHeight = document.querySelector("form.reply")?.offsetHeight ?? 0;  // it lies over the page
const watcher = new IntersectionObserver(entries => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) read.add(target.closest("article")?.dataset.hash);
}, { rootMargin: `0px 0px ${-boxHeight - FIRST_LINE_PX}px` });

/** Bring a card back instead of letting a control decide unseen; return whether it was held back. */
function holdBack(control, isPointer) {
  const card = control.closest("article"), { top, bottom, height } = (card ?? control).getBoundingClientRect();
  const isInSight = Math.min(bottom, innerHeight) - Math.max(top, 0) >= Math.min(height, innerHeight / 3);
  const isUnread = card?.dataset.hash && !read.has(card.dataset.hash) && !SAFE.test(control.value);
  if (!isUnread && (isPointer || !card || isInSight)) return false;
  control.closest(".pop")?.hidePopover();
  (isUnread ? commandOf(card) : card).scrollIntoView({ block: isUnread ? "center" : "start" });
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
  const hash = control.matches(".pick") && control.value.split(" ").pop();
  if (!hash) return holdBack(control, isPointer) || (!isSettled(control, isPointer) && hint(JUST_APPEARED));
  if (!read.has(hash)) document.getElementById(`row-${control.id.slice("pick-".length)}`).click();
  return !read.has(hash) && hint(UNREAD);
}

document.addEventListener("click", event => {
  const control = event.target.closest?.(`${DECIDING}, .pick:checked`);
  if (!control || !isHeld(control, event.detail > 0)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
document.addEventListener("toggle", ({ target }) => { if (target.matches(":popover-open")) settleAgain(target); }, true);
