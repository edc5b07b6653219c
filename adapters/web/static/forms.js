// Sends forms by htmx and shows the answer: the page, a refusal above the form, or that nobody knows what became of it.
"use strict";

const DECIDES = /^(approve|edit|reject|stop):/;
const busy = new Set(), decidedHere = new Set();  // buttons whose form is on its way; ids of cards that the person decides here
let sendings = 0, told = 0;  // forms that were sent, and which of them told this person something last

/** Let a button be pressed again, under its own name. */
function release(button) {
  busy.delete(button);
  if (!isAway) button.removeAttribute("aria-disabled");
  if (button.dataset.label !== undefined) button.textContent = button.dataset.label;
  delete button.dataset.label;
}

/** The values of a form, to notice what was typed while a request was running. */
function contentOf(form) { return String(new URLSearchParams(new FormData(form))); }

function parsed(text) { return new DOMParser().parseFromString(text, "text/html"); }

function refusalIn(text) { return parsed(text).querySelector("#alert .alert")?.textContent ?? "That did not work."; }

document.addEventListener("htmx:configRequest", ({ detail }) => {
  const button = detail.triggeringEvent?.submitter, form = detail.elt.form ?? detail.elt;
  if (button?.name) detail.parameters[button.name] = button.value;
  if (form.matches(".reply")) detail.parameters.seen = begun?.join(" ") ?? "";
});

document.addEventListener("htmx:beforeRequest", ({ detail: { requestConfig: request, xhr } }) => {
  request.answered = answered;
  if (request.verb !== "post") return;
  const form = request.elt.form ?? request.elt, button = request.triggeringEvent?.submitter ?? request.elt.closest("button");
  const card = form.closest("article, aside")?.id ?? "", buttons = [...form.elements].filter(each => each.matches("button"));
  const decided = form.id === "selected" ? selectedCards() : DECIDES.test(button?.value) ? [card] : [];
  Object.assign(request, { form, button, card, buttons, decided, shown, order: ++sendings, written: contentOf(form) });
  for (const each of buttons) { busy.add(each); each.ariaDisabled = "true"; }
  for (const id of decided) decidedHere.add(id);
  if (button?.dataset.busy) {
    button.dataset.label = button.textContent;
    document.getElementById("news").textContent = button.textContent = button.dataset.busy;
  }
  form.addEventListener("input", () => buttons.forEach(release), { once: true });
  xhr.addEventListener("error", () => { noteAnswer(request, false); noteAway(UNREACHED, UNCONFIRMED); });
});

/** The request is over: its buttons work again. */
function noteAnswer(request, isDone) {
  request.buttons.forEach(release);
  for (const id of request.decided) if (!isDone) decidedHere.delete(id);
  answered++;
}

document.addEventListener("htmx:beforeSwap", event => {
  const { detail } = event, { xhr, requestConfig: request } = detail;
  if (request.verb === "post") takeAnswer(detail, request, xhr);
  else takePage(detail, request, xhr);
  if (detail.shouldSwap) request.was = beforeUpdate();
});
document.addEventListener("htmx:afterRequest", ({ detail: { requestConfig: request } }) => {
  if (request.was) afterUpdate(request.was, request);
  request.was = null;
});

/** Show the page, unless it is another one or from before a form that was answered since. */
function takePage(detail, { answered: then, elt }, { status, responseURL }) {
  const isRow = elt.matches("a"), isHere = new URL(responseURL).pathname === location.pathname;
  const isStale = then !== answered && !isRow;
  detail.shouldSwap &&= (isHere || isRow) && !isStale;
  if (isStale) isAskedAgain = true;
  else if (status === 503) { clearTimeout(retry); retry = setTimeout(refresh, RETRY_MS); checkServer(); }
  else if (status === 404 && present()) endThread();
}

function takeAnswer(detail, request, { status, responseURL, responseText }) {
  const { form, card } = request, isDone = status < 400, pathOf = address => new URL(address, location.href).pathname;
  noteAnswer(request, isDone);
  if ([502, 503, 504].includes(status)) return noteAway(status === 503 ? NO_DATABASE : UNREACHED, status === 503 ? refusalIn(responseText) : UNCONFIRMED);
  if (isDone && ![location.pathname, pathOf(request.path)].includes(pathOf(responseURL))) {
    detail.shouldSwap = false;
    location.href = responseURL;
    return;
  }
  say(isDone ? "" : cardName(card) + refusalIn(responseText));
  if (!isDone) return markWrong(form, responseText);
  form.closest("[popover]")?.hidePopover();
  if (request.boosted && contentOf(form) === request.written) form.reset();
  isAnswer = detail.shouldSwap = shown === request.shown || !request.boosted;
  if (!isAnswer && request.order > told) tell(responseText);
  told = Math.max(told, request.order);
  if (!isAnswer) refresh().then(() => comeBack(card, card && document.getElementById("queue")));
}

/** Which card of the list a sentence at the top of the page is about. */
function cardName(id) {
  const isNamed = document.getElementById("queue") && !document.querySelector(".pop:popover-open");
  const title = isNamed && document.getElementById(id)?.querySelector("h2")?.textContent.trim();
  return title ? `${title}: ` : "";
}

/** Mark the fields that a refusal is about, and focus the first one. */
function markWrong(form, text) {
  const names = [...parsed(text).querySelectorAll("[aria-invalid]")].map(each => each.name || each.querySelector("[name]")?.name);
  const fields = [...form.elements].filter(each => each.matches("input, select, textarea"));
  for (const each of fields) each.ariaInvalid = names.includes(each.name) ? "true" : null;
  fields.find(each => names.includes(each.name))?.focus();
  refresh();
}

/** Show the answer that only this person sees, until they send something else. */
function tell(text) {
  document.getElementById("told")?.replaceChildren(...(parsed(text).getElementById("told")?.childNodes ?? []));
}

document.addEventListener("keydown", event => {
  const { key, target } = event, isLine = target.matches?.("[data-enter]") && !event.shiftKey && !event.isComposing;
  const isSheet = (event.ctrlKey || event.metaKey) && target.matches?.(".card .pop :is(textarea, input)");
  if (key !== "Enter" || !(isLine || isSheet || target.matches?.(".pick"))) return;  // Enter on a checkbox would send all that are selected
  event.preventDefault();
  const button = isLine && document.getElementById(target.dataset.enter);
  if (button) button.click();
  else if (isLine) target.form.requestSubmit();
  else if (isSheet) target.form.querySelector("button:not([type=button])").click();
});

// A reply is about the cards that were on the screen when the person began to type it: about none if a browser brought it back.
let begun = null;
document.addEventListener("input", ({ target }) => {
  if (target.id !== "reply") return;
  const shown = document.querySelector("input[name=seen]")?.value.split(" ") ?? [];
  begun = target.value ? begun ?? shown.filter(hash => read.has(hash)) : null;
});
document.addEventListener("reset", ({ target }) => {
  if (target.matches(".reply")) begun = null;
  setTimeout(countSelected);
});

/** The ids of the selected cards. */
function selectedCards() { return [...document.querySelectorAll(".pick:checked")].map(each => each.id.slice("pick-".length)); }

/** Write the number of selected cards on the button; without this script it says "Approve selected". */
function countSelected() {
  const button = document.querySelector("[data-selected]"), number = selectedCards().length;
  if (button) button.textContent = number ? `Approve ${number} selected` : "Approve selected";
}

/** Say so if cards that were selected are so no more, as others decided or changed them. */
function noteFewerSelected(before) {
  const now = selectedCards(), lost = before.filter(id => !now.includes(id) && !decidedHere.has(id)).length;
  const [was, is] = lost === 1 ? ["was", "is"] : ["were", "are"];
  if (lost) hint(`${lost} of the ${before.length} selected ${was} decided or changed meanwhile, and ${is} selected no more.`);
}
document.addEventListener("change", event => { if (event.target.matches(".pick")) countSelected(); });
