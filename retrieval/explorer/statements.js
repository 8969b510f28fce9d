// Cypher that reads, saved queries, and the procedures with their options.
import { button, counted, el, save } from "./dom.js";
import { cypher, get, go, keep, listed, procedure, saved } from "./data.js";
import { field, filled, form, picture, table } from "./views.js";

const NUMBERS = new Set(["limit", "links", "confidence"]);
const EXAMPLE = "MATCH p = (:Document)-[:LINKS_TO]->(:Document)\nRETURN p LIMIT 100";

export async function cypherBox(host, values, context) {
  const text = el("textarea", { class: "cypher", name: "statement", "aria-label": "Cypher statement", spellcheck: "false", value: values.statement ?? (values.saved ? "" : EXAMPLE) });
  const own = owned(), mine = (name) => ({ ...own[name], own: name, corpus: context.corpus });
  const chooser = el("select", { on: { change: () => go("cypher", chooser.value.startsWith("own:") ? mine(chooser.value.slice(4)) : { saved: chooser.value, corpus: context.corpus }) } }, el("option", { value: "" }, "write your own"),
    Object.keys(own).length > 0 && el("optgroup", { label: "Yours, in this browser" }, Object.keys(own).sort().map((name) => el("option", { value: `own:${name}` }, name))),
    el("optgroup", { label: "Of Knowtrail" }, context.saved.map((one) => el("option", { value: one.name }, one.title))));
  chooser.value = Object.hasOwn(own, values.own ?? "") ? `own:${values.own}` : values.saved ?? "";
  const known = context.saved.find((one) => one.name === values.saved), result = el("div", {});
  const inputs = (known?.params ?? []).map((name) => el("input", { name, type: NUMBERS.has(name) ? "number" : "text", step: "any", min: 0, value: values[`p.${name}`] ?? ({ corpus: context.corpus, limit: 100 }[name] ?? "") }));
  const parameters = el("input", { name: "parameters", value: values.parameters ?? "", placeholder: '{"title": "Tide"}' });
  host.append(...[el("h1", {}, "Cypher"), el("p", { class: "lead" }, "Statements that read this database; nothing here can change it. Ctrl and Enter run them."),
    el("form", {}, field("Saved queries", chooser, true)), known ? null : text,
    form(() => run(), known ? inputs.map((input) => field(input.name, input)) : field("Parameters, as JSON", parameters, true), el("button", { class: "main" }, "Run")),
    known ? null : keeping(values, context, () => ({ statement: text.value, parameters: parameters.value })), result].filter(Boolean));
  const run = () => filled(result, async () => {
    if (known) {
      const given = Object.fromEntries(inputs.filter((input) => input.value !== "").map((input) => [input.name, NUMBERS.has(input.name) ? Number(input.value) : input.value]));
      keep(Object.fromEntries(inputs.map((input) => [`p.${input.name}`, input.value])));
      return results(await (given.limit ? listed : saved)(known.name, given), context);
    }
    keep({ statement: text.value, parameters: parameters.value });
    let given = {};
    try { given = parameters.value ? JSON.parse(parameters.value) : {}; } catch { throw new Error('The parameters are not JSON: write them as {"title": "Tide"}.'); }
    return results(await cypher(text.value, given), context);
  });
  text.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(); });
  if (known || values.statement) await run();
}

/** The queries that somebody saved in this browser: name to statement and parameters. */
function owned() {
  try { return JSON.parse(localStorage.getItem("queries")) ?? {}; } catch { return {}; }
}

/** What saves the statement under a name, forgets it, and moves all of them through a file. */
function keeping(values, context, written) {
  const told = el("span", { class: "quiet", role: "status" }), own = owned();
  const store = (queries, shown) => {
    try { localStorage.setItem("queries", JSON.stringify(queries)); } catch { told.textContent = "This browser keeps nothing, or has no room: use Export of what is shown."; return; }
    go("cypher", { ...shown, corpus: context.corpus });
  };
  const file = el("input", { type: "file", accept: ".json", class: "away", on: { change: async () => {
    try {
      const read = Object.entries(JSON.parse(await file.files[0].text()));
      if (!read.every(([, one]) => typeof one.statement === "string" && typeof (one.parameters ?? "") === "string")) throw new Error("no queries");
      store({ ...own, ...Object.fromEntries(read.map(([name, { statement, parameters = "" }]) => [name, { statement, parameters }])) }, values);
    } catch { told.textContent = "This file has no queries: choose one that Export made."; }
  } } });
  return form(({ name }) => store({ ...own, [name]: written() }, { ...written(), own: name }),
    field("Keep it in this browser as", el("input", { name: "name", required: true, maxlength: 80, value: values.own ?? "" })), el("button", {}, "Save"),
    Object.hasOwn(own, values.own ?? "") && button("Forget", () => { delete own[values.own]; store(own, written()); }),
    Object.keys(own).length > 0 && button("Export", () => save("knowtrail-queries.json", JSON.stringify(own, null, 2), "application/json"), { title: "All of yours as a file" }),
    el("label", { class: "button" }, "Import", file), told);
}

/** Rows as a table, and as a graph where there are nodes in them. */
function results(found, context) {
  const listing = () => table(found, context, { name: "rows", title: counted(found.rows.length, "row"), plain: true });
  if (!found.graph.nodes.length) return listing();
  const rows = el("div", { hidden: true }), host = el("div", { class: "host high" }), tabs = el("div", { class: "tabs", role: "group", "aria-label": "Shown as" });
  const show = (graph) => {
    if (!graph && !rows.hasChildNodes()) rows.append(listing());
    host.hidden = !graph;
    rows.hidden = graph;
    [...tabs.children].forEach((tab, n) => tab.setAttribute("aria-pressed", String((n === 0) === graph)));
  };
  tabs.append(button("Graph", () => show(true)), button("Table", () => show(false)));
  setTimeout(() => { // when it stands in the page and has a size
    if (!host.isConnected) return;
    try {
      const drawing = picture(host, context, "cypher");
      drawing.show(found.graph);
      if (found.graph.more) drawing.say(`The first ${counted(found.graph.nodes.length, "node")} are drawn.`);
      show(true);
    } catch (error) {
      show(false);
      throw error;
    }
  });
  return [tabs, host, rows];
}

export async function procedures(host, values, context) {
  const { procedures: known } = await get("/procedures"), chosen = known.find((one) => one.name === values.name) ?? known[0], result = el("div", {});
  const row = ({ name, type, description }, required) => field(`${name} (${type}): ${description}`, el("input", { name, required, value: name === "corpus" ? context.corpus ?? "" : "" }), true);
  const typed = ({ name, type }, value) => {
    if (type === "INTEGER" || type === "FLOAT") return Number(value);
    if (type === "BOOLEAN") return value === "true";
    if (type === "MAP") return JSON.parse(value);
    return type.startsWith("LIST") ? value.split(",").map((part) => part.trim()) : value;
  };
  host.append(el("h1", {}, "Procedures"), el("p", { class: "lead" }, "The same calls as CALL knowtrail.NAME in Cypher and GET /procedures/NAME. ", el("a", { href: "/openapi.json" }, "/openapi.json"), " describes them for programs."),
    el("div", { class: "tabs", role: "group", "aria-label": "Procedure" }, known.map((one) => button(one.name, () => go("procedures", { name: one.name, corpus: context.corpus }), { "aria-pressed": String(one === chosen) }))),
    el("p", {}, chosen.description),
    form((given) => filled(result, async () => {
      const fields = new Map([...chosen.arguments, ...chosen.options].map((one) => [one.name, one]));
      const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "").map(([name, value]) => [name, typed(fields.get(name), value)]));
      return table(await procedure(chosen.name, asked), context, { name: chosen.name, plain: true });
    }), chosen.arguments.map((one) => row(one, true)), el("details", {}, el("summary", {}, "Options"), chosen.options.map((one) => row(one, false))), el("button", { class: "main" }, "Call")), result);
}
