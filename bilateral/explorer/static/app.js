"use strict"; // Pages are complete without this: theme, copying, the key "/", and live rows.
const root = document.documentElement, saved = localStorage.getItem("theme");
if (saved) root.dataset.theme = saved;
addEventListener("DOMContentLoaded", () => {
  const theme = document.querySelector("#theme"), search = document.querySelector("#q");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    localStorage.setItem("theme", (root.dataset.theme = dark ? "light" : "dark"));
  });
  for (const it of document.querySelectorAll("[data-copy]")) {
    it.hidden = false;
    it.addEventListener("click", async () => { await navigator.clipboard.writeText(it.dataset.copy); it.setAttribute("aria-label", "Copied"); });
  }
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/input|textarea|select/i.test(event.target.tagName)) { event.preventDefault(); search.focus(); }
  });
  for (const it of document.querySelectorAll("[data-live]")) setInterval(async () => {
    if (document.hidden || it.contains(document.activeElement)) return;
    const answer = await fetch(it.dataset.live).catch(() => null);
    if (answer?.ok) it.innerHTML = await answer.text();
  }, 5000);
});
