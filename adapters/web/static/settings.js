// What a person sets in this browser: the theme, keys, a sound, finished turns open; and times in their own zone and language.
"use strict";

const FOLDS_OPEN = "signoff.folds-open", FOLDS = "details.fold, details.run", kept = new WeakSet(), YEAR_SECONDS = 365 * 24 * 3600;
const TIME_OF_DAY = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const DATE_AND_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const UNITS = { d: 86400, h: 3600, min: 60 };

/** Show times in the person's zone, those of today without a date, and count ages on. */
function showTimes() {
  for (const element of document.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime), isToday = at.toDateString() === new Date().toDateString(), seconds = (Date.now() - at) / 1000;
    const [unit, size] = Object.entries(UNITS).find(each => seconds >= each[1]) ?? [], age = unit ? `${Math.floor(seconds / size)} ${unit} ago` : "just now";
    element.title = DATE_AND_TIME.format(at);
    element.textContent = element.matches(".ago") ? age : (isToday ? TIME_OF_DAY : DATE_AND_TIME).format(at);
  }
}

/** Open the finished turns that are new on the page, if this browser keeps them open. */
function keepFoldsOpen() {
  for (const fold of document.querySelectorAll(FOLDS)) {
    if (!kept.has(fold) && localStorage.getItem(FOLDS_OPEN)) fold.open = true;
    kept.add(fold);
  }
}

/** Open the turn that the address names, and show it from its beginning. */
function openNamed() {
  const fold = document.getElementById(`fold-${location.hash.slice(1)}`);
  for (const each of [fold, fold?.closest(".run")]) if (each) each.open = true;
  fold?.closest("article").scrollIntoView({ block: "start" });
}

/** Tie a checkbox to what this browser remembers while it is on, or while it is off. */
function remember(id, name, whileOn, changed) {
  const choice = document.getElementById(id);
  choice.checked = Boolean(localStorage.getItem(name)) === whileOn;
  choice.addEventListener("change", () => {
    if (choice.checked === whileOn) localStorage.setItem(name, "1");
    else localStorage.removeItem(name);
    changed?.(choice.checked);
  });
}
remember("keys-on", KEYS_OFF, false);
remember("sound-on", SOUND, true, isOn => isOn && playTone());  // so that people hear what they chose
remember("folds-open", FOLDS_OPEN, true, isOn => { for (const fold of document.querySelectorAll(FOLDS)) fold.open = isOn; });

document.querySelector(".theme").addEventListener("change", ({ target: { value } }) => {
  document.cookie = `signoff_theme=${value}; max-age=${YEAR_SECONDS}; path=/; samesite=strict${location.protocol === "https:" ? "; secure" : ""}`;
  if (value) document.documentElement.dataset.theme = value;
  else delete document.documentElement.dataset.theme;
});
document.addEventListener("focusin", ({ target }) => { if (target.id === "limit") target.select(); });  // a typed budget replaces the old one
for (const kind of ["hashchange", "load"]) addEventListener(kind, openNamed);
document.documentElement.classList.add("has-keys");
