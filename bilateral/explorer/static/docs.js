// Opens a path of the API with its parameters and answers, to try it. The program for that is loaded once one is chosen.
"use strict";

const docs = document.querySelector("#docs"), dark = matchMedia("(prefers-color-scheme: dark)");
const paths = new Set([...docs.querySelectorAll("a[href^='#/']")].map((it) => it.hash));
const paint = () => root.classList.toggle("dark-mode", root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
let ui;

function open() {
  const [, tag, operation] = location.hash.split("/");
  ui.layoutActions.show(["operations-tag", tag], true);
  ui.layoutActions.show(["operations", tag, operation], true);
  requestAnimationFrame(function place() { // until it is drawn
    const it = document.getElementById(`operations-${tag}-${operation}`);
    if (it) it.scrollIntoView();
    else requestAnimationFrame(place);
  });
}

function repair() { // what the program leaves to be desired for screen readers and keyboards
  for (const it of docs.querySelectorAll("main")) it.role = "group";
  for (const it of docs.querySelectorAll(".opblock-tag")) it.ariaLevel = 2;
  for (const it of docs.querySelectorAll("h4, h5")) it.ariaLevel = Number(it.tagName[1]) - 1;
  for (const it of docs.querySelectorAll("pre")) it.tabIndex = 0;
  for (const it of docs.querySelectorAll("select:not([aria-label])")) it.ariaLabel = it.closest("tr")?.dataset.paramName ?? "Choice";
}

function show() {
  if (!paths.has(location.hash)) return;
  if (ui) return void open();
  if (docs.dataset.opened) return; // it loads
  docs.dataset.opened = "yes";
  paint();
  dark.addEventListener("change", paint);
  new MutationObserver(paint).observe(root, { attributeFilter: ["data-theme"] });
  new MutationObserver(repair).observe(docs, { childList: true, subtree: true });
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: docs.dataset.style });
  const script = Object.assign(document.createElement("script"), { src: docs.dataset.script });
  script.addEventListener("load", () => {
    ui = SwaggerUIBundle({
      url: "/openapi.json",
      dom_id: "#docs",
      docExpansion: "list", // paths by subject, each closed
      defaultModelsExpandDepth: -1, // the answers show their schemas
      syntaxHighlight: false, // its colours are too light to read
      validatorUrl: null, // it would send the address of this service to another host
      plugins: [() => ({ wrapComponents: { InfoContainer: () => () => null } })], // the page has its heading
      onComplete: open,
    });
  });
  document.head.append(style, script);
}

show();
addEventListener("hashchange", show);
