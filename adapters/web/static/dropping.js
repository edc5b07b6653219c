// Adds files to the agent's workspace, one after another: chosen, dropped anywhere on the page, or pasted into the reply box.
"use strict";

const UNSURE = "is perhaps not added: Signoff could not be reached. Look at the list of files before you add it again.";
const fileForm = () => document.querySelector(".add form"), lines = () => document.querySelector("#sending ul");
let isSending = false;

/** Send files and say of each what became of it. A browser hands over a folder as a file without content: it is refused. */
async function addFiles(files, folders = []) {
  if (!fileForm() || !lines() || isSending) return;
  isSending = true;
  lines().replaceChildren();
  tellSending("Sending…");
  for (const file of files) {
    const line = document.createElement("li"), name = Object.assign(document.createElement("bdi"), { textContent: file.name });
    line.append(name);
    lines().append(line);
    const fault = folders.includes(file) ? "is a folder, so it was not added. Add its files." : await sendFile(file);
    line.className = fault ? "refused" : "added";
    line.append(` ${fault || "added"}`);
    refresh();
  }
  isSending = false;
  const [added, refused] = ["added", "refused"].map(each => lines().querySelectorAll(`.${each}`));
  tellSending(`Files: ${[added.length && `${added.length} added`, refused.length && `${refused.length} not added`].filter(Boolean).join(", ")}.`);
  for (const line of added) line.remove();  // the thread tells of them
}

/** Send one file; the answer is the rest of a sentence that begins with its name if it is refused, else "". */
async function sendFile(file) {
  const most = Number(fileForm().dataset.mostBytes), body = new FormData();
  if (file.size > most) return `is larger than ${most / 2 ** 20} MB, so it was not added.`;
  body.append("file", file, file.name);
  const answer = await fetch(fileForm().action, { method: "POST", body, headers: { "HX-Request": "true" } }).catch(() => null);
  answered++;  // a page that was asked for before is out of date
  if (!answer || [502, 503, 504].includes(answer.status)) return UNSURE;
  const said = answer.ok ? "" : refusalIn(await answer.text());
  return said.startsWith(`${file.name} `) ? said.slice(file.name.length + 1) : said && `was not added: ${said}`;
}

function tellSending(sentence) {
  document.querySelector("#sending [role=status]").textContent = sentence;
  document.querySelector("#sending button").hidden = isSending;
}

function showDrop(isShown) { document.getElementById("drop").hidden = !isShown; }

document.documentElement.classList.add("drops");
document.querySelector("#sending button")?.addEventListener("click", ({ target }) => {
  lines().replaceChildren();
  tellSending("");
  target.hidden = true;
  document.getElementById("reply")?.focus();
});
document.addEventListener("dragover", event => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  showDrop(true);
});
document.addEventListener("dragleave", event => { if (!event.relatedTarget) showDrop(false); });
document.addEventListener("drop", event => {
  const { files, items, types } = event.dataTransfer;
  if (!types.includes("Files")) return;
  event.preventDefault();
  showDrop(false);
  const names = [...items].filter(item => item.webkitGetAsEntry?.()?.isDirectory).map(item => item.getAsFile()?.name);
  addFiles([...files], [...files].filter(file => names.includes(file.name)));
});
document.addEventListener("paste", event => {
  const files = [...event.clipboardData.files];
  if (event.target.id !== "reply" || !files.length || event.clipboardData.getData("text/plain")) return;
  event.preventDefault();
  addFiles(files);
});
document.addEventListener("submit", event => {
  if (event.target !== fileForm()) return;
  event.preventDefault();
  addFiles([...event.target.elements.file.files]);
  event.target.reset();
});
