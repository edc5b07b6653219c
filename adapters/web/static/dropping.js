// Adds files to the agent's workspace, one after another: chosen, dropped anywhere on the page, or pasted into the reply box.
"use strict";

const MEGABYTE = 2 ** 20, UNSURE = "is perhaps not added: Signoff could not be reached. Look at the list of files before you add it again.";
const waiting = [];
let isSending = false, added = 0, refused = 0;

function fileForm() { return document.querySelector(".add form"); }

/** Queue files. A folder, which a browser hands over as a file without content, is refused. */
function addFiles(files, folders = []) {
  const place = document.querySelector("#sending ul");
  if (!fileForm() || !place) return;
  if (!isSending && !waiting.length) { place.replaceChildren(); added = refused = 0; }
  for (const file of files) {
    const line = document.createElement("li"), name = document.createElement("bdi");
    name.textContent = file.name;
    line.append(name);
    place.append(line);
    const most = Number(fileForm().dataset.mostBytes);
    if (folders.includes(file)) refuse(line, "is a folder, so it was not added. Add its files.");
    else if (file.size > most) refuse(line, `is larger than ${most / MEGABYTE} MB, so it was not added.`);
    else waiting.push([file, line, fileForm().action]);
  }
  if (!isSending) sendFiles();
}

async function sendFiles() {
  isSending = true;
  tellSending("Sending…");
  for (let next; (next = waiting.shift());) {
    const fault = await sendFile(...next), line = next[1];
    line.querySelector("progress").remove();
    if (fault) refuse(line, fault);
    else { added++; line.append(" added"); }
    sent++;  // an answer from before is out of date: see refresh()
    refresh();
  }
  isSending = false;
  for (const line of document.querySelectorAll("#sending li:not(.refused)")) line.remove();  // the thread tells of them
  tellSending([added && `${added} added`, refused && `${refused} not added`].filter(Boolean).join(", "));
}

/** Send one file; the promise gives the rest of a sentence that begins with its name if it is refused, else "". */
function sendFile(file, line, address) {
  const progress = document.createElement("progress"), body = new FormData(), request = new XMLHttpRequest();
  progress.setAttribute("aria-label", `Sending ${file.name}`);
  progress.max = 1;
  progress.value = 0;
  line.append(progress);
  body.append("file", file, file.name);
  return new Promise(done => {
    request.upload.addEventListener("progress", event => { progress.value = event.loaded / (event.total || 1); });
    request.addEventListener("load", () => done(request.status < 400 ? "" : whyRefused(file, request)));
    request.addEventListener("error", () => done(UNSURE));
    request.open("POST", address);
    for (const [name, value] of Object.entries(BY_SCRIPT)) request.setRequestHeader(name, value);
    request.send(body);
  });
}

function whyRefused(file, request) {
  if (AWAY_STATUSES.includes(request.status)) return UNSURE;
  const said = refusal(request.responseText);
  return said.startsWith(`${file.name} `) ? said.slice(file.name.length + 1) : `was not added: ${said}`;
}

function refuse(line, why) {
  refused++;
  line.className = "refused";
  line.append(` ${why}`);
}

function tellSending(what) {
  const place = document.getElementById("sending");
  place.querySelector("[role=status]").textContent = isSending ? what : `Files: ${what}.`;
  place.querySelector("button").hidden = isSending;
}

function hasFiles(event) { return [...(event.dataTransfer?.types || [])].includes("Files"); }

function showDrop(isShown) { document.getElementById("drop").hidden = !isShown; }

function foldersIn(transfer) {
  const items = [...transfer.items].filter(item => item.kind === "file");
  return items.filter(item => item.webkitGetAsEntry?.()?.isDirectory).map(item => item.getAsFile()?.name);
}

document.documentElement.classList.add("drops");
document.querySelector("#sending button")?.addEventListener("click", event => {
  document.querySelector("#sending ul").replaceChildren();
  document.querySelector("#sending [role=status]").textContent = "";
  event.target.hidden = true;
  document.getElementById("reply")?.focus();
});
document.addEventListener("dragover", event => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  showDrop(true);
});
document.addEventListener("dragleave", event => { if (!event.relatedTarget) showDrop(false); });
document.addEventListener("drop", event => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  showDrop(false);
  const files = [...event.dataTransfer.files], names = foldersIn(event.dataTransfer);
  addFiles(files, files.filter(file => names.includes(file.name)));
});
document.addEventListener("paste", event => {
  const files = [...(event.clipboardData?.files || [])];
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
