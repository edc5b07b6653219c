// Adds files that are dropped anywhere on the page, or pasted into the reply box, by the form that adds chosen ones.
"use strict";

/** Put files into the form and send it. A browser makes an empty file of a folder; one that is too large would be sent in vain. */
function addFiles(event, { files, items }) {
  const form = document.querySelector(".add form"), most = Number(form?.dataset.mostBytes), fit = new DataTransfer();
  if (!form || !files.length) return;
  event.preventDefault();
  const folders = [...items].filter(item => item.webkitGetAsEntry?.()?.isDirectory).map(item => item.getAsFile()?.name);
  for (const file of files) if (file.size <= most && !folders.includes(file.name)) fit.items.add(file);
  form.elements.file.files = fit.files;
  if (fit.files.length) form.requestSubmit();
  if (fit.files.length < files.length) hint(`Not added: folders, and files larger than ${most / 2 ** 20} MB.`);
}

function showDrop(isShown) { document.getElementById("drop").hidden = !isShown; }
document.documentElement.classList.add("drops");
document.addEventListener("dragover", event => {
  if (event.dataTransfer.types.includes("Files")) { event.preventDefault(); showDrop(true); }
});
document.addEventListener("dragleave", event => { if (!event.relatedTarget) showDrop(false); });
document.addEventListener("drop", event => { showDrop(false); addFiles(event, event.dataTransfer); });
document.addEventListener("paste", event => {
  if (event.target.id === "reply" && !event.clipboardData.getData("text/plain")) addFiles(event, event.clipboardData);
});
