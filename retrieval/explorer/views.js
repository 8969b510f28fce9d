// Parts that several screens have: tables, pictures of stored nodes, links into other screens.
import { button, csv, el, save } from "./dom.js";
import { link, listed, saved } from "./data.js";
import { Picture, undraw } from "./picture.js";

const MOST_NEIGHBOURS = 50;
const DOCUMENTS = new Set(["title", "mentioned", "otherTitle", "page", "takenThere"]);
const ID = /^[0-9a-f]{24,}$/, LONG = 60, SOME = 20;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:/;
const ENDS = new Set(["stopReason", "why"]);
const QUIET = new Set(["embedding", "firstRun", "secondRun"]);

/** What a cell of a column leads to, or null. */
function target(column, value, context) {
  if (value === null || typeof value !== "string" || value === "") return null;
  if (DOCUMENTS.has(column)) return link("document", { title: value, corpus: context.corpus });
  if (column === "chunk" && ID.test(value)) return link("document", { chunk: value, corpus: context.corpus });
  if (column === "documentId") return link("document", { id: value, corpus: context.corpus });
  if (column === "traversal" || column === "traversalId") return link("ask", { walk: value, corpus: context.corpus });
  if (column === "run") return link("runs", { run: value, corpus: context.corpus });
  return null;
}

export function text(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isInteger(value) ? value.toLocaleString("en") : value.toLocaleString("en", { maximumFractionDigits: 4 });
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.map(text).join("; ");
  if (typeof value === "object") return JSON.stringify(value);
  return TIME.test(value) ? value.slice(0, 16).replace("T", " ") : String(value);
}

/** A value of a user's own statement, whose lists may hold any mark. */
const exact = (value) => (Array.isArray(value) ? JSON.stringify(value) : text(value));

/** The name of a column in words: stopReason is stop reason. */
const words = (column) => column.replace(/([a-z\d])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`);

/** A table of rows, whose cells lead on; columns without any value are left out, ids are cut short. */
export function table({ columns, rows, more = false }, context, { name = "rows", title = null, drawn = {}, without = [], plain = false } = {}) {
  const there = (value) => value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && !value.length);
  const kept = columns.map((column, n) => [column, n]).filter(([column, n]) => !QUIET.has(column) && !without.includes(column) && rows.some((row) => there(row[n])));
  const figures = new Set(kept.filter(([column, n]) => !drawn[column] && rows.every((row) => !there(row[n]) || typeof row[n] === "number")).map(([column]) => column));
  const cell = (row, column, n) => {
    if (drawn[column]) return el("td", {}, drawn[column](row[n], Object.fromEntries(columns.map((each, m) => [each, row[m]]))));
    const to = target(column, row[n], context), whole = plain ? exact(row[n]) : ENDS.has(column) ? text(row[n]).replaceAll("_", " ") : text(row[n]), id = ID.test(whole), shown = id ? `${whole.slice(0, 8)}\u2026` : whole;
    const kind = figures.has(column) ? "figure" : TIME.test(row[n]) ? "time" : whole.length > LONG ? "long" : whole.length > SOME && !id ? "some" : null;
    return el("td", { class: kind, dir: "auto", title: id && whole }, to ? el("a", { href: to }, shown) : shown);
  };
  const head = el("div", { class: "caption" }, title && el("h2", {}, title), more && el("span", { class: "quiet" }, `The first ${rows.length} rows`), rows.length > 0 && button("CSV", () => save(`${name}.csv`, csv(columns, rows), "text/csv"), { "aria-label": `Save ${title ?? name} as CSV` }));
  if (!rows.length) return el("section", {}, head, el("p", { class: "quiet" }, "Nothing is stored."));
  return el("section", {}, head, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title ?? name },
    el("table", {}, el("thead", {}, el("tr", {}, kept.map(([column]) => el("th", { scope: "col", class: figures.has(column) && "figure" }, plain ? column : words(column))))),
      el("tbody", {}, rows.map((row) => el("tr", {}, kept.map(([column, n]) => cell(row, column, n))))))));
}

/** The table of a stored statement; the parameters have its limit, a title may be made of the first row. */
export async function stored(name, parameters, context, { title, ...options }) {
  const found = await listed(name, parameters);
  return table(found, context, { name: name.split("/").at(-1), title: typeof title === "function" ? title(found.objects[0]) : title, ...options });
}

/** A picture whose nodes can be expanded and opened. */
export function picture(host, context, name) {
  const expand = async (node) => {
    const { objects: [found], graph } = await saved("explorer/around", { node: node.id, limit: MOST_NEIGHBOURS });
    if (!found) throw new Error("This node is gone.");
    return { graph, total: found.total };
  };
  return new Picture(host, context.styles, { expand, name, open: (node) => opened(node, context) });
}

function opened({ label, properties = {} }, context) {
  const corpus = properties.corpus ?? context.corpus;
  if (label === "Document") return { text: "Open document", href: link("document", { id: properties.id, corpus }) };
  if (label === "Chunk") return { text: "Open passage", href: link("document", { chunk: properties.id, corpus }) };
  if (label === "Traversal") return { text: "Open walk", href: link("ask", { walk: properties.id, corpus }) };
  if (label === "Query") return { text: "Ask", href: link("ask", { q: properties.text, corpus }) };
  return null;
}

const LETTER = /[\p{L}\p{N}]/u;

/** A text with some of its parts marked wherever they stand as whole words, the longest first. */
export function marked(whole, parts, make = (part) => el("mark", {}, part)) {
  const found = [];
  for (const part of [...new Set(parts)].filter(Boolean).sort((a, b) => b.length - a.length)) {
    for (let at = whole.indexOf(part); at >= 0; at = whole.indexOf(part, at + part.length)) {
      const inside = LETTER.test(whole[at - 1] ?? " ") && LETTER.test(part[0]) || LETTER.test(whole[at + part.length] ?? " ") && LETTER.test(part.at(-1));
      if (!inside && !found.some(([start, end]) => at < end && start < at + part.length)) found.push([at, at + part.length]);
    }
  }
  found.sort((a, b) => a[0] - b[0]);
  const pieces = [];
  let at = 0;
  for (const [start, end] of found) {
    pieces.push(whole.slice(at, start), make(whole.slice(start, end)));
    at = end;
  }
  return [...pieces, whole.slice(at)];
}

/** The cosine or count as a figure with a bar. */
export function score(value, most = 1) {
  if (value === null || value === undefined) return null;
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  bar.style.width = `${Math.round(36 * Math.max(0, Math.min(1, value / most)))}px`;
  return el("span", { class: "score" }, bar, Number.isInteger(value) ? text(value) : value.toFixed(3));
}

/** A form that goes to its own screen with the values that it has. */
export function form(act, ...fields) {
  return el("form", { on: { submit: (event) => {
    event.preventDefault();
    act(Object.fromEntries(new FormData(event.target)));
  } } }, fields);
}

export function field(label, input, wide = false) {
  return el("label", { class: wide ? "wide" : null }, label, input);
}

export function choice(name, values, value) {
  const made = el("select", { name }, values.map((one) => el("option", { value: one }, one)));
  made.value = value ?? values[0];
  return made;
}

/** A waiting line while something is read; then what was made of it, or the error. */
export async function filled(host, making) {
  undraw(host);
  host.replaceChildren(el("p", { class: "wait", role: "status" }, "Reading \u2026"));
  try {
    host.replaceChildren(...[await making()].flat());
  } catch (error) {
    host.replaceChildren(el("p", { class: "error", role: "alert" }, error.message));
  }
}
