// Counts the selected cards on the button that approves them. Without this script the button says "Approve selected".
"use strict";

/** Write the number of selected cards on the button; call it after every change of the page. */
function countSelected() {
  const button = document.querySelector("[data-selected]"), number = document.querySelectorAll(".pick:checked").length;
  if (button) button.textContent = number ? `Approve ${number} selected` : "Approve selected";
}

/** The ids of the selected cards. */
function selectedCards() { return [...document.querySelectorAll(".pick:checked")].map(turnOf); }

/** The id of the turn that a checkbox selects. */
function turnOf(pick) { return pick.id.slice("pick-".length); }

/** Say so if cards that were selected are so no more, as others decided or changed them. */
function noteFewerSelected(before) {
  const now = selectedCards(), lost = before.filter(id => !now.includes(id) && !decidedHere.has(id)).length;
  if (lost) hint(`${lost} of the ${before.length} selected ${lost === 1 ? "was" : "were"} decided or changed meanwhile, and ${lost === 1 ? "is" : "are"} selected no more.`);
}

/** A card that was drawn again stays selected only if it shows what was selected. */
function keepSelection(old, fresh) {
  for (const pick of old.querySelectorAll(".pick:checked")) {
    const twin = fresh.querySelector("#" + CSS.escape(pick.id));
    if (twin?.value === pick.value) twin.checked = true;
  }
}

document.addEventListener("change", event => {
  if (!event.target.matches(".pick")) return;
  countSelected();
  noteControls();  // the button appears with the first one that is selected
});
document.addEventListener("reset", () => setTimeout(countSelected));
countSelected();
