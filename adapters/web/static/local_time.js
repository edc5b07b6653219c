// Shows each <time> in the reader's own time zone and language. Without this script its text is in UTC.
"use strict";

const TIME_OF_DAY = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const DATE_AND_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

const UNITS = { d: 86400, h: 3600, min: 60 };

/** Count the ages on, on a page that is read again only after a change; in the words of the server. */
function showAges() {
  for (const element of document.querySelectorAll("time.ago")) {
    const seconds = (Date.now() - new Date(element.dateTime)) / 1000;
    const [unit, size] = Object.entries(UNITS).find(each => seconds >= each[1]) || [];
    element.textContent = unit ? `${Math.floor(seconds / size)} ${unit} ago` : "just now";
  }
}

/** A time of today is shown without its date; an age such as “5 min ago” stays and gets the time as its tooltip. */
function showLocalTimes() {
  for (const element of document.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime), isToday = at.toDateString() === new Date().toDateString();
    element.title = DATE_AND_TIME.format(at);
    if (element.className === "ago") continue;
    element.textContent = (isToday ? TIME_OF_DAY : DATE_AND_TIME).format(at);
  }
}
