// Changes the theme at once, without a page load, and keeps it in the cookie from which the server draws the next page.
"use strict";

const THEME_SECONDS = 365 * 24 * 3600;

document.querySelector(".theme").addEventListener("change", event => {
  const theme = event.target.value, secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `signoff_theme=${theme}; max-age=${THEME_SECONDS}; path=/; samesite=strict${secure}`;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
});
