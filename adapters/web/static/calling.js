// Calls the person, while the page is not in view, when more agents need approval or an agent of theirs is done: by the page's title and icon, and after
// a click on "Notify me" by a notification of the browser. It names the agent and the command, never its arguments. A
// sound is off until somebody switches it on in this browser.
"use strict";

const canNotify = "Notification" in window, SOUND = "signoff.sound", TONE_HZ = 660, TONE_SECONDS = 0.35;
const soundOn = document.getElementById("sound-on");
let asking = countAsking(), finishedAt = newestEnd();

function countAsking() { return Number(document.getElementById("rail")?.dataset.asking || 0); }

/** When the newest of the person's agents that are done ended; "" if none did. */
function newestEnd() { return document.getElementById("rail")?.dataset.finishedAt ?? ""; }

/** Show the button only while the browser would ask for the permission. */
function offerToNotify() {
  document.documentElement.classList.toggle("offers", canNotify && Notification.permission === "default");
}

/** Take the title and the icon of a page that was fetched, and notify. `headlines`: of its cards that have begun to ask. */
function callPerson(fresh, headlines) {
  document.title = fresh.title;
  const icon = document.querySelector("link[rel=icon]"), href = fresh.querySelector("link[rel=icon]").getAttribute("href");
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  const before = asking, ended = finishedAt;
  asking = countAsking();
  finishedAt = newestEnd();
  const done = finishedAt > ended ? document.getElementById("rail").dataset.finished : "";
  const isCall = asking > before || done;
  if (!(isCall || headlines.length) || !document.hidden) return; // a card may come after its count: its headline takes the place
  if (isCall && localStorage.getItem(SOUND)) playTone();
  if (!canNotify || Notification.permission !== "granted") return;
  const body = headlines[0] || (asking <= before ? done : asking === 1 ? "An agent waits for you." : `${asking} agents wait for you.`);
  const note = new Notification("Signoff", { body, tag: "asking" });
  note.addEventListener("click", () => { focus(); note.close(); });
}

/** A short tone that fades out. */
function playTone() {
  const audio = new AudioContext(), tone = audio.createOscillator(), volume = audio.createGain();
  tone.frequency.value = TONE_HZ;
  volume.gain.setValueAtTime(0.2, audio.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + TONE_SECONDS);
  tone.connect(volume).connect(audio.destination);
  tone.addEventListener("ended", () => audio.close());
  tone.start();
  tone.stop(audio.currentTime + TONE_SECONDS);
}

soundOn.checked = Boolean(localStorage.getItem(SOUND));
soundOn.addEventListener("change", () => {
  if (!soundOn.checked) return localStorage.removeItem(SOUND);
  localStorage.setItem(SOUND, "1");
  playTone(); // so that people hear what they chose; browsers allow a sound only after a click
});
document.addEventListener("click", async event => {
  if (event.target.id !== "notify") return;
  const answer = await Notification.requestPermission();
  offerToNotify();
  if (answer === "granted") say("Notifications are on. Your browser's settings for this page turn them off.");
  if (answer === "denied") say("Your browser blocks notifications. Allow them in its settings for this page.");
});
offerToNotify();
