// Finished turns are folded to one line, and many that ran under one decision to one entry. Opens the one that a link
// leads to, and all of them for who wants them open.
"use strict";

const FOLDS_OPEN = "signoff.folds-open", FOLDS = "details.fold, details.run", kept = new WeakSet();

/** Open the finished turns that were drawn since the last call, if this browser keeps them open. */
function keepOpen() {
  for (const fold of document.querySelectorAll(FOLDS)) {
    if (kept.has(fold)) continue;
    kept.add(fold);
    if (localStorage.getItem(FOLDS_OPEN)) fold.open = true;
  }
}

/** Open the turn that the address names, and show it from its beginning. */
function openNamed() {
  const fold = location.hash && document.getElementById(`fold-${location.hash.slice(1)}`);
  if (!fold) return;
  fold.open = true;
  fold.closest(".run")?.setAttribute("open", "");
  fold.closest("article").scrollIntoView({ block: "start" });
}

const foldsOpen = document.getElementById("folds-open");
foldsOpen.checked = Boolean(localStorage.getItem(FOLDS_OPEN));
foldsOpen.addEventListener("change", () => {
  if (foldsOpen.checked) localStorage.setItem(FOLDS_OPEN, "1");
  else localStorage.removeItem(FOLDS_OPEN);
  for (const fold of document.querySelectorAll(FOLDS)) fold.open = foldsOpen.checked;
});
addEventListener("hashchange", openNamed);
keepOpen();
openNamed();
