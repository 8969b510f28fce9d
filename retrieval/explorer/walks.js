// A question, the passages that a walk found, and the walk beside them, step by step.
import { button, counted, el } from "./dom.js";
import { go, keep, link, listed, procedure, saved } from "./data.js";
import { choice, field, filled, form, marked, picture, score, stored, table, text } from "./views.js";

const WIDE = { across: 77, down: 84, aside: -160 }, NARROW = { across: 34, down: 56, aside: -100 }, BEAT = 1400;
const COLORS = { step: "#56b4e9", hop: "#111111", jump: "#cc79a7" };

export async function ask(host, values, context) {
  const corpus = context.corpus;
  host.append(el("h1", {}, "Ask"), questionForm(values, context));
  if (values.walk) {
    const rest = el("div", {});
    host.append(rest);
    await walkOf(rest, values, context);
  } else if (values.q) {
    const rest = el("div", {});
    host.append(rest);
    rest.append(el("p", { class: "wait", role: "status" }, "Walking \u2026 the first question of a server loads its model."));
    const found = await procedure("traverse", { question: values.q, corpus, algorithm: values.algorithm ?? "auto", trace: true, ...(values.most ? { maxSentences: Number(values.most) } : {}), ...(values.filter ? { filter: parsed(values.filter) } : {}) });
    if (!host.isConnected) return;
    if (!found.rows.length) throw new Error("The walk found nothing: ask in other words, or leave out the filter.");
    const walk = found.objects[0].traversalId;
    if (walk) {
      keep({ walk });
      await walkOf(rest, { ...values, walk }, context);
    } else rest.replaceChildren(table(found, context, { name: "passages", title: "Passages; the walk was not recorded" }));
  } else {
    host.append(await stored("inspect/walks", { corpus, limit: 50 }, context, { title: "Walks that were recorded" }));
  }
}

function parsed(filter) {
  try { return JSON.parse(filter); } catch { throw new Error('The filter is not JSON: write it as {"language": "en"}.'); }
}

function questionForm(values, context) {
  return form((given) => go("ask", { ...given, corpus: context.corpus }),
    field("Question", el("input", { name: "q", value: values.q ?? "", required: true, maxlength: 10000, placeholder: "How did sailors find their longitude?" }), true),
    field("Algorithm", choice("algorithm", context.algorithms, values.algorithm ?? "auto")),
    field("Most sentences", el("input", { name: "most", type: "number", min: 1, max: 1000, value: values.most ?? "", placeholder: "10" })),
    field("Filter", el("input", { name: "filter", value: values.filter ?? "", placeholder: '{"language": "en"}' })),
    el("button", { class: "main" }, "Walk"));
}

async function walkOf(host, values, context) {
  const [{ objects: [walk] }, { graph }] = await Promise.all([saved("retrieval/view_traversal", { id: values.walk }), saved("inspect/traversal_path", { traversal: values.walk })]);
  if (!host.isConnected) return;
  if (!walk) throw new Error(`No walk ${values.walk} is stored.`);
  if (!values.q) host.parentElement.querySelector("[name=q]").value = walk.question;
  if (!walk.steps.length) {
    host.replaceChildren(el("p", { class: "lead" }, `${walk.algorithm} found nothing. It ended because: ${text(walk.stopReason).replaceAll("_", " ")}.`));
    return;
  }
  const documents = new Set(walk.steps.map((step) => step.documentId)).size;
  const found = walk.steps.reduce((sum, step) => sum + step.sentences.length, 0);
  const cards = walk.steps.map((step) => card(step, context));
  const drawing = el("div", { class: "host" }), player = el("div", { class: "player", role: "group", "aria-label": "Walk" }), told = el("p", { class: "said", "aria-live": "polite" });
  host.replaceChildren(
    el("p", { class: "lead", dir: "auto" }, `${walk.algorithm} found ${counted(found, "sentence")} in ${counted(documents, "document")}, ${counted(walk.steps.length, "step")}, ${Math.round(walk.milliseconds ?? 0)} ms. It ended because: ${text(walk.stopReason).replaceAll("_", " ")}.`),
    el("div", { class: "split" }, el("div", { class: "cards" }, cards), el("div", { class: "beside" }, player, drawing, told)));
  const shown = draw(drawing, walk, graph, context);
  play(player, told, walk, cards, shown, Number(values.step ?? walk.steps.length - 1));
  host.append(missed(values, context));
}

function card(step, context) {
  return el("article", { class: "card", id: `step-${step.index}` },
    el("div", { class: "top" }, el("span", { class: "number" }, String(step.index)), el("h3", { dir: "auto" }, el("a", { href: link("document", { id: step.documentId, chunk: step.chunkId, corpus: context.corpus }) }, step.title ?? "gone")), score(step.score)),
    step.reason && el("p", { class: "reason" }, step.reason),
    el("p", { dir: "auto" }, marked(step.text ?? "", step.sentences.map((sentence) => sentence[1]))));
}

/** The walk as lanes: a document a lane, its steps from left to right. */
function draw(host, walk, graph, context) {
  const real = new Map(graph.nodes.filter((node) => node.label !== "Step" && node.label !== "Traversal").map((node) => [node.properties.id, node]));
  const lanes = [...new Set(walk.steps.map((step) => step.documentId))], nodes = new Map(), edges = [], places = new Map();
  const { across, down, aside } = host.clientWidth < 600 ? NARROW : WIDE;
  const put = (key, node, x, y) => {
    if (!nodes.has(key)) { nodes.set(key, node); places.set(node.id, { x, y }); }
    return nodes.get(key).id;
  };
  const query = [...real.values()].find((node) => node.label === "Query") ?? { id: "question", label: "Query", name: walk.question, properties: {} };
  put("query", { ...query, size: 1.5, rank: 3 }, aside, -down);
  const order = [...new Set(walk.steps.map((step) => step.chunkId))];
  for (const step of walk.steps) {
    const lane = lanes.indexOf(step.documentId), document = real.get(step.documentId) ?? { id: step.documentId, label: "Document", name: step.title ?? "gone", properties: {} };
    put(step.documentId, { ...document, rank: 2 }, aside, lane * down);
    const chunk = real.get(step.chunkId) ?? { id: step.chunkId, label: "Chunk", name: step.text ?? "", properties: {} };
    const first = walk.steps.find((other) => other.chunkId === step.chunkId);
    put(step.chunkId, { ...chunk, color: COLORS.step, size: 1.5, short: `${(step.text ?? "").split(/\s+/).slice(0, 6).join(" ")} \u2026`, mark: first.index, step: first.index }, order.indexOf(step.chunkId) * across, lane * down + (order.indexOf(step.chunkId) % 2) * 14);
  }
  walk.steps.forEach((step, n) => {
    const here = nodes.get(step.chunkId).id, before = n > 0 && step.hop > 0 ? walk.steps[n - 1] : null;
    edges.push({ id: `of-${n}`, source: here, target: nodes.get(step.documentId).id, label: "FROM_DOCUMENT", name: "", properties: {}, step: step.index });
    if (before && before.chunkId !== step.chunkId) {
      const jump = before.documentId !== step.documentId;
      edges.push({ id: `hop-${n}`, source: nodes.get(before.chunkId).id, target: here, label: jump ? "jump to another document" : "hop", name: "", color: jump ? COLORS.jump : "#e69f00", width: 4, dash: jump ? "dashed" : "solid", properties: { reason: step.reason ?? "" }, step: step.index });
    } else if (!before) {
      edges.push({ id: `start-${n}`, source: nodes.get("query").id, target: here, label: "nearest to the question", name: step.score === null ? "" : step.score.toFixed(2), color: "#d55e00", width: 1.5, properties: { reason: step.reason ?? "" }, step: step.index });
    }
  });
  const shown = picture(host, context, "walk");
  shown.show({ nodes: [...nodes.values()], edges }, places);
  return { picture: shown, chunk: (step) => nodes.get(step.chunkId).id };
}

function play(host, told, walk, cards, shown, first) {
  const last = walk.steps.length - 1, slider = el("input", { type: "range", min: 0, max: last, "aria-label": "Step" });
  let timer = null, at = 0;
  const stop = () => { clearInterval(timer); timer = null; start.textContent = "Play"; };
  const set = (number) => {
    at = Math.max(0, Math.min(last, number));
    const step = walk.steps[at];
    slider.value = at;
    shown.picture.dim((data) => data.step !== undefined && data.step > at, shown.chunk(step));
    cards.forEach((card, n) => { card.classList.toggle("later", n > at); card.classList.toggle("now", n === at); });
    told.textContent = `Step ${step.index} of ${last}: ${step.title ?? "gone"}. ${step.reason ?? ""}`;
    keep({ step: at === last ? "" : at });
  };
  const start = button("Play", () => {
    if (timer) { stop(); return; }
    if (at === last) set(0);
    start.textContent = "Pause";
    timer = setInterval(() => {
      if (at === last || !host.isConnected) stop();
      else { set(at + 1); cards[at].scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" }); }
    }, BEAT);
  }, { class: "main" });
  slider.addEventListener("input", () => { stop(); set(Number(slider.value)); });
  host.append(start, button("\u2039", () => { stop(); set(at - 1); }, { "aria-label": "Step back" }), slider, button("\u203a", () => { stop(); set(at + 1); }, { "aria-label": "Step on" }));
  set(Number.isInteger(first) ? first : last);
}

/** Why a title is not among the passages: where it stood. */
function missed(values, context) {
  const answer = el("div", { "aria-live": "polite" });
  const tell = (title) => filled(answer, async () => {
    const found = await listed("inspect/passages_missed", { traversal: values.walk, title: title || null, limit: 50 });
    if (!found.rows.length && title) throw new Error(`No document is titled ${title}: titles are matched as they are written.`);
    return table(found, context, { name: "missed", title: title ? `Where ${title} stood` : "Weighed and never visited" });
  });
  const asked = form(({ title }) => { keep({ missed: title }); tell(title); },
    field("A document that should have been found", el("input", { name: "title", value: values.missed ?? "", placeholder: "its title; empty for all that was weighed" }), true),
    el("button", {}, "Why not?"));
  if (values.missed) tell(values.missed);
  return el("section", {}, el("h2", {}, "Why was it missed?"), asked, answer);
}
