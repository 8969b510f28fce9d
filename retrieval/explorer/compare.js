// One question, several ways of walking, side by side.
import { begun, counted, el } from "./dom.js";
import { go, keep, link, procedure, saved } from "./data.js";
import { field, form, stored, text } from "./views.js";

const USUAL = ["auto", "basic_retrieval", "query_traversal", "kg_traversal", "hybrid"];

export async function compare(host, values, context) {
  const chosen = values.algorithms?.split(",") ?? USUAL.filter((name) => context.algorithms.includes(name));
  host.append(el("h1", {}, "Compare"), el("p", { class: "lead" }, "One question, walked in several ways: what each finds, what they share, and where they part."));
  host.append(form(() => {
    const algorithms = [...host.querySelectorAll("fieldset input:checked")].map((box) => box.name).join(",");
    go("compare", { q: host.querySelector("[name=q]").value, algorithms, corpus: context.corpus });
  },
  field("Question", el("input", { name: "q", value: values.q ?? "", required: true }), true), el("button", { class: "main" }, "Compare"),
  el("fieldset", {}, el("legend", {}, "Algorithms"), context.algorithms.map((name) => el("label", {}, el("input", { type: "checkbox", name, checked: chosen.includes(name) }), name)))));
  if (!values.q) return;
  const waiting = el("p", { class: "wait", role: "status" }, "Walking \u2026");
  host.append(waiting);
  const { objects } = values.walks ? await saved("explorer/walks", { ids: values.walks.split(",") })
    : await procedure("compare", { question: values.q, corpus: context.corpus, algorithms: chosen });
  if (!host.isConnected) return;
  keep({ walks: objects.map((row) => row.traversalId).filter(Boolean).join(",") });
  waiting.remove();
  const walks = await Promise.all(objects.map(async (row) => {
    const { objects: [walk] } = row.traversalId ? await saved("retrieval/view_traversal", { id: row.traversalId }) : { objects: [null] };
    return { row, steps: walk?.steps ?? [] };
  }));
  host.append(columns(walks, context));
  host.append(await stored("inspect/walks_apart", { corpus: context.corpus, question: values.q, limit: 50 }, context, { title: "Where two of them part", without: ["question"] }));
}

/** A column for each way of walking; passages that others have too say of how many. */
function columns(walks, context) {
  const sharedBy = (chunk) => walks.filter(({ steps }) => steps.some((step) => step.chunkId === chunk)).length;
  return el("div", { class: "tiles" }, walks.map(({ row, steps }) => el("article", { class: "card" },
    el("div", { class: "top" }, el("h2", {}, row.algorithm), el("span", { class: "score" }, `${Math.round(row.milliseconds)} ms`)),
    el("p", { class: "quiet" }, `${counted(row.sentences ?? 0, "sentence")}, ${counted(row.documents ?? 0, "document")}, ${counted(row.hops ?? 0, "hop")}; ended: ${text(row.stopReason).replaceAll("_", " ")}`),
    row.traversalId && el("p", {}, el("a", { href: link("ask", { walk: row.traversalId, corpus: context.corpus }) }, "Open walk")),
    el("ol", { start: 0 }, steps.map((step) => el("li", { dir: "auto" }, el("a", { href: link("document", { id: step.documentId, chunk: step.chunkId, corpus: context.corpus }) }, step.title ?? "gone"), ` ${begun(text(step.text), 110)} `,
      el("small", { class: "quiet whole" }, sharedBy(step.chunkId) > 1 ? `found by ${sharedBy(step.chunkId)}` : "only here")))))));
}
