// More than five commands that ran under one decision are one entry of the thread, which opens. Places cards in it.
"use strict";

/** Insert an entry where its id, which begins with a time, belongs. */
function insertInOrder(parent, entry) {
  parent.insertBefore(entry, [...parent.children].find(child => child.id > entry.id) || null);
}

/** Make the entries of several commands as in the server's page, and move the cards that are here already into them. */
function arrangeRuns(fresh) {
  for (const run of fresh.querySelectorAll(".run")) {
    const place = document.getElementById(run.id) || addRun(run);
    for (const twin of run.querySelectorAll(":scope > article")) {
      const card = document.getElementById(twin.id);
      if (card && card.parentElement !== place) moveIntoRun(card, place);
    }
  }
  for (const run of document.querySelectorAll("#thread > .run")) if (!fresh.getElementById(run.id)) run.remove();
}

function addRun(run) {
  const place = run.cloneNode();
  place.append(run.querySelector("summary").cloneNode(true));
  insertInOrder(document.getElementById("thread"), place);
  return place;
}

/** The entry is open if somebody opened one of its cards; else it takes over the focus of a card. */
function moveIntoRun(card, place) {
  const active = document.activeElement, isActive = card.contains(active);
  if (card.querySelector("details[open]") || card.closest(".run[open]")) place.open = true;
  insertInOrder(place, card);
  if (isActive) (place.open ? active : place.querySelector("summary")).focus({ preventScroll: true });
}

/** The element to which a region of the server's page belongs on this page. */
function placeOf(region) { return document.getElementById(region.closest(".run")?.id || "thread"); }
