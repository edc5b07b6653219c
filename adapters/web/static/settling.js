// A deciding control ignores clicks and keys in the first 700 ms after it appeared or moved: a live update must not
// move another card's button under the pointer just before a click.
"use strict";

const DECIDING = ".acts button:not([type=button]), .lease button, .pop button:not([type=button])";
const JUST_APPEARED = "This has just appeared: nothing was done. Read it, then press again.";
const SETTLING_MS = 700, SCRIPT_SCROLL_MS = 1000, MOVED_PX = 4;
const seen = new Map();
let timer = null, notedScroll = 0, pointerMoved = -Infinity, pointerAt = "", scrolledByScript = -Infinity;

/** Identifies a control across updates by its value and its form's hidden fields. */
function keyOf(control) {
  const carried = [...(control.form?.querySelectorAll("input[type=hidden]") || [])].map(field => field.value);
  return [control.closest("[popover], [data-live]")?.id, control.name, control.value, ...carried].join(" ");
}

/** Record the position of each control. Call it after every layout change; a moved control starts to settle again. */
function noteControls() {
  const now = performance.now(), present = new Set(), isPersonScrolling = now - scrolledByScript > SCRIPT_SCROLL_MS;
  const scrolled = scrollY - notedScroll;
  let isSettling = false;
  notedScroll = scrollY;
  for (const control of document.querySelectorAll(DECIDING)) {
    const { x, y, width } = control.getBoundingClientRect(), key = keyOf(control);
    if (!width) continue;
    present.add(key);
    const was = seen.get(key) || { x, y, appeared: now, moved: now, scrolled: -Infinity };
    seen.set(key, was);
    const isInPlace = Math.hypot(x - was.x, y - was.y) <= MOVED_PX;  // on the screen, also while the page scrolls
    const isShifted = !isInPlace && Math.hypot(x - was.x, y + scrolled - was.y) > MOVED_PX;
    if (isShifted || (!isInPlace && scrolled && !isPersonScrolling)) was.moved = now;
    else if (!isInPlace && scrolled) was.scrolled = now;
    if (!isInPlace) Object.assign(was, { x, y });
    const isFresh = now - was.moved < SETTLING_MS;
    isSettling ||= isFresh;
    if (isFresh || isAway) control.setAttribute("aria-disabled", "true");
    else control.removeAttribute("aria-disabled");
  }
  for (const key of seen.keys()) if (!present.has(key)) seen.delete(key);
  noteSeen();
  clearTimeout(timer);
  if (isSettling) timer = setTimeout(noteControls, SETTLING_MS / 10);
}

/** Call it before a script scrolls the page: that moves controls like an update. */
function noteScriptScroll() { scrolledByScript = performance.now(); }

/** For a pointer the control's last move counts; for a key, which acts on the focus, only its appearance counts. */
function settledSince(was, isPointer) {
  if (!isPointer) return was.appeared;
  return Math.max(was.moved, pointerMoved < was.scrolled ? was.scrolled : -Infinity);
}

/** Whether a key may decide on a card: it has been there, or the only one that asks, for long enough. */
function isSettledForKeys(card) {
  const times = [...card.querySelectorAll(DECIDING)].map(each => seen.get(keyOf(each))?.appeared).filter(Boolean);
  return times.length > 0 && performance.now() - Math.max(...times) >= SETTLING_MS;
}

/** Let the controls of a card settle for keys; the pointer is on the card that it clicks. */
function settleForKeys(card) {
  for (const control of card.querySelectorAll(DECIDING)) {
    const was = seen.get(keyOf(control));
    if (was) was.appeared = performance.now();
  }
}

/** Let the controls of a card settle as if they had just appeared. */
function settleAgain(card) {
  for (const control of card.querySelectorAll(DECIDING)) {
    const was = seen.get(keyOf(control));
    if (was) was.appeared = was.moved = performance.now();
  }
}

document.addEventListener("click", event => {
  const control = event.target.closest?.(DECIDING);
  if (!control) return;
  noteControls();
  const was = seen.get(keyOf(control)), isPointer = event.detail > 0;
  const isHeld = was && holdBack(control, isPointer);
  if (was && !isHeld && performance.now() - settledSince(was, isPointer) >= SETTLING_MS) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!isPointer && !isHeld) hint(JUST_APPEARED);
}, true);

document.addEventListener("pointermove", event => {
  const at = `${event.screenX} ${event.screenY}`;
  if (scrollY !== notedScroll) noteControls();
  if (at !== pointerAt) [pointerAt, pointerMoved] = [at, performance.now()];
}, { capture: true, passive: true });
for (const kind of ["wheel", "touchmove", "keydown"])
  document.addEventListener(kind, () => { scrolledByScript = -Infinity; }, { capture: true, passive: true });
document.addEventListener("scroll", noteControls, { capture: true, passive: true });
document.addEventListener("scrollend", () => { scrolledByScript = -Infinity; });
document.addEventListener("toggle", noteControls, true);
addEventListener("resize", noteControls);
new ResizeObserver(noteControls).observe(document.body);
