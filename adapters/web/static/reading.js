// Keeps where a person reads when a region is drawn again: the focus, scroll positions and the selected text.
"use strict";

const SCROLLED = "pre, textarea, [role=region]";

/** Remember them in a region of the page. The answer restores them in the region that took its place. */
function rememberReading(old) {
  const active = document.activeElement, selected = selectionIn(old);
  const focused = !active.id && active !== old && old.contains(active) && placeIn(old, active);
  const scrolls = [...old.querySelectorAll(SCROLLED)].map(each => [each.scrollTop, each.scrollLeft]);
  return region => {
    [...region.querySelectorAll(SCROLLED)].forEach((each, index) => {
      if (scrolls[index]) [each.scrollTop, each.scrollLeft] = scrolls[index];
    });
    // The button in the place of the one in focus may do something else, such as Stop in the place of Approve.
    const twin = focused && region.getElementsByTagName(focused.tag)[focused.index];
    if (twin && (twin.tagName !== "BUTTON" || twin.textContent === active.textContent)) twin.focus({ preventScroll: true });
    else if (focused && region.matches("article")) comeBack(region.id);
    if (selected) select(region, selected);
  };
}

function placeIn(old, element) {
  return { tag: element.tagName, index: [...old.getElementsByTagName(element.tagName)].indexOf(element) };
}

/** Where the selected text begins in the text of a region, and the text; null if nothing there is selected. */
function selectionIn(old) {
  const selection = getSelection();
  if (selection.isCollapsed || !old.contains(selection.anchorNode) || !old.contains(selection.focusNode)) return null;
  const range = selection.getRangeAt(0), before = document.createRange();
  before.setStart(old, 0);
  before.setEnd(range.startContainer, range.startOffset);
  return { start: before.toString().length, text: range.toString() };
}

/** Select the text again, if it is still where it was. */
function select(region, { start, text }) {
  if (!region.textContent.startsWith(text, start)) return;
  const [from, to] = [placeOfCharacter(region, start), placeOfCharacter(region, start + text.length)];
  getSelection().setBaseAndExtent(...from, ...to);
}

function placeOfCharacter(region, offset) {
  const texts = document.createTreeWalker(region, NodeFilter.SHOW_TEXT);
  let node = texts.nextNode();
  for (; offset > node.length; node = texts.nextNode()) offset -= node.length;
  return [node, offset];
}
