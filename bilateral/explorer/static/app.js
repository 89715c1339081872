"use strict"; // Pages are complete without this: theme, copying, the key "/", and how long ago.
const root = document.documentElement;
const kept = (...theme) => { try { return localStorage[theme.length ? "setItem" : "getItem"]("theme", ...theme); } catch { return null; } }; // browsers may block storage
if (kept()) root.dataset.theme = kept();
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const box = document.body.appendChild(document.createElement("textarea")); // plain http has no clipboard
  box.value = text; box.select();
  const isDone = document.execCommand("copy");
  box.remove();
  return isDone;
}
function age() {
  for (const it of document.querySelectorAll("td time")) {
    const past = Date.now() / 1e3 - Date.parse(it.dateTime) / 1e3, [size, unit] = past < 60 ? [1, "s"] : past < 3600 ? [60, "min"] : [3600, "h"];
    it.title ||= it.textContent;
    it.textContent = past >= 0 && past < 86400 ? `${Math.floor(past / size)} ${unit} ago` : it.title;
  }
}
addEventListener("DOMContentLoaded", () => {
  const theme = document.querySelector("#theme"), search = document.querySelector("#q");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    kept((root.dataset.theme = dark ? "light" : "dark"));
  });
  for (const it of document.querySelectorAll("[data-copy]")) {
    it.hidden = false;
    it.addEventListener("click", async () => it.setAttribute("aria-label", (await copy(it.dataset.copy)) ? "Copied" : "Not copied"));
  }
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/input|textarea|select/i.test(event.target.tagName)) { event.preventDefault(); search.focus(); }
  });
  age(); setInterval(age, 5000);
});
