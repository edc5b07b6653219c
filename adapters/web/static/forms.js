// Sends forms by htmx and shows the answer: the page, a refusal above the form, or that nobody knows what became of it.
"use strict";

const busy = new Map(), decidedHere = new Set();  // labels of buttons whose form is on its way; ids of cards that the person decides here
let answered = 0, begun = null;  // forms that were answered; the proposals that were seen when the reply was begun

const contentOf = form => String(new URLSearchParams(new FormData(form)));
const parsed = text => new DOMParser().parseFromString(text, "text/html");
const refusalIn = text => parsed(text).querySelector("#alert .alert")?.textContent ?? "That did not work.";
const selectedCards = () => [...document.querySelectorAll(".pick:checked")].map(each => each.id.slice("pick-".length));
const nameOf = button => `${button.value} ${busy.get(button) ?? button.textContent}`;

/** Let a button be pressed again, under its own name. */
function release(button) {
  if (!busy.has(button)) return;
  if (button.dataset.busy) button.textContent = busy.get(button);
  busy.delete(button);
  button.ariaDisabled = isAway ? "true" : null;
}

document.addEventListener("htmx:configRequest", ({ detail }) => {
  const button = detail.triggeringEvent?.submitter;
  if (button?.name) detail.parameters[button.name] = button.value;
  if (detail.elt.matches(".reply")) detail.parameters.seen = begun?.join(" ") ?? "";
});

document.addEventListener("htmx:beforeRequest", ({ detail: { requestConfig: request, xhr } }) => {
  request.answered = answered;
  if (request.verb !== "post") return;
  const form = request.elt.form ?? request.elt, button = request.triggeringEvent.submitter ?? request.elt;
  const buttons = [...form.elements].filter(each => each.matches("button")), card = form.closest("article, aside")?.id ?? "";
  Object.assign(request, { form, buttons, card, shown, written: contentOf(form) });
  if (/^(approve|edit|reject|stop):/.test(button.value)) decidedHere.add(card);
  for (const each of buttons) {
    busy.set(each, each.textContent);
    each.ariaDisabled = "true";
  }
  if (button.dataset.busy) document.getElementById("news").textContent = button.textContent = button.dataset.busy;
  form.addEventListener("input", () => buttons.forEach(release), { once: true });
  xhr.addEventListener("error", () => noteAway(UNCONFIRMED, true));
  xhr.addEventListener("loadend", () => { buttons.forEach(release); if (xhr.status !== 200) decidedHere.delete(card); });
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { xhr, requestConfig: request } = detail;
  (request.verb === "post" ? takeAnswer : takePage)(detail, request, xhr);
  if (detail.shouldSwap) request.was = beforeUpdate();
});
document.addEventListener("htmx:afterRequest", ({ detail: { requestConfig: request } }) => {
  if (request.was) afterUpdate(request.was, request);
});

// htmx would push the address of a form's answer; the page keeps its own.
document.addEventListener("htmx:beforeHistoryUpdate", ({ detail: { history, requestConfig } }) => {
  if (requestConfig.verb === "post") Object.assign(history, { type: "replace", path: location.pathname + location.search });
});

/** Show the answer to a form; a page that was drawn since it was sent is newer than the answer. */
function takeAnswer(detail, request, { status, responseURL, responseText }) {
  const { form, card } = request, pathOf = address => new URL(address, location.href).pathname;
  answered++;
  request.buttons.forEach(release);
  if (AWAY_STATUSES.includes(status)) return noteAway(status === 503 ? refusalIn(responseText) : UNCONFIRMED, true);
  if (status >= 400) return refuse(form, card, responseText);
  const isHere = [location.pathname, pathOf(request.path)].includes(pathOf(responseURL));
  if (!isHere) location.href = responseURL;
  say("");
  walked = null;
  form.closest(".pop")?.hidePopover();  // what is about an agent stays open
  if (request.boosted && contentOf(form) === request.written) form.reset();
  isAnswer = detail.shouldSwap = isHere && (shown === request.shown || !request.boosted);
  if (isAnswer) return;
  const told = parsed(responseText).querySelectorAll("#told > *");
  if (told.length) document.getElementById("told").replaceChildren(...told);
  refresh().then(() => comeBack(card, card));
}

/** Say why a form was refused, in a list also of which card, and mark its fields. */
function refuse(form, card, text) {
  const title = document.querySelector("#queue") && !form.closest("[popover]") && document.getElementById(card)?.querySelector("h2");
  const names = [...parsed(text).querySelectorAll("[aria-invalid]")].map(each => each.name || each.querySelector("[name]")?.name);
  say((title ? `${title.textContent.trim()}: ` : "") + refusalIn(text));
  for (const each of form.querySelectorAll("input, select, textarea")) each.ariaInvalid = names.includes(each.name) ? "true" : null;
  form.querySelector("[aria-invalid]")?.focus();
  refresh();
}

document.addEventListener("keydown", event => {
  const { key, target } = event, isLine = target.matches?.("[data-enter]") && !event.shiftKey && !event.isComposing;
  const isSheet = (event.ctrlKey || event.metaKey) && target.matches?.(".card .pop :is(textarea, input)");
  if (key !== "Enter" || !(isLine || isSheet || target.matches?.(".pick"))) return;  // Enter on a checkbox would send all that are selected
  event.preventDefault();
  if (isLine && !target.dataset.enter) target.form.requestSubmit();
  else if (!target.matches(".pick")) target.form.querySelector(isLine ? `#${target.dataset.enter}` : "button:not([type=button])").click();
});

// A reply is about the cards that were on the screen when the person began to type it: about none if a browser brought it back.
document.addEventListener("input", ({ target }) => {
  const hashes = document.querySelector("input[name=seen]")?.value.split(" ") ?? [];
  if (target.id === "reply") begun = target.value ? begun ?? hashes.filter(hash => read.has(hash)) : null;
});
document.addEventListener("reset", ({ target }) => { if (target.matches(".reply")) begun = null; });

/** Write the number of selected cards on the button; without this script it says "Approve selected". */
function countSelected() {
  const button = document.querySelector("[data-selected]"), number = selectedCards().length;
  if (button) button.textContent = number ? `Approve ${number} selected` : "Approve selected";
}
document.addEventListener("change", ({ target }) => { if (target.matches(".pick")) countSelected(); });
