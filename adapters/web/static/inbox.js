// The list of what waits: a row opens its card beside the list without a page load, so that what was read and selected stays.
"use strict";

let openings = 0, opened = 0;  // the numbers of the last row that was chosen, and of the last that is shown
const rowsOf = () => [...document.querySelectorAll("#queue a.entry")], openCard = () => document.querySelector("#thread > article:last-of-type");

/** Show the page that a link of the list leads to, and go to its card; where the screen shows no card, to its row. */
async function openRow({ href, id }) {
  const order = ++openings;
  meant = null;
  document.activeElement.blur();  // a key that follows at once is not for the card that goes
  for (const row of rowsOf()) row.ariaCurrent = row.id === id ? "true" : null;
  const asks = fetch(href, { headers: { Accept: "text/html", ...BY_SCRIPT } }), text = await asks.then(each => each.ok && each.text()).catch(() => "");
  if (order !== openings) return;
  opened = order;
  if (!text) return checkServer();
  sent++;  // a page that was asked for before has another card
  take(text);
  if (href !== location.href) history[location.search.includes("open=") ? "replaceState" : "pushState"](null, "", href);
  goTo(openCard()?.checkVisibility() ? openCard() : rowsOf().find(each => each.ariaCurrent));
}

/** Put the focus on a card, from its beginning, or on a row. */
function goTo(place) {
  if (place?.matches("article")) place.tabIndex = -1;
  place?.focus({ preventScroll: true });
  noteScriptScroll();
  for (const each of [...rowsOf().filter(row => row.ariaCurrent), place]) each?.scrollIntoView({ block: each === openCard() ? "start" : "nearest" });
}

/** To the next or previous row; first to the open card, if the focus is elsewhere. */
function walkRows(step) {
  const rows = rowsOf(), at = rows.findIndex(each => each.ariaCurrent), there = rows[Math.min(Math.max(at + step, 0), rows.length - 1)], card = openCard();
  if (!there) return hint("There is no card here.");
  const isHere = card?.checkVisibility() && opened === openings && (there === rows[at] || (step > 0 && focusedCard() !== card));
  if (!isHere) return openRow(there);
  if (!isInSight(card)) settleAgain(card);
  goTo(card);
}

document.addEventListener("click", event => {
  const link = event.target.closest?.("#queue a.entry, a.back");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  openRow(link);
});
addEventListener("popstate", () => { if (!location.hash) openRow(location); });
