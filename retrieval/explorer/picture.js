// A graph that is looked at: drawn by Cytoscape, with our own layout, labels and legend.
import { Layout, Room, lines } from "./layout.js";
import { button, counted, csv, el, save } from "./dom.js";

const SHAPES = {
  Document: "ellipse", Chunk: "round-rectangle", Sentence: "round-rectangle", Theme: "diamond", Term: "triangle",
  Category: "hexagon", Query: "star", Corpus: "octagon", Traversal: "octagon", Step: "ellipse", Battle: "vee",
  Fact: "pentagon", Extraction: "octagon", Concept: "hexagon", Entity: "diamond", Gap: "vee",
};
const CORNERS = { diamond: 4, triangle: 3, hexagon: 6, pentagon: 5, octagon: 8 };
const DASHES = { THEME_SIMILAR_TO: "dashed", SIMILAR_TO: "solid", NEXT_CHUNK: "dotted", FROM_DOCUMENT: "dotted", HAS_THEME: "dotted", IN_CORPUS: "dotted" };
const DARK = matchMedia("(prefers-color-scheme: dark)");
const FONT = 12, LINE = 14, SIZE = 18, SLICE = 14, FIRST_SLICE = 120, EDGE = 46, MANY = 600;

/** Destroy the pictures in an element whose content goes. */
export function undraw(host) {
  for (const canvas of host.querySelectorAll(".canvas")) canvas.picture.destroy();
}

/** What a page shows of a graph `{nodes, edges}`, and what one can do with it. */
export class Picture {
  /** `expand(node)` gives `{graph, total}` of a node; `open(node)` a link for it, or null. */
  constructor(host, styles, { expand = null, open = () => null, name = "graph" } = {}) {
    Object.assign(this, { styles, expand, open, name });
    this.hidden = new Set();
    this.restyle = () => this.#restyle();
    this.canvas = el("div", { class: "canvas", tabindex: 0, role: "application" });
    this.labels = el("canvas", { class: "labels", "aria-hidden": "true" });
    this.legend = el("div", { class: "legend", role: "group", "aria-label": "Legend: press to hide or show a kind" });
    this.said = el("p", { class: "said", role: "status" });
    this.panel = el("div", { class: "panel", hidden: true, role: "region", "aria-label": "Selected" });
    this.canvas.picture = this;
    host.replaceChildren(el("div", { class: "picture" }, this.#tools(), el("div", { class: "stage" }, this.canvas, this.labels, this.panel), this.legend, this.said));
    this.cy = cytoscape({
      container: this.canvas, style: this.#style(), layout: { name: "preset" }, minZoom: 0.03, maxZoom: 4,
      textureOnViewport: true, hideEdgesOnViewport: false, pixelRatio: Math.min(2, devicePixelRatio),
    });
    this.#listen();
  }

  /** Let go of what is drawn, before it leaves the page. */
  destroy() {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
    document.removeEventListener("themechange", this.restyle);
    DARK.removeEventListener("change", this.restyle);
    this.cy.destroy();
  }

  /** Draw a graph in place of what is there; `places` are those of nodes that are fixed. */
  show(graph, places = null) {
    this.cy.elements().remove();
    this.hidden.clear();
    this.select(null);
    this.#insert(graph);
    this.#lay(places ?? new Map(), true);
  }

  /** Draw more, beside what is there, which stays where it is. */
  add(graph) {
    this.finish();
    const before = new Map(this.cy.nodes().map((node) => [node.id(), { ...node.position() }]));
    this.#insert(graph);
    this.#lay(before, false);
    this.#hide();
  }

  #insert(graph) {
    const known = (id) => this.cy.getElementById(id).nonempty(), many = graph.nodes.length > MANY, dark = this.#dark();
    const fresh = graph.nodes.filter((node) => !known(node.id)).map((node) => ({ group: "nodes", data: this.#looks(node) }));
    this.cy.add(fresh);
    this.cy.add(graph.edges.filter((edge) => !known(edge.id) && known(edge.source) && known(edge.target)).map((edge) => {
      const style = this.styles.edges[edge.label] ?? {};
      const hue = edge.color ?? style.color ?? "#8b97a3";
      return { group: "edges", classes: many ? "many" : "", data: { ...edge, hue, color: dark ? lighter(hue) : hue, width: edge.width ?? style.width ?? 1, dash: edge.dash ?? DASHES[edge.label] ?? "solid" } };
    }));
    this.#tellLegend();
  }

  #looks(node) {
    const style = this.styles.nodes[node.label];
    const others = this.styles.others;
    const color = node.color ?? style?.color ?? others[[...node.label].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % others.length];
    return { ...node, color, size: Math.round(SIZE * (node.size ?? style?.size ?? 1)), shape: SHAPES[node.label] ?? "ellipse" };
  }

  #dark() { return getComputedStyle(this.canvas).colorScheme === "dark" || document.documentElement.dataset.theme === "dark"; }

  /** Draw in the colours of the other theme. */
  #restyle() {
    const dark = this.#dark(), said = this.said.textContent;
    this.cy.batch(() => this.cy.edges().forEach((edge) => { edge.data("color", dark ? lighter(edge.data("hue")) : edge.data("hue")); }));
    this.cy.style(this.#style());
    this.#tellLegend();
    this.say(said);
  }

  #style() {
    const dark = this.#dark();
    return [
      { selector: "node", style: { width: "data(size)", height: "data(size)", shape: "data(shape)", "background-color": "data(color)", "border-width": 1.5, "border-color": dark ? "#e6eaee" : "#ffffff", "overlay-opacity": 0 } },
      { selector: "edge", style: { width: "data(width)", "line-color": "data(color)", "line-style": "data(dash)", "curve-style": "bezier", "target-arrow-shape": "triangle", "target-arrow-color": "data(color)", "arrow-scale": 0.8, opacity: 0.75, "overlay-opacity": 0 } },
      { selector: ".many", style: { "curve-style": "haystack" } },
      { selector: "node:selected", style: { "border-color": dark ? "#ffffff" : "#111111", "border-width": 4 } },
      { selector: ".now", style: { "border-color": "#d00000", "border-width": 4 } },
      { selector: ".faint", style: { opacity: 0.15 } },
      { selector: ".gone", style: { display: "none" } },
    ];
  }

  #lay(fixed, fit) {
    cancelAnimationFrame(this.frame);
    const nodes = this.cy.nodes();
    const layout = new Layout(nodes.map((node) => ({ id: node.id() })), this.cy.edges().map((edge) => ({ source: edge.source().id(), target: edge.target().id() })), { fixed, ratio: Math.min(2, Math.max(0.6, this.cy.width() / Math.max(1, this.cy.height()))) });
    const many = nodes.length > MANY / 2, data = many && nodes.map((node) => node.data());
    this.#settle();
    if (many) this.cy.startBatch(); // it draws once, when all stand
    this.waiting = many;
    const put = () => {
      this.cy.batch(() => nodes.forEach((node, n) => { node.position(layout.place(n)); }));
      this.#settle();
      if (fit || this.canvas.dataset.drawn === "yes") this.fit();
    };
    const go = (slice) => {
      const done = layout.work(slice);
      this.canvas.dataset.drawn = done ? "yes" : "moving";
      if (done || !many) put();
      else this.#sketch(layout, data);
      if (!done) this.frame = requestAnimationFrame(() => go(SLICE));
    };
    this.finish = () => {
      cancelAnimationFrame(this.frame);
      if (!layout.done) go(Infinity);
    };
    go(many ? 0 : FIRST_SLICE);
  }

  /** Let the nodes stand now. */
  finish() {}

  /** Let Cytoscape draw what was kept from it. */
  #settle() {
    if (this.waiting) this.cy.endBatch();
    this.waiting = false;
  }

  /** Draw many nodes and edges as points and lines, which is cheap, while they move. */
  #sketch(layout, data) {
    const pen = this.#sheet(), { zoom, pan } = this.#view(data.map((_, n) => layout.place(n))) ?? {};
    if (!zoom) return;
    const x = (n) => layout.x[n] * zoom + pan.x, y = (n) => layout.y[n] * zoom + pan.y;
    pen.beginPath();
    for (const [a, b] of layout.ends) { pen.moveTo(x(a), y(a)); pen.lineTo(x(b), y(b)); }
    Object.assign(pen, { strokeStyle: "#8b97a3", lineWidth: 0.5 }).stroke();
    data.forEach(({ color, size }, n) => {
      const wide = Math.max(2, size * zoom);
      pen.fillStyle = color;
      pen.fillRect(x(n) - wide / 2, y(n) - wide / 2, wide, wide);
    });
  }

  fit() {
    const view = this.#view(this.#seen("nodes").map((node) => node.position()));
    if (view) this.cy.viewport(view);
  }

  /** The zoom and the shift that show places, with room for labels at the sides. */
  #view(places) {
    const width = this.cy.width(), height = this.cy.height(), side = Math.max(EDGE, Math.min(64, width / 9));
    if (!width || !places.length) return null;
    const [left, right] = ends(places.map((at) => at.x)), [top, bottom] = ends(places.map((at) => at.y));
    const zoom = Math.min(1.25, Math.max(1, width - 2 * side) / (right - left || 1), Math.max(1, height - 2 * EDGE) / (bottom - top || 1));
    return { zoom, pan: { x: width / 2 - (zoom * (left + right)) / 2, y: height / 2 - (zoom * (top + bottom)) / 2 } };
  }

  /** The nodes or edges that are not hidden; `:visible` would compute every style. */
  #seen(group) {
    if (!this.hidden.size) return this.cy[group]();
    return this.cy[group]().filter((one) => !one.hasClass("gone") && (one.isNode() || !one.connectedNodes().some((node) => node.hasClass("gone"))));
  }

  #listen() {
    this.cy.on("render", () => this.#drawLabels());
    this.cy.on("tap", (event) => { this.select(event.target === this.cy ? null : event.target); });
    this.cy.on("dbltap", "node", (event) => { this.grow(event.target); });
    this.cy.on("mouseover", "node", (event) => { this.canvas.title = event.target.data("name"); });
    this.cy.on("mouseout", "node", () => { this.canvas.title = ""; });
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.observer = new ResizeObserver(() => { this.cy.resize(); this.fit(); });
    this.observer.observe(this.canvas);
    document.addEventListener("themechange", this.restyle);
    DARK.addEventListener("change", this.restyle);
  }

  #key(event) {
    const chosen = this.cy.$("node:selected"), zoom = { "+": 1.25, "=": 1.25, "-": 0.8 }[event.key];
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (way) this.#step(chosen, way);
    else if (zoom) this.cy.zoom({ level: this.cy.zoom() * zoom, renderedPosition: { x: this.cy.width() / 2, y: this.cy.height() / 2 } });
    else if (event.key === "0") this.fit();
    else if (event.key === "Enter" && chosen.nonempty()) this.grow(chosen[0]);
    else if (event.key === "Delete" && chosen.nonempty()) this.#remove(chosen);
    else if (event.key === "Escape") this.select(null);
    else return;
    event.preventDefault();
  }

  /** Go to the nearest node in a direction. */
  #step(chosen, [x, y]) {
    const from = chosen.nonempty() ? chosen[0].position() : { x: -1e9 * x, y: -1e9 * y };
    let best = null, least = Infinity;
    this.#seen("nodes").forEach((node) => {
      if (node === chosen[0]) return;
      const dx = node.position("x") - from.x, dy = node.position("y") - from.y, ahead = dx * x + dy * y, aside = Math.abs(dx * y) + Math.abs(dy * x);
      if (ahead > 0.5 && ahead + 2 * aside < least) { best = node; least = ahead + 2 * aside; }
    });
    if (best) this.select(best);
  }

  select(element) {
    this.cy.elements(":selected").unselect();
    this.panel.hidden = !element;
    if (!element) return;
    element.select();
    const data = element.data(), link = element.isNode() ? this.open(data) : null;
    this.panel.replaceChildren(
      el("p", { class: "kind" }, swatch(data, element.isNode()), data.label, button("\u00d7", () => { this.select(null); this.canvas.focus(); }, { class: "close", "aria-label": "Close" })),
      el("p", { class: "name", dir: "auto" }, data.name),
      el("div", { class: "row" },
        element.isNode() && this.expand && button("Expand", () => this.grow(element)),
        link && el("a", { class: "button", href: link.href }, link.text),
        element.isNode() && button("Remove", () => this.#remove(element))),
      el("dl", {}, Object.entries(data.properties ?? {}).map(([name, value]) => [el("dt", {}, name), el("dd", { dir: "auto" }, value)])),
    );
    this.say(`${data.label} ${data.name}`);
  }

  #remove(elements) {
    elements.remove();
    this.select(null);
    this.#tellLegend();
  }

  /** Add the best neighbours of a node, and say how many there are. */
  async grow(node) {
    if (!this.expand) return;
    this.say(`Reading what is around ${node.data("name")} \u2026`);
    try {
      const { graph, total } = await this.expand(node.data());
      const before = this.cy.nodes().length;
      this.add(graph);
      const near = graph.nodes.length - 1, fresh = this.cy.nodes().length - before;
      const best = total > graph.edges.length ? `The best ${graph.edges.length} of ${counted(total, "relationship")}` : counted(total, "relationship");
      this.say(`${best} of ${node.data("name")} are shown, with ${counted(near, "neighbour")}, ${fresh} of them new.`);
    } catch (error) { this.say(error.message); }
  }

  /** Show only some elements in full. */
  dim(faint, now = null) {
    this.cy.batch(() => {
      this.cy.elements().removeClass("faint now");
      this.cy.elements().filter((element) => faint(element.data())).addClass("faint");
      if (now) this.cy.getElementById(now).addClass("now");
    });
  }

  say(text) { this.said.textContent = text; }

  #tools() {
    return el("div", { class: "tools", role: "toolbar", "aria-label": "Picture" },
      button("Fit", () => this.fit(), { title: "Show all (0)" }),
      button("PNG", () => this.png()), button("SVG", () => save(`${this.name}.svg`, this.svg(), "image/svg+xml")),
      button("CSV", () => save(`${this.name}.csv`, this.csv(), "text/csv")),
      button("GraphML", () => save(`${this.name}.graphml`, this.graphml(), "application/graphml+xml")));
  }

  #tellLegend() {
    const kinds = new Map();
    this.cy.elements().forEach((element) => {
      const data = element.data(), key = `${element.group()} ${data.label}`, known = kinds.get(key);
      if (known) known.count += 1;
      else kinds.set(key, { key, data, node: element.isNode(), count: 1 });
    });
    const items = [...kinds.values()].sort((a, b) => b.node - a.node || b.count - a.count);
    this.legend.replaceChildren(...items.map(({ key, data, node, count }) => button([swatch(data, node), `${data.kind ?? data.label} `, el("small", {}, String(count))], (event) => {
      if (!this.hidden.delete(key)) this.hidden.add(key);
      event.currentTarget.setAttribute("aria-pressed", String(!this.hidden.has(key)));
      this.#hide();
    }, { "aria-pressed": String(!this.hidden.has(key)) })));
    const sizes = `${counted(this.cy.nodes().length, "node")}, ${counted(this.cy.edges().length, "relationship")}`;
    this.canvas.setAttribute("aria-label", `Graph of ${sizes}. Arrow keys go from node to node, Enter expands, Delete removes, plus and minus zoom, 0 shows all.`);
    this.say(`${sizes}.`);
  }

  #hide() {
    this.cy.batch(() => this.cy.elements().forEach((element) => { element.toggleClass("gone", this.hidden.has(`${element.group()} ${element.data("label")}`)); }));
  }

  /** The labels that have room, the most important nodes first: none covers another or a node. */
  placed() {
    const zoom = this.cy.zoom(), pan = this.cy.pan(), width = this.cy.width(), height = this.cy.height();
    const room = new Room(), pen = this.labels.getContext("2d"), found = [];
    pen.font = `${FONT}px system-ui, "Noto Sans", sans-serif`;
    const nodes = this.#seen("nodes").map((node) => {
      const at = node.position(), radius = (node.data("size") * zoom) / 2;
      return { node, x: at.x * zoom + pan.x, y: at.y * zoom + pan.y, radius, rank: node.selected() || node.hasClass("now") ? 1e6 : node.hasClass("faint") ? -1 : (node.data("rank") ?? 0) * 1e3 + node.data("size") * 4 + node.degree(false) };
    }).filter(({ x, y }) => x > -60 && y > -60 && x < width + 60 && y < height + 60);
    for (const { x, y, radius } of nodes) room.take({ left: x - radius, right: x + radius, top: y - radius, bottom: y + radius });
    nodes.sort((a, b) => b.rank - a.rank || (a.node.id() < b.node.id() ? -1 : 1));
    for (const { node, x, y, radius } of nodes.slice(0, 800)) {
      const text = lines(node.data("short") ?? node.data("name"), 24, 2);
      const wide = Math.max(...text.map((line) => pen.measureText(line).width)) + 4, high = text.length * LINE + 2;
      const near = radius * 0.8, below = y + radius + 2, above = y - radius - high - 2;
      const middle = x - wide / 2, inside = Math.min(Math.max(1, middle), width - wide - 1), over = Math.abs(inside - middle) < wide / 2 - near ? inside : middle;
      const spots = [[over, below], [over, above], [x + radius + 3, y - high / 2], [x - radius - wide - 3, y - high / 2],
        [x + near, y + near], [x - near - wide, y + near], [x + near, y - near - high], [x - near - wide, y - near - high]];
      const spot = spots.find(([left, top]) => left > 0 && left + wide < width && top > 0 && top + high < height && room.free({ left, top, right: left + wide, bottom: top + high }));
      const mark = node.data("mark");
      if (mark !== undefined && radius > 6) found.push({ lines: [String(mark)], x, y: y - LINE / 2, ...(node.hasClass("faint") ? { faint: true } : { ink: node.data("ink") ?? "#000000" }), bold: true });
      if (!spot) continue;
      const box = { left: spot[0], top: spot[1], right: spot[0] + wide, bottom: spot[1] + high };
      room.take(box);
      found.push({ box, lines: text, x: spot[0] + wide / 2, y: spot[1] + 1, faint: node.hasClass("faint"), bold: node.selected() });
    }
    if (this.cy.edges().length <= 150) this.#edgeNames(room, pen, found, zoom, pan);
    return found;
  }

  #edgeNames(room, pen, found, zoom, pan) {
    this.#seen("edges").forEach((edge) => {
      const text = edge.data("name");
      if (!text || edge.hasClass("faint")) return;
      const at = edge.midpoint(), wide = pen.measureText(text).width + 2, x = at.x * zoom + pan.x, y = at.y * zoom + pan.y - LINE / 2;
      const box = { left: x - wide / 2, right: x + wide / 2, top: y, bottom: y + LINE };
      if (!room.free(box)) return;
      room.take(box);
      found.push({ box, lines: [text], x, y, quiet: true });
    });
  }

  #colours() {
    const style = getComputedStyle(this.canvas);
    return { ink: style.color, paper: style.backgroundColor };
  }

  /** The pen of the labels, on a clean sheet. */
  #sheet() {
    const ratio = Math.min(2, devicePixelRatio), width = this.cy.width(), height = this.cy.height();
    if (this.labels.width !== width * ratio || this.labels.height !== height * ratio) Object.assign(this.labels, { width: width * ratio, height: height * ratio });
    const pen = this.labels.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  #drawLabels() {
    if (this.waiting) return;
    const pen = this.#sheet(), { ink, paper } = this.#colours(), placed = this.placed();
    Object.assign(pen, { textAlign: "center", textBaseline: "top", lineJoin: "round", strokeStyle: paper, lineWidth: 3 });
    for (const label of placed) {
      pen.font = `${label.bold ? "bold " : ""}${FONT}px system-ui, "Noto Sans", sans-serif`;
      pen.fillStyle = label.ink ?? ink;
      pen.globalAlpha = label.faint ? 0.35 : label.quiet ? 0.75 : 1;
      label.lines.forEach((line, n) => {
        if (!label.ink) pen.strokeText(line, label.x, label.y + n * LINE);
        pen.fillText(line, label.x, label.y + n * LINE);
      });
    }
    this.shown = placed;
  }

  /** The picture as it is seen, with its legend, as the text of an SVG file. */
  svg() {
    this.finish();
    const zoom = this.cy.zoom(), pan = this.cy.pan(), width = this.cy.width(), height = this.cy.height(), { ink, paper } = this.#colours();
    const at = ({ x, y }) => ({ x: x * zoom + pan.x, y: y * zoom + pan.y }), kinds = [...this.legend.children].map((item) => item.querySelector("svg").cloneNode(true));
    const made = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + 30}" viewBox="0 0 ${width} ${height + 30}" color="${ink}"><rect width="100%" height="100%" fill="${paper}"/>`];
    this.#seen("edges").forEach((edge) => {
      const a = at(edge.source().position()), b = at(edge.target().position()), m = at(edge.midpoint()), data = edge.data();
      const bend = { x: 2 * m.x - (a.x + b.x) / 2, y: 2 * m.y - (a.y + b.y) / 2 }, dash = { dashed: ' stroke-dasharray="6 4"', dotted: ' stroke-dasharray="2 3"' }[data.dash] ?? "";
      made.push(`<path d="M${a.x.toFixed(1)} ${a.y.toFixed(1)}Q${bend.x.toFixed(1)} ${bend.y.toFixed(1)} ${b.x.toFixed(1)} ${b.y.toFixed(1)}" fill="none" stroke="${data.color}" stroke-width="${Math.max(0.6, data.width * zoom).toFixed(1)}" opacity="${edge.hasClass("faint") ? 0.15 : 0.75}"${dash}/>`);
      const turn = Math.atan2(b.y - bend.y, b.x - bend.x), back = (edge.target().data("size") * zoom) / 2 + 1, tip = { x: b.x - back * Math.cos(turn), y: b.y - back * Math.sin(turn) };
      made.push(`<path d="M0 0L-8 -3.2L-8 3.2Z" transform="translate(${tip.x.toFixed(1)} ${tip.y.toFixed(1)}) rotate(${((turn * 180) / Math.PI).toFixed(1)})" fill="${data.color}" opacity="${edge.hasClass("faint") ? 0.15 : 1}"/>`);
    });
    this.#seen("nodes").forEach((node) => {
      const { x, y } = at(node.position()), data = node.data();
      made.push(`<g transform="translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${((data.size * zoom) / 20).toFixed(3)})" stroke="currentColor" stroke-width="0.8" opacity="${node.hasClass("faint") ? 0.15 : 1}">${shapeText(data)}</g>`);
    });
    for (const label of this.placed()) label.lines.forEach((line, n) => made.push(`<text x="${label.x.toFixed(1)}" y="${(label.y + n * LINE + FONT - 1).toFixed(1)}" text-anchor="middle" font-family="system-ui, Noto Sans, sans-serif" font-size="${FONT}" fill="${label.ink ?? ink}"${label.ink ? "" : ` stroke="${paper}" stroke-width="3" paint-order="stroke"`} opacity="${label.faint ? 0.35 : 1}">${xml(line)}</text>`));
    let x = 14;
    kinds.forEach((mark, n) => {
      const text = this.legend.children[n].textContent;
      made.push(`<g transform="translate(${x} ${height + 7})">${new XMLSerializer().serializeToString(mark)}</g><text x="${x + 20}" y="${height + 19}" font-family="system-ui, Noto Sans, sans-serif" font-size="11" fill="${ink}">${xml(text)}</text>`);
      x += 34 + text.length * 6.4;
    });
    return `${made.join("\n")}\n</svg>\n`;
  }

  async png() {
    const image = new Image();
    image.src = URL.createObjectURL(new Blob([this.svg()], { type: "image/svg+xml" }));
    await image.decode();
    const sheet = el("canvas", { width: image.width * 2, height: image.height * 2 });
    sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
    URL.revokeObjectURL(image.src);
    sheet.toBlob((blob) => save(`${this.name}.png`, blob));
  }

  csv() {
    const ends = (edge) => [edge.source().data("name"), edge.data("label"), edge.target().data("name"), edge.data("name")];
    return csv(["start", "type", "end", "value"], this.#seen("edges").map(ends));
  }

  graphml() {
    const keys = ["label", "name"].flatMap((name) => ["node", "edge"].map((of) => `<key id="${of[0]}${name}" for="${of}" attr.name="${name}" attr.type="string"/>`));
    const told = (element, of) => ["label", "name"].map((name) => `<data key="${of}${name}">${xml(element.data(name) ?? "")}</data>`).join("");
    const nodes = this.#seen("nodes").map((node) => `<node id="${xml(node.id())}">${told(node, "n")}</node>`);
    const edges = this.#seen("edges").map((edge) => `<edge source="${xml(edge.source().id())}" target="${xml(edge.target().id())}">${told(edge, "e")}</edge>`);
    return `<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n${keys.join("\n")}\n<graph edgedefault="directed">\n${[...nodes, ...edges].join("\n")}\n</graph>\n</graphml>\n`;
  }
}

const ends = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

/** A colour that a line is seen in on a dark ground, three to one and more. */
function lighter(color) {
  let parts = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const light = () => parts.reduce((sum, part, n) => sum + [0.2126, 0.7152, 0.0722][n] * (part / 255) ** 2.2, 0);
  while (light() < 0.22) parts = parts.map((part) => part + (255 - part) / 8);
  return `#${parts.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

/** A text for an XML file: escaped, without the characters that XML cannot hold. */
const xml = (text) => String(text).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, " ").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** A node as a shape around the origin, 20 wide. */
function shapeText({ shape, color }) {
  if (shape === "round-rectangle") return `<rect x="-10" y="-10" width="20" height="20" rx="4" fill="${xml(color)}"/>`;
  if (shape === "ellipse") return `<circle r="10" fill="${xml(color)}"/>`;
  if (shape === "star" || shape === "vee") {
    const points = shape === "vee" ? "-10,-10 0,10 10,-10 0,-4" : [...Array(10).keys()].map((n) => corner(n, 10, n % 2 ? 4.4 : 11)).join(" ");
    return `<polygon points="${points}" fill="${xml(color)}"/>`;
  }
  return `<polygon points="${[...Array(CORNERS[shape]).keys()].map((n) => corner(n, CORNERS[shape], 11)).join(" ")}" fill="${xml(color)}"/>`;
}

const corner = (n, of, radius) => {
  const turn = (2 * Math.PI * n) / of - Math.PI / 2 + (of === 8 ? Math.PI / 8 : 0);
  return `${(radius * Math.cos(turn)).toFixed(1)},${(radius * Math.sin(turn)).toFixed(1)}`;
};

/** What stands for a kind in the legend. */
function swatch(data, node) {
  const make = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const mark = make("svg", { viewBox: "-12 -12 24 24", width: 16, height: 16, "aria-hidden": "true" });
  if (node) {
    const text = new DOMParser().parseFromString(`<g xmlns="http://www.w3.org/2000/svg" stroke="currentColor" stroke-width="0.8">${shapeText(data)}</g>`, "image/svg+xml");
    mark.append(document.importNode(text.documentElement, true));
  } else {
    const dash = { dashed: "6 4", dotted: "2 3" }[data.dash] ?? "none";
    mark.append(make("line", { x1: -12, x2: 12, y1: 0, y2: 0, stroke: data.color, "stroke-width": 2 + data.width / 2, "stroke-dasharray": dash }));
  }
  return mark;
}
