// Calls the person while the page is not in view, when more agents need approval or one of theirs is done: by the title and
// the icon, by a sound, and by a notification that names the agent and the command, never its arguments.
"use strict";

const SOUND = "signoff.sound", TONE_HZ = 660, TONE_SECONDS = 0.35, rail = () => document.getElementById("rail").dataset;
const permission = () => window.Notification?.permission;
let { asking, finishedAt = "" } = rail();

/** Show the button only while the browser would ask for the permission. */
function offerToNotify() { document.documentElement.classList.toggle("offers", permission() === "default"); }

/** What waits on this page: its rows, or in a thread its cards that ask, each with its headline. */
function waitingNow() {
  const places = document.querySelectorAll(document.getElementById("queue") ? "#queue li" : ".card:is(.open, .asks)");
  return new Map([...places].map(each => [each.id, each.dataset.headline ?? each.ariaLabel]));
}

/** Show in the icon whether somebody waits, and call the person if something waits that did not wait before. */
function callPerson(before) {
  const was = Number(asking), ended = finishedAt, [headline] = [...waitingNow()].filter(([id]) => !before.has(id)).map(each => each[1]);
  ({ asking, finishedAt = "" } = rail());
  document.querySelector("link[rel=icon]").href = `/static/icon${asking > 0 ? "-due" : ""}.svg`;
  const done = finishedAt > ended ? rail().finished : "", isCall = asking > was || done;
  if (!(isCall || headline) || !document.hidden) return;  // a card may come after its count: its headline takes the place
  if (isCall && localStorage.getItem(SOUND)) playTone();
  if (permission() !== "granted") return;
  const waiting = asking === "1" ? "An agent waits for you." : `${asking} agents wait for you.`;
  const note = new Notification("Signoff", { body: headline ?? (asking > was ? waiting : done), tag: "asking" });
  note.addEventListener("click", () => { focus(); note.close(); });
}

/** A short tone that fades out. */
function playTone() {
  const audio = new AudioContext(), tone = new OscillatorNode(audio, { frequency: TONE_HZ }), volume = new GainNode(audio, { gain: 0.2 });
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + TONE_SECONDS);
  tone.connect(volume).connect(audio.destination);
  tone.addEventListener("ended", () => audio.close());
  tone.start();
  tone.stop(audio.currentTime + TONE_SECONDS);
}

document.addEventListener("click", async event => {
  if (event.target.id !== "notify") return;
  const answer = await Notification.requestPermission();
  offerToNotify();
  if (answer === "granted") say("Notifications are on. Your browser's settings for this page turn them off.");
  if (answer === "denied") say("Your browser blocks notifications. Allow them in its settings for this page.");
});
offerToNotify();
