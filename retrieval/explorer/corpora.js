// What is stored: each corpus with its size, subjects and state, and a map of its documents.
import { begun, button, el } from "./dom.js";
import { go, link, saved } from "./data.js";
import { filled, form, field, picture, stored, text } from "./views.js";

const SAMPLE = 1000, MOST = 12, MOST_CARDS = 40;
const FIGURES = ["documents", "chunks", "sentences", "themes", "terms", "links", "mentions", "similarIntra", "similarInter"];
const NAMES = { similarIntra: "similar within", similarInter: "similar across" };

/** A button that runs the checks which need no settings, and tells what they find. */
function health(name, { checks }) {
  const told = el("div", { "aria-live": "polite" });
  const check = button("Check", () => filled(told, async () => {
    const wrong = [];
    for (const one of checks) {
      const { objects: [found] } = await saved(one.name, { corpus: name });
      if (found.count) wrong.push(el("p", { class: "error" }, `${text(found.count)} ${one.title}: ${found.examples.join(", ")}`));
    }
    return wrong.length ? wrong : el("p", { class: "quiet" }, `Sound: ${checks.length} checks found nothing. knowtrail corpus verify makes all.`);
  }));
  return [check, told];
}

async function card({ name, version, status, embedder }, context) {
  const [check, told] = health(name, context);
  const [{ objects: [figures] }, { objects: [overview] }] = await Promise.all([
    saved("corpus/show", { name }), saved("mcp/overview", { name, sample: SAMPLE, most: MOST }),
  ]);
  const chips = (title, values, make) => values.length > 0 && [el("p", { class: "quiet" }, title), el("div", { class: "chips" }, values.map(make))];
  return el("article", { class: "card" },
    el("div", { class: "top" }, el("h2", { dir: "auto" }, name), el("span", { class: "score" }, `${status ?? "complete"}, version ${version ?? 0}`)),
    el("div", { class: "figures" }, FIGURES.map((key) => el("div", {}, el("b", {}, text(figures[key])), el("span", {}, NAMES[key] ?? key)))),
    el("p", { class: "quiet" }, `Languages: ${overview.languages.join(", ") || "not recorded"}. Vectors: ${embedder}.`),
    chips("Themes", overview.themes, (theme) => el("span", { class: "chip", dir: "auto" }, theme)),
    chips("Categories", overview.categories, (category) => el("span", { class: "chip", dir: "auto" }, category)),
    chips("Documents", overview.titles, (title) => el("a", { class: "chip", dir: "auto", href: link("document", { title, corpus: name }) }, title)),
    el("p", { class: "row" }, el("a", { class: "button", href: link("ask", { corpus: name }) }, "Ask"), el("a", { class: "button", href: link("document", { corpus: name }) }, "Documents"), el("a", { class: "button", href: link("corpora", { corpus: name }) }, "Map"), check), told);
}

const failed = (error, name) => el("p", { class: "error", role: "alert" }, `${name}: ${error.message}`);

export async function corpora(host, values, context) {
  host.append(el("h1", {}, "Corpora"), el("p", { class: "lead" }, "What is stored here. Ask a corpus, read its documents, or look at how they hang together."));
  if (!context.corpora.length) {
    host.append(el("p", { class: "card" }, "No corpus is stored yet: knowtrail quickstart loads a small one, knowtrail ingest your own."));
    return;
  }
  const chosen = context.corpora.find(({ name }) => name === context.corpus), others = context.corpora.filter((one) => one !== chosen).slice(0, MOST_CARDS), unseen = context.corpora.length - 1 - others.length;
  const first = el("div", {}), map = el("div", { class: "host" }), tiles = el("div", { class: "tiles" }), walks = el("div", {});
  host.append(el("div", { class: "split" }, first, el("div", { class: "beside" }, map)), tiles, el("p", { class: "quiet", hidden: unseen < 1 }, `The list at the top has ${text(unseen)} more.`), walks);
  await Promise.all([filled(first, () => card(chosen, context)), filled(tiles, () => Promise.all(others.map((one) => card(one, context).catch((error) => failed(error, one.name))))),
    drawMap(map, values, context).catch((error) => map.replaceChildren(failed(error, "Map"))), filled(walks, () => stored("inspect/walks", { corpus: context.corpus, limit: 25 }, context, { title: `Walks that were recorded for ${context.corpus}` }))]);
  host.append(form(({ from, to }) => go("corpora", { corpus: context.corpus, from, to }),
    field("From a document or term", el("input", { name: "from", value: values.from ?? "", required: true })),
    field("To another", el("input", { name: "to", value: values.to ?? "", required: true })),
    el("button", {}, "Chains between them")));
  if (values.from && values.to) await chains(host, values, context);
}

async function drawMap(host, { focus }, context) {
  const { graph, more } = await saved("retrieval/view_links", { corpus: context.corpus });
  if (!host.isConnected) return;
  const drawing = picture(host, context, context.corpus);
  drawing.show(graph);
  if (more) drawing.say("The first 1,000 relationships are drawn.");
  if (focus) drawing.select(drawing.cy.nodes().filter((node) => node.data("properties").id === focus)[0] ?? null);
}

async function chains(host, { from, to }, context) {
  const ends = await Promise.all([from, to].map(async (name) => {
    const key = name.replaceAll("_", " ").trim();
    const { objects: [found] } = await saved("mcp/places", { corpus: context.corpus, name, key: key.charAt(0).toUpperCase() + key.slice(1) });
    if (!found) throw new Error(`No document or term ${name} in ${context.corpus}.`);
    return found.id;
  }));
  const { objects } = await saved("mcp/path_between", { from: ends[0], to: ends[1], limit: 5 });
  const step = (node) => el("span", { class: "chip", dir: "auto" }, node.kind === "chunk" ? begun(text(node.text), 90) : node.name);
  const found = el("section", { class: "cards" }, objects.map(({ strength, nodes, edges }) => el("div", { class: "card" }, el("p", { class: "score" }, `strength ${strength.toFixed(3)}`),
    el("div", { class: "chips" }, nodes.map((node, n) => [n > 0 && el("span", { class: "quiet" }, edges[n - 1]), step(node)])))));
  host.append(objects.length ? found : el("p", { class: "quiet" }, "No chain of at most eight steps."));
  host.lastChild.scrollIntoView({ block: "end" });
}
