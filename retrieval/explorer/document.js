// A document: its text in passages, what it names and links to, what is near it.
import { button, el } from "./dom.js";
import { cypher, go, keep, link, listed, saved } from "./data.js";
import { field, filled, form, marked, picture, score, stored, table, text } from "./views.js";

const MOST = 1000, NEAR = 12;
const PLACES = "MATCH (c:Chunk {id: $chunk})-[:FROM_DOCUMENT]->(d:Document) RETURN d.id AS id, c.firstSentence AS first";

export async function document_(host, values, context) {
  const open = form(({ title }) => go("document", { title, corpus: context.corpus }), field("Title, alias or id", el("input", { name: "title", value: values.title ?? "", required: true }), true), el("button", { class: "main" }, "Open"));
  host.append(el("h1", {}, "Documents"), open);
  const { id, first: begin } = await named(values, context);
  if (!id) {
    host.append(await stored("inspect/documents", { corpus: context.corpus, limit: 500 }, context, { title: `Documents of ${context.corpus}` }));
    return;
  }
  const first = MOST * Math.floor((Number(values.first) || begin || 0) / MOST);
  const [{ objects: [about], graph }, { objects: sentences, more }, { objects: chunks }, { objects: near }] = await Promise.all([
    saved("explorer/document", { document: id }), saved("mcp/document", { document: id, first, limit: MOST + 1 }, MOST),
    saved("explorer/chunks", { document: id, first, limit: MOST }), saved("mcp/neighbours", { document: id, limit: NEAR }),
  ]);
  if (!host.isConnected) return;
  if (!about) throw new Error("This document is gone.");
  host.querySelector("h1").textContent = about.title;
  host.querySelector("h1").dir = "auto";
  host.querySelector("[name=title]").value = about.title;
  const map = el("div", { class: "host" }), similar = el("div", { "aria-live": "polite" });
  host.append(head(about, context), el("div", { class: "split" },
    el("div", {}, el("h2", {}, "Text"), body(sentences, chunks, similar, values, context), pages(id, first, sentences, more, context)),
    el("div", { class: "beside" }, map)), similar, el("h2", {}, `What it is connected with, the first ${NEAR} of each kind`), neighbours(near, context));
  const drawing = picture(map, context, "document");
  drawing.show(graph);
  if (drawing.cy.nodes().nonempty()) await drawing.grow(drawing.cy.nodes()[0]);
}

async function named({ id, title, chunk }, context) {
  if (chunk) return (await cypher(PLACES, { chunk })).objects[0] ?? { id };
  if (id || !title) return { id };
  const { objects } = await saved("retrieval/view_document", { corpus: context.corpus, document: title, limit: 5 });
  if (!objects.length) throw new Error(`No document ${title} in ${context.corpus}: titles are matched as they are written.`);
  return objects[0];
}

function head({ url, language, aliases, themes, categories, corpus, id }, context) {
  const safe = /^https?:\/\//.test(url ?? "");
  const chips = (title, values) => values.length > 0 && el("div", { class: "chips" }, el("span", { class: "quiet" }, title), values.map((value) => el("span", { class: "chip", dir: "auto" }, value)));
  return el("div", {}, el("p", { class: "lead" }, `In ${corpus}${language ? `, language ${language}` : ""}. `, safe ? el("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, url) : text(url), " ",
    el("a", { href: link("corpora", { corpus, focus: id }) }, "Its place in the corpus")),
  chips("Themes", themes), chips("Categories", categories), chips(aliases.length > 20 ? `Also called, 20 of ${aliases.length} names` : "Also called", aliases.slice(0, 20)));
}

/** The text; a button before each passage shows what it is similar to. */
function body(sentences, chunks, similar, values, context) {
  if (!sentences.length) return el("p", { class: "quiet" }, "It has no text.");
  const begins = new Map(), titles = new Map(), names = new Set();
  for (const chunk of chunks) {
    if (!begins.has(chunk.first)) begins.set(chunk.first, []);
    begins.get(chunk.first).push(chunk);
    for (const [anchor, title] of chunk.mentions) titles.set(anchor, title);
    chunk.names.forEach((name) => names.add(name));
  }
  const places = new Map(), parts = sentences.map((sentence) => {
    const part = el("span", { dir: "auto" }, marked(sentence.text, [...titles.keys(), ...names], (found) => titles.has(found)
      ? el("a", { href: link("document", { title: titles.get(found), corpus: context.corpus }) }, found)
      : el("mark", { class: "name" }, found)), " ");
    places.set(sentence.index, part);
    return part;
  });
  const choose = (chunk, pressed) => {
    for (const one of places.values()) one.classList.remove("chosen");
    for (let n = chunk.first; n <= chunk.last; n += 1) places.get(n)?.classList.add("chosen");
    for (const other of made) other.setAttribute("aria-pressed", String(other === pressed));
    keep({ chunk: chunk.chunk });
    filled(similar, async () => table(await listed("explorer/similar", { chunk: chunk.chunk, limit: 50 }), context, { name: "similar", title: `What passage ${chunk.index} is similar to` }));
  };
  const made = [], paragraphs = [];
  sentences.forEach((sentence, n) => {
    if (n % 6 === 0) paragraphs.push(el("p", {}));
    for (const chunk of begins.get(sentence.index) ?? []) {
      const mark = button(String(chunk.index), () => choose(chunk, mark), { class: "place", "aria-pressed": "false", "aria-label": `Passage ${chunk.index}`, title: `Passage ${chunk.index}: ${chunk.names.join(", ")}` });
      made.push(mark);
      paragraphs.at(-1).append(mark);
      if (chunk.chunk === values.chunk) queueMicrotask(() => { choose(chunk, mark); places.get(chunk.first)?.scrollIntoView({ block: "center" }); });
    }
    paragraphs.at(-1).append(parts[n]);
  });
  return el("div", { class: "text" }, el("p", { class: "quiet" }, "A number begins a passage: press it to see what it is similar to. Links are underlined, names dotted."), paragraphs);
}

/** Which sentences of a long text are shown, and the way to others. */
function pages(id, first, sentences, more, context) {
  if (!first && !more) return null;
  const at = (to) => () => go("document", { id, first: String(to), corpus: context.corpus });
  return el("p", { class: "row" }, first > 0 && button("Previous", at(first - MOST)), el("span", { class: "quiet" }, `Sentences ${text(first + 1)} to ${text(first + sentences.length)}`), more && button("Next", at(first + MOST)));
}

function neighbours(near, context) {
  const kinds = Map.groupBy ? Map.groupBy(near, (one) => one.kind) : near.reduce((all, one) => all.set(one.kind, [...(all.get(one.kind) ?? []), one]), new Map());
  return el("div", { class: "groups" }, [...kinds].map(([kind, found]) => {
    const most = Math.max(1, ...found.map((one) => one.score ?? 0));
    return el("section", { class: "card" }, el("h3", {}, kind), el("ul", {}, found.map((one) => el("li", { dir: "auto" },
      kind === "names" ? el("span", {}, one.title) : el("a", { href: link("document", { id: one.id, corpus: context.corpus }) }, one.title), score(one.score, most)))));
  }));
}
