// What a person sets in this browser: the theme, keys, a sound, finished turns open; and times in their own zone and language.
"use strict";

const THEME_SECONDS = 365 * 24 * 3600, FOLDS_OPEN = "signoff.folds-open", FOLDS = "details.fold, details.run", kept = new WeakSet();
const TIME_OF_DAY = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const DATE_AND_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const UNITS = { d: 86400, h: 3600, min: 60 };

/** Count the ages on, on a page that is read again only after a change; in the words of the server. */
function showAges() {
  for (const element of document.querySelectorAll("time.ago")) {
    const seconds = (Date.now() - new Date(element.dateTime)) / 1000;
    const [unit, size] = Object.entries(UNITS).find(each => seconds >= each[1]) ?? [];
    element.textContent = unit ? `${Math.floor(seconds / size)} ${unit} ago` : "just now";
  }
}

/** A time of today is shown without its date; an age such as “5 min ago” stays and gets the time as its tooltip. */
function showLocalTimes() {
  for (const element of document.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime), isToday = at.toDateString() === new Date().toDateString();
    element.title = DATE_AND_TIME.format(at);
    if (!element.matches(".ago")) element.textContent = (isToday ? TIME_OF_DAY : DATE_AND_TIME).format(at);
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
  const fold = location.hash && document.getElementById(`fold-${location.hash.slice(1)}`);
  if (!fold) return;
  fold.open = true;
  fold.closest(".run")?.setAttribute("open", "");
  fold.closest("article").scrollIntoView({ block: "start" });
}

/** Tie a checkbox to what this browser remembers; `offMeansSet`: it remembers what is switched off. */
function remember(id, name, changed = () => {}, offMeansSet = false) {
  const choice = document.getElementById(id);
  choice.checked = Boolean(localStorage.getItem(name)) !== offMeansSet;
  choice.addEventListener("change", () => {
    if (choice.checked !== offMeansSet) localStorage.setItem(name, "1");
    else localStorage.removeItem(name);
    changed(choice.checked);
  });
}
remember("keys-on", KEYS_OFF, undefined, true);
remember("sound-on", SOUND, isOn => { if (isOn) playTone(); });  // so that people hear what they chose
remember("folds-open", FOLDS_OPEN, isOn => { for (const fold of document.querySelectorAll(FOLDS)) fold.open = isOn; });

document.querySelector(".theme").addEventListener("change", ({ target }) => {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `signoff_theme=${target.value}; max-age=${THEME_SECONDS}; path=/; samesite=strict${secure}`;
  if (target.value) document.documentElement.dataset.theme = target.value;
  else delete document.documentElement.dataset.theme;
});
document.addEventListener("focusin", ({ target }) => { if (target.id === "limit") target.select(); });  // a typed budget replaces the old one
addEventListener("hashchange", openNamed);
document.documentElement.classList.add("has-keys");
openNamed();
