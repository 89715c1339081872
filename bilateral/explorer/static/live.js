"use strict"; // Renews rows every five seconds, marks the new ones, and says so if the service does not answer.
addEventListener("DOMContentLoaded", () => {
  const box = document.querySelector("[data-live]"), state = document.querySelector("#live");
  const rows = () => new Map([...box.querySelectorAll("tbody tr")].map((it) => [it.querySelector("time")?.parentElement.href, it]));
  const tell = (word) => {
    state.classList.toggle("gone", word !== "live");
    if (state.lastChild.textContent !== word) state.lastChild.textContent = word; // readers say each change aloud
  };
  tell("live");
  setInterval(async () => {
    if (document.hidden) return;
    const answer = await fetch(box.dataset.live, { signal: AbortSignal.timeout(4000) }).catch(() => null);
    tell(answer?.ok ? "live" : "no answer");
    if (!answer?.ok || box.contains(document.activeElement)) return;
    const former = rows();
    box.innerHTML = await answer.text();
    for (const [key, it] of rows()) if (!former.has(key)) it.className = "fresh";
    age();
  }, 5000);
});
