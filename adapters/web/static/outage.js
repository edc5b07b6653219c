// Tells while Signoff or its database cannot be reached. Buttons are off meanwhile; what was typed stays.
"use strict";

const CHECK_MS = 1400, READING_MS = 4000, SENDING = "button:not([type=button])";
const UNREACHED = "Signoff cannot be reached now. What you wrote stays here, and the buttons work again as soon as it answers.";
const NO_DATABASE = "Signoff cannot reach its database now. What you wrote stays here, and the buttons work again as soon as it answers.";
const UNCONFIRMED = "Signoff cannot be reached: your click is not confirmed. Look whether it took effect before you try again. What you wrote stays here.";
const banner = Object.assign(document.createElement("div"), { id: "outage", popover: "manual", role: "alert" });  // over the page, so that nothing moves
let isAway = false, isChecking = false, nextCheck = null, answeredAt = -Infinity;

/** Show that Signoff is away. `answer`: what became of a click or a form, which is still shown some seconds later. */
function noteAway(sentence, answer) {
  if (answer) answeredAt = performance.now();
  if (answer || !isAnswerShown()) banner.textContent = answer || sentence;
  const isSaid = document.querySelector("[data-passing], [data-reloads]");  // the page itself says so
  if (answer || !isSaid) banner.showPopover();
  isAway = true;
  switchButtons();
}

function isAnswerShown() { return performance.now() - answeredAt < READING_MS; }

/** Signoff answers: switch the buttons on, and load the page again if it was away. */
function noteBack() {
  if (!isAnswerShown() && banner.matches(":popover-open")) banner.hidePopover();
  if (!isAway) return;
  isAway = false;
  switchButtons();
  const passing = document.querySelector("[data-passing]");
  if (passing) passing.textContent = passing.dataset.passing;
  if (document.querySelector("[data-reloads]")) location.reload();
  else if (window.htmx) refresh();
}

function switchButtons() {
  for (const button of document.querySelectorAll(SENDING)) button.ariaDisabled = isAway ? "true" : null;
}

/** Ask the server whether it and its database answer, all the time while the page is in view. */
async function checkServer() {
  if (isChecking) return;
  isChecking = true;
  clearTimeout(nextCheck);
  const { status } = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(CHECK_MS) }).catch(() => ({ status: 502 }));
  if ([502, 503, 504].includes(status)) noteAway(status === 503 ? NO_DATABASE : UNREACHED);
  else noteBack();
  isChecking = false;
  if (!document.hidden || isAway) nextCheck = setTimeout(checkServer, CHECK_MS);
}

document.body.append(banner);
document.addEventListener("click", event => {
  if (!isAway || !event.target.closest?.(SENDING)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
document.addEventListener("visibilitychange", () => { if (!document.hidden) checkServer(); });
checkServer();
