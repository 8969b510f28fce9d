// What was measured, extracted and judged, as it is stored.
import { el } from "./dom.js";
import { go, listed } from "./data.js";
import { field, filled, form, stored, table, text } from "./views.js";

/** Several stored statements below each other. */
async function sections(host, context, list) {
  const made = list.map(() => el("div", {}));
  host.append(...made);
  await Promise.all(list.map(([name, title, parameters, more], n) => filled(made[n], () => stored(name, parameters, context, { title, ...more }))));
}

export async function runs(host, values, context) {
  host.append(el("h1", {}, "Evaluations"), el("p", { class: "lead" }, "Runs of knowtrail eval: means with their intervals, two runs side by side, and questions that failed, with their walks."));
  const ways = el("div", {});
  host.append(ways);
  await filled(ways, () => stored("inspect/retrieval_runs", { limit: 100 }, context, { title: "Ways of finding passages", drawn: {
    recall: (value, row) => [interval(row.low, value, row.high), value === null ? "" : value.toFixed(3)],
  } }));
  const known = await listed("inspect/eval_runs", { limit: 200 });
  host.append(table(known, context, { name: "evaluations", title: "Evaluations" }));
  if (!known.rows.length) {
    host.append(el("p", { class: "quiet" }, "knowtrail eval retrieval makes one."));
    return;
  }
  const told = (row) => [row.dataset ?? row.kind, row.system, text(row.time)].filter(Boolean).join(", "), one = known.objects.find((row) => row.run === values.run);
  const options = (name, chosen) => {
    const made = el("select", { name }, known.objects.map((row) => el("option", { value: row.run }, told(row))));
    made.value = chosen ?? known.objects[0].run;
    return made;
  };
  host.append(el("h2", {}, "Two runs side by side"), form((given) => go("runs", { ...values, ...given }),
    field("First", options("first", values.first ?? known.objects.at(1)?.run)), field("Second", options("second", values.second)), el("button", {}, "Compare")));
  if (values.first && values.second) {
    const pair = { first: values.first, second: values.second, limit: 100 };
    const signed = (value, row) => [interval(row.low, value, row.high, Math.max(...[row.low, value, row.high].map(Math.abs)) || 1), text(value)];
    host.append(el("p", { class: "quiet" }, "A difference is the second run less the first, over the records of both. Its interval (95 %) tells the two apart where it lies on one side of the middle."));
    await sections(host, context, [["inspect/eval_differences", "Paired differences", pair, { drawn: { difference: signed } }], ["inspect/eval_runs_apart", "Differences of the means", pair],
      ["inspect/eval_records_apart", "Records that they score differently", { ...pair, measure: null }]]);
  }
  await sections(host, context, [["inspect/retrieval_failures", values.run ? `Questions that failed: ${one ? told(one) : values.run}` : "Questions that failed, of the latest runs", { run: values.run ?? null, limit: 100 }]]);
}

/** An interval with its mean as a line: from 0 to 1, or as far to both sides of 0. */
function interval(low, mean, high, reach = null) {
  if (mean === null) return null;
  const make = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const at = (value) => (reach === null ? 100 * value : 50 + (46 * value) / reach);
  const drawn = make("svg", { viewBox: "0 0 100 12", class: "interval", preserveAspectRatio: "none", role: "img", "aria-label": low === null ? `${mean}` : `${mean}, between ${low} and ${high}` });
  drawn.append(make("line", { x1: 0, x2: 100, y1: 6, y2: 6, stroke: "currentColor", "stroke-opacity": 0.25 }));
  if (reach !== null) drawn.append(make("line", { x1: 50, x2: 50, y1: 0, y2: 12, stroke: "currentColor", "stroke-opacity": 0.6 }));
  if (low !== null) drawn.append(make("line", { x1: at(low), x2: at(high), y1: 6, y2: 6, stroke: "currentColor", "stroke-width": 3 }));
  drawn.append(make("circle", { cx: at(mean), cy: 6, r: 3.5, fill: "#d55e00" }));
  return drawn;
}

export async function extractions(host, values, context) {
  const of = { corpus: context.corpus, limit: 100 };
  host.append(el("h1", {}, "Extractions"), el("p", { class: "lead" }, "What models said that texts say: facts with the sentence that supports each, what is missing, and what is contradicted. knowtrail extract makes them."));
  await sections(host, context, [
    ["inspect/extraction_variants", "Variants and models", of], ["explorer/facts", "Facts and the sentences that support them", of],
    ["inspect/extraction_unsupported_facts", "Facts that no sentence supports", of], ["inspect/extraction_doubtful_facts", "Doubtful facts", of],
    ["inspect/extraction_gaps", "Gaps", of], ["inspect/extraction_disputed_links", "Contradictions", of], ["inspect/extraction_failures", "Failures", of],
  ]);
}

export async function battles(host, values, context) {
  host.append(el("h1", {}, "Battles"), el("p", { class: "lead" }, "Pairs of passages that judges compared for a question, and the ranking that follows from them. knowtrail eval zelo import stores them."));
  host.append(form((given) => go("battles", { ...given, corpus: context.corpus }), field("Question, as it was judged; empty for the latest", el("input", { name: "question", value: values.question ?? "" }), true), el("button", { class: "main" }, "Show")));
  const of = { corpus: context.corpus, question: values.question || null, limit: 100 };
  const without = ["question"], title = (first) => (first ? `Ranking for: ${first.question}` : "Ranking");
  await sections(host, context, [["inspect/zelo_ranking", title, of, { without }], ["inspect/zelo_battles", "The battles of the best two", of, { without }], ["inspect/zelo_disagreements", "Where judges disagree", of]]);
}
