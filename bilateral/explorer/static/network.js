"use strict"; // Draws the links of the table below it. The colours are opaque: translucent ones turn white in WebGL.
addEventListener("DOMContentLoaded", async () => {
  const box = document.querySelector("#graph"), chosen = document.querySelector("#chosen");
  if (!document.createElement("canvas").getContext("webgl2")) { box.hidden = true; chosen.textContent = "This browser cannot draw the graph, because it lacks WebGL; the table below shows the same data."; return; }
  const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const colours = () => isDark()
    ? { server: "#7da2ff", client: "#ff9d66", bad: "#ff8087", blue: "#2b3c66", orange: "#5b3b28", red: "#7a3a40", ink: "#eef0f3", dim: "#1c2129" }
    : { server: "#1f4fd8", client: "#b4490f", bad: "#b3202e", blue: "#bccbf5", orange: "#f0c9b0", red: "#e0989f", ink: "#16181d", dim: "#efebe4" };
  let c = colours();
  const data = await (await fetch(box.dataset.from)).json();
  const graph = new graphology.Graph({ multi: true, type: "directed" });
  const largest = Math.sqrt(Math.max(1, ...data.nodes.map((it) => it.ratings)));
  const root = Math.sqrt(data.nodes.length), least = Math.min(2, 60 / root), more = Math.min(9, 120 / root); // many nodes are small
  for (const it of data.nodes) graph.addNode(it.id, { x: it.x, y: it.y, size: least + more * Math.sqrt(it.ratings) / largest, role: it.is_flagged ? "bad" : it.role, label: (shown(it.name) || (it.id.includes(":") ? "Agent " + it.id.split(":")[1] : it.id.slice(0, 6) + "…" + it.id.slice(-4))) + (it.mark ? " (" + it.mark + ")" : ""), ratings: it.ratings });
  for (const it of data.links) graph.addDirectedEdge(it.source, it.target, { kind: it.mean !== null && it.mean < 50 ? "red" : it.side === "server" ? "blue" : "orange", size: 0.5 + Math.min(2.5, it.count / 8) });
  let near = null, selected = null;
  const few = data.links.length < 2000;
  const sigma = new Sigma(graph, box, {
    labelFont: "Sans, sans-serif", labelSize: 12, labelColor: { color: c.ink }, labelRenderedSizeThreshold: few ? 5 : 9, labelGridCellSize: 160, minCameraRatio: 0.02, maxCameraRatio: 4,
    defaultEdgeType: few ? "arrow" : "line", zIndex: true, allowInvalidContainer: true, defaultDrawNodeHover: hover,
    nodeReducer: (id, it) => ({ ...it, color: near && !near.has(id) ? c.dim : c[it.role], label: near && !near.has(id) ? "" : it.label, highlighted: id === selected, zIndex: id === selected ? 2 : 1 }),
    edgeReducer: (id, it) => ({ ...it, color: c[it.kind], hidden: Boolean(selected) && !graph.hasExtremity(id, selected) }),
  });
  box.dataset.drawn = Math.round(performance.now()); // Sigma draws at once, and again only if asked to.
  chosen.textContent = "Click a node, or use the arrow keys. Enter opens its page.";
  function shown(name) { return name && name.slice(0, 60).replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, "▯"); }
  function hover(context, it, settings) {
    context.font = `500 12px ${settings.labelFont}`;
    const width = context.measureText(it.label ?? "").width;
    context.fillStyle = isDark() ? "#14181e" : "#ffffff"; context.strokeStyle = c.ink; context.lineWidth = 1;
    context.beginPath(); context.roundRect(it.x + it.size + 3, it.y - 11, width + 14, 22, 6); context.fill(); context.stroke();
    context.fillStyle = c.ink; context.fillText(it.label ?? "", it.x + it.size + 10, it.y + 4);
    context.beginPath(); context.arc(it.x, it.y, it.size + 2, 0, 7); context.stroke();
  }
  function select(id) {
    selected = id; near = id ? new Set([id, ...graph.neighbors(id)]) : null;
    if (id) chosen.textContent = `${graph.getNodeAttribute(id, "label")}: rated by ${graph.inDegree(id)}, rates ${graph.outDegree(id)}, ${graph.getNodeAttribute(id, "ratings")} ratings in all`;
    sigma.refresh({ skipIndexation: true });
  }
  function open(id) { const [chain, number] = id.split(":"); location.href = number ? `/${chain}/${number}` : `/accounts/${id}`; }
  function step(dx, dy) {
    const from = selected ?? graph.nodes()[0], a = graph.getNodeAttributes(from);
    if (!selected) return select(from);
    let best = null, least = Infinity;
    for (const id of graph.neighbors(from).length > 1 ? graph.neighbors(from) : graph.nodes()) {
      const b = graph.getNodeAttributes(id), x = b.x - a.x, y = b.y - a.y, along = x * dx + y * dy;
      const cost = along > 0 ? along + 3 * Math.abs(x * dy - y * dx) : Infinity;
      if (cost < least) { least = cost; best = id; }
    }
    if (best) select(best);
  }
  sigma.on("clickNode", ({ node }) => (node === selected ? open(node) : select(node)));
  sigma.on("clickStage", () => select(null));
  box.addEventListener("keydown", (event) => {
    const camera = sigma.getCamera(), moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (moves[event.key]) step(...moves[event.key]);
    else if (event.key === "Enter" && selected) open(selected);
    else if (event.key === "Escape") select(null);
    else if (event.key === "+") camera.animatedZoom();
    else if (event.key === "-") camera.animatedUnzoom();
    else if (event.key === "0") camera.animatedReset();
    else return;
    event.preventDefault();
  });
  const renew = () => { c = colours(); sigma.setSetting("labelColor", { color: c.ink }); sigma.refresh(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", renew);
  new MutationObserver(renew).observe(document.documentElement, { attributeFilter: ["data-theme"] });
});
