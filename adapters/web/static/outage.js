// Tells while Signoff or its database cannot be reached. Buttons are off meanwhile; what was typed stays.
"use strict";

const CHECK_MS = 1400, READING_MS = 4000, AWAY_STATUSES = [502, 503, 504], AFTER = "What you wrote stays here, and the buttons work again as soon as it answers.";
const UNREACHED = `Signoff cannot be reached now. ${AFTER}`, NO_DATABASE = `Signoff cannot reach its database now. ${AFTER}`;
const UNCONFIRMED = "Signoff cannot be reached: your click is not confirmed. Look whether it took effect before you try again. What you wrote stays here.";
const banner = Object.assign(document.createElement("div"), { id: "outage", popover: "manual", role: "alert" });  // over the page: nothing moves
let isAway = false, answeredAt = -Infinity;

function isAnswerShown() { return performance.now() - answeredAt < READING_MS; }

/** Say that Signoff is away. What became of a click or a form is still shown some seconds later. */
function noteAway(sentence, isAnswer = false) {
  if (isAnswer) answeredAt = performance.now();
  if (banner.textContent !== sentence && (isAnswer || !isAnswerShown())) banner.textContent = sentence;
  if (isAnswer || !document.querySelector("[data-passing], [data-reloads]")) banner.showPopover();  // else the page itself says so
  switchButtons(true);
}

/** Signoff answers: switch the buttons on, and load the page again if it was away. */
function noteBack() {
  if (!isAnswerShown() && banner.matches(":popover-open")) banner.hidePopover();
  if (!isAway) return;
  switchButtons(false);
  for (const each of document.querySelectorAll("[data-passing]")) each.textContent = each.dataset.passing;
  if (document.querySelector("[data-reloads]")) location.reload();
  else if (window.htmx) refresh();
}

function switchButtons(isOff) {
  isAway = isOff;
  for (const button of document.querySelectorAll("button:not([type=button])")) button.ariaDisabled = isOff ? "true" : null;
}

/** Ask the server whether it and its database answer, all the time while the page is in view. */
async function checkServer() {
  const ask = () => fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(CHECK_MS) }).catch(() => ({ status: 502 }));
  const { status } = document.hidden && !isAway ? { status: 200 } : await ask();
  if (AWAY_STATUSES.includes(status)) noteAway(status === 503 ? NO_DATABASE : UNREACHED);
  else noteBack();
  setTimeout(checkServer, CHECK_MS);
}

document.body.append(banner);
document.addEventListener("click", event => {
  if (event.target.closest?.("[aria-disabled=true]")) { event.preventDefault(); event.stopImmediatePropagation(); }
}, true);
checkServer();
