// Opens a path of the API with its parameters and answers, to try it. The program for that is loaded once one is chosen.
"use strict";

const docs = document.querySelector("#docs"), dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
const paint = () => root.classList.toggle("dark-mode", isDark());

function show() {
  if (!location.hash.startsWith("#/") || docs.dataset.opened) return;
  docs.dataset.opened = "yes";
  paint();
  dark.addEventListener("change", paint);
  new MutationObserver(paint).observe(root, { attributeFilter: ["data-theme"] });
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: docs.dataset.style });
  const script = Object.assign(document.createElement("script"), { src: docs.dataset.script });
  script.addEventListener("load", () => SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#docs",
    deepLinking: true, // each path has an address of its own
    docExpansion: "list", // paths by subject, each closed
    defaultModelsExpandDepth: -1, // the answers show their schemas
    syntaxHighlight: false, // its colours are too light to read
    validatorUrl: null, // it would send the address of this service to another host
    plugins: [({ React }) => ({
      wrapComponents: {
        info: () => () => null, // the page has its heading
        DeepLink: () => ({ text }) => React.createElement("span", null, text), // a link in a button opens nothing more
      },
    })],
  }));
  document.head.append(style, script);
}

show();
addEventListener("hashchange", show);
