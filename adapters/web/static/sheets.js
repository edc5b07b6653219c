// The sheets of cards (Approve ×N, Edit, Reject) while their card changes: what a person wrote in one stays, and one in which
// nothing was written goes with its card.
"use strict";

/** Whether a card stays as it is because of a sheet that is open; say in the sheet if it can decide nothing any more. */
function staysForItsSheet(card, fresh) {
  if (!card.querySelector(":popover-open")) return false;
  if (fresh.querySelector("[popover]")) return true;
  if (!isWritten(card)) return false;
  const said = (fresh.getAttribute("aria-label") || "").split(", ").slice(1).join(", ");
  tellInSheets(card, "Meanwhile: " + said + ". What you wrote stays here.");
  return true;
}

/** Remove a region that is no longer on the page, unless something was written in one of its sheets. */
function leave(region) {
  if (region.querySelector(":popover-open") && isWritten(region)) return tellInSheets(region, "Meanwhile this was decided. What you wrote stays here.");
  noteLoss(region);
  region.remove();
}

/** Whether a field of an open sheet differs from what the page was served with. */
function isWritten(card) {
  return [...card.querySelectorAll(":popover-open :is(input:not([type=hidden]), textarea, select)")].some(isChanged);
}

/** Show a sentence in the sheets of this card that are open, until they are closed; their buttons decide nothing now. */
function tellInSheets(card, sentence) {
  for (const sheet of card.querySelectorAll(":popover-open")) {
    if (sheet.querySelector(".alert")) continue;
    const line = document.createElement("p");
    line.className = "alert";
    line.setAttribute("role", "alert");
    line.textContent = sentence;
    sheet.prepend(line);
    for (const button of sheet.querySelectorAll("button[name=button]")) button.disabled = true;
    sheet.addEventListener("toggle", event => { if (event.newState === "closed") refresh(); }, { once: true });
  }
}
