// Tells while Signoff or its database cannot be reached. Buttons are off meanwhile; what was typed stays.
"use strict";

const CHECK_MS = 1400, READING_MS = 4000, AWAY_STATUSES = [502, 503, 504];
const BY_SCRIPT = { "X-Requested-With": "fetch" };  // the answer sets no cookie: it may come after a new name
const SENDING = "button:not([type=button])";
const UNREACHED = "Signoff cannot be reached now. What you wrote stays here, and the buttons work again as soon as it answers.";
const NO_DATABASE = "Signoff cannot reach its database now. What you wrote stays here, and the buttons work again as soon as it answers.";
let isAway = false, checking = null, nextCheck = null, reading = null;

/** The banner lies over the page, in the top layer, so that nothing moves. */
function banner() {
  let place = document.getElementById("outage");
  if (!place) {
    place = document.createElement("div");
    place.id = "outage";
    place.popover = "manual";
    place.setAttribute("role", "alert");
    document.body.append(place);
  }
  return place;
}

/** Show that Signoff is away. `answer`: what became of a click or a form, which is still shown some seconds later. */
function noteAway(sentence, answer = "") {
  const place = banner();
  if (answer) { clearTimeout(reading); reading = null; place.dataset.answers = ""; }
  const said = "answers" in place.dataset ? answer || place.textContent : sentence;
  if (place.textContent !== said) place.textContent = said;
  const isSaid = document.querySelector("[data-passing], [data-reloads]");  // the page itself says so
  if (!place.matches(":popover-open") && (answer || !isSaid)) place.showPopover();
  isAway = true;
  switchButtons();
  clearTimeout(nextCheck);
  nextCheck = setTimeout(checkServer, CHECK_MS);
}

/** Signoff answers: switch the buttons on, and load the page again if it was away. */
function noteBack() {
  if (!isAway) return;
  isAway = false;
  switchButtons();
  const place = banner(), passing = document.querySelector("[data-passing]");
  const hide = () => { reading = null; delete place.dataset.answers; if (!isAway) place.hidePopover(); };
  if ("answers" in place.dataset) reading = setTimeout(hide, READING_MS);
  else hide();
  if (passing) passing.textContent = passing.dataset.passing;
  refresh();
}

/** Controls that decide are switched by `noteControls`, which also lets them settle. */
function switchButtons() {
  for (const button of document.querySelectorAll(SENDING)) {
    if (isAway) button.setAttribute("aria-disabled", "true");
    else if (!button.matches(DECIDING)) button.removeAttribute("aria-disabled");
  }
  noteControls();
}

/** Ask the server whether it and its database answer, all the time while the page is in view. */
async function checkServer() {
  if (checking) return;
  clearTimeout(nextCheck);
  checking = AbortSignal.timeout(CHECK_MS);
  try {
    const { status } = await fetch("/healthz", { cache: "no-store", signal: checking });
    if (AWAY_STATUSES.includes(status)) noteAway(status === 503 ? NO_DATABASE : UNREACHED);
    else noteBack();
  } catch {
    noteAway(UNREACHED);
  }
  checking = null;
  clearTimeout(nextCheck);
  if (!document.hidden || isAway) nextCheck = setTimeout(checkServer, CHECK_MS);
}

document.addEventListener("click", event => {
  if (!isAway || !event.target.closest?.(SENDING)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
document.addEventListener("visibilitychange", () => { if (!document.hidden) checkServer(); });
