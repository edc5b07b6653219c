// Fills in the form for a new agent with what a model drafts from a sentence. What is typed meanwhile stays.
"use strict";

const DRAFTING_MS = 2000;

/** Ask for a draft and say so when it takes longer than a moment. */
async function draft(form, button) {
  const place = document.getElementById("drafting"), sentForm = new FormData(form);
  const timer = setTimeout(() => { place.textContent = "Drafting…"; }, DRAFTING_MS);
  place.textContent = "";
  button.disabled = true;
  say("");
  try {
    const answer = await fetch(button.formAction, { method: "POST", body: new URLSearchParams(sentForm), headers: BY_SCRIPT });
    const text = await answer.text();
    place.textContent = "";
    if (answer.status === 503) noteAway(NO_DATABASE, refusal(text));
    else fillIn(new DOMParser().parseFromString(text, "text/html"), sentForm, answer.ok);
  } catch {
    place.textContent = "";
    noteAway(UNREACHED, UNCONFIRMED);
  }
  clearTimeout(timer);
  button.disabled = false;
  if (document.activeElement === document.body) button.focus();
}

/** Show the server's answer in the form; a field that was changed since it was sent keeps its text. */
function fillIn(fresh, sentForm, isDrafted) {
  if (!isDrafted) { say(fresh.querySelector(".alert")?.textContent || "That did not work."); return; }
  const unixLines = text => text.replaceAll("\r\n", "\n");
  for (const name of ["name", "role", "goals"]) {
    const field = document.getElementById(name);
    if (unixLines(field.value) === unixLines(sentForm.get(name))) field.value = fresh.getElementById(name).value;
  }
  document.getElementById("drafted").replaceChildren(...fresh.getElementById("drafted").children);
  document.getElementById("drafting").textContent = fresh.querySelector("main .good").textContent;
}

document.addEventListener("submit", event => {
  if (event.submitter?.id !== "draft") return;
  event.preventDefault();
  draft(event.target, event.submitter);
});
