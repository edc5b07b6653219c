// Sends the page's forms without a page load, and shows the answer.
"use strict";

const DECIDES = /^(approve|edit|reject|stop):/;
let sendings = 0, told = 0;  // how many forms were sent, and which of them has told this person something last

/** Send a form and show the response; an error is shown at the top, and the typed text stays in its field. */
async function send(form, button) {
  const body = new URLSearchParams(new FormData(form, button)), pressed = [...form.elements].filter(each => each.matches("button"));
  const label = button?.textContent, written = contentOf(form);
  const place = form.closest("article, aside"), shown = taken;
  const decided = form.id === "selected" ? selectedCards() : DECIDES.test(button?.value) ? [place?.id] : [], order = ++sendings;
  const release = () => { for (const each of pressed) each.disabled = false; };
  for (const each of pressed) each.disabled = true;
  form.addEventListener("input", release, { once: true });
  if (button?.dataset.busy) document.getElementById("news").textContent = button.textContent = button.dataset.busy;
  for (const id of decided) decidedHere.add(id);
  let isAccepted = false;
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: BY_SCRIPT });
    const text = await answer.text();
    sent++;
    if (answer.status === 503) { noteAway(NO_DATABASE, refusal(text)); return; }
    const isHere = new URL(answer.url).pathname === location.pathname || answer.url === form.action;
    if (answer.ok && !isHere) { location.href = answer.url; return; }
    say(answer.ok ? "" : cardOf(place) + refusal(text));
    if (order > told) tell(answer.ok ? text : "");
    told = Math.max(told, order);
    if (answer.ok) {
      isAccepted = true;
      form.closest("[popover]")?.hidePopover();
      if (contentOf(form) === written) form.reset();
      walked = null;
      if (taken === shown) take(text);
      else await refresh();  // a newer page was shown since the form was sent
      if (form.matches(".reply") && !document.querySelector("#told > *")) showOwnReply();
      comeBack(place?.id);
    } else {
      release();
      markWrong(form, button, text);
      refresh();
    }
  } catch {
    noteAway(UNREACHED, UNCONFIRMED);
  } finally {
    for (const id of decided) if (!isAccepted || isAsking(id)) decidedHere.delete(id);
    release();
    if (button) button.textContent = label;
  }
}

/** Which card of a list a sentence at the top of the page is about. */
function cardOf(place) {
  const isNamed = document.querySelector("[data-list]") && place?.matches("article") && !place.querySelector(":popover-open");
  return isNamed ? titleOfCard(place) + ": " : "";
}

function titleOfCard(card) { return card.querySelector("h2")?.textContent.trim() ?? ""; }

/** Mark the fields that a refusal is about, and focus the first one, or the button, which lost the focus while it was disabled. */
function markWrong(form, button, text) {
  const wrong = [...new DOMParser().parseFromString(text, "text/html").querySelectorAll("[aria-invalid]")];
  const names = wrong.map(each => each.name || each.querySelector("[name]")?.name);
  const fields = [...form.elements].filter(each => each.matches("input, select, textarea"));
  for (const each of fields) each.removeAttribute("aria-invalid");
  for (const each of fields.filter(each => names.includes(each.name))) each.setAttribute("aria-invalid", "true");
  if (document.activeElement === document.body) (fields.find(each => names.includes(each.name)) || button)?.focus();
}

/** The values of a form, to notice what was typed while a request was running. */
function contentOf(form) { return String(new URLSearchParams(new FormData(form))); }

/** Show the answer that only this person sees, until they send something else. */
function tell(text) {
  const place = document.getElementById("told"), page = new DOMParser().parseFromString(text, "text/html");
  place?.replaceChildren(...(page.getElementById("told")?.childNodes || []));
  place?.lastElementChild?.scrollIntoView({ block: "nearest" });
}

function refusal(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  return page.querySelector("#alert .alert")?.textContent || "That did not work.";
}

document.addEventListener("submit", event => {
  const form = event.target;
  if (!form.matches(".acts, .apart, .reply, .lease, .pop form:not(.theme, .me, .out, #channel-sheet form), aside form:not(.danger form, .add form)")) return;
  event.preventDefault();
  send(form, event.submitter);
});

document.addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches?.("[data-enter]")) {
    event.preventDefault();
    event.target.form.requestSubmit(document.getElementById(event.target.dataset.enter));
  }
});

// A reply is about the cards that were shown when the person began to type it: about none if a browser brought it back.
let begunWith = null;
document.addEventListener("input", event => {
  if (event.target.id !== "reply") return;
  if (!event.target.value) begunWith = null;
  else begunWith ??= { hashes: document.querySelector("input[name=seen]")?.value ?? "", read: new Set(read), noticed: new Set(noticed) };
});
document.addEventListener("reset", event => { if (event.target.matches("form.reply")) begunWith = null; });
document.addEventListener("formdata", event => {
  if (!event.target.matches?.("form.reply")) return;
  event.formData.set("seen", begunWith ? seenOf(begunWith, event.formData.get("text")) : "");
});
