// The frame around the screens: which one is shown, for which corpus, dark or light.
import { button, el } from "./dom.js";
import { get, go, link, place, saved } from "./data.js";
import { undraw } from "./picture.js";
import { corpora } from "./corpora.js";
import { ask } from "./walks.js";
import { compare } from "./compare.js";
import { document_ } from "./document.js";
import { battles, extractions, runs } from "./stored.js";
import { cypherBox, procedures } from "./statements.js";

const SCREENS = {
  corpora: ["Corpora", corpora], ask: ["Ask", ask], compare: ["Compare", compare], document: ["Documents", document_],
  runs: ["Evaluations", runs], extractions: ["Extractions", extractions], battles: ["Battles", battles],
  cypher: ["Cypher", cypherBox], procedures: ["Procedures", procedures],
};
const main = document.getElementById("main");
let shown = 0;

async function show(context) {
  const { name, values } = place(), [title, screen] = SCREENS[name] ?? SCREENS.corpora, number = (shown += 1);
  context.corpus = values.corpus ?? context.corpus;
  context.chooser.value = context.corpus ?? "";
  for (const a of document.querySelectorAll("#nav a")) {
    a.removeAttribute("aria-current");
    if (a.dataset.name !== name) continue;
    a.setAttribute("aria-current", "page");
    a.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  document.title = `${title} - Knowtrail explorer`;
  const host = el("div", {});
  undraw(main);
  main.replaceChildren(host);
  main.dataset.screen = "waiting";
  try {
    if (context.refused && screen !== procedures) throw context.refused;
    await screen(host, values, context);
  } catch (error) {
    if (number === shown) {
      host.append(el("p", { class: "error", role: "alert" }, error.message));
      host.lastChild.scrollIntoView({ block: "nearest" });
    }
  }
  if (number === shown) main.dataset.screen = name;
}

function theme() {
  const dark = () => document.documentElement.dataset.theme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    localStorage.setItem("theme", name);
    document.dispatchEvent(new Event("themechange"));
  };
  const stored = localStorage.getItem("theme");
  if (stored === "dark" || stored === "light") set(stored);
  return button("\u25d0", () => set(dark() ? "light" : "dark"), { "aria-label": "Light or dark", title: "Light or dark" });
}

async function start() {
  const copy = button("Link", async () => {
    await navigator.clipboard.writeText(location.href);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Link"; }, 1500);
  }, { title: "Copy a link to what is shown" });
  document.getElementById("nav").append(...Object.entries(SCREENS).map(([name, [title]]) => el("a", { href: link(name), "data-name": name }, title)));
  document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  const buttons = theme();
  // Where several callers have keys no rows are read, and the procedures remain.
  const [about, stored] = await Promise.all([get("/explore/about"), saved("corpus/list").catch((refused) => ({ objects: [], refused }))]);
  if (stored.refused && !location.hash) history.replaceState(null, "", link("procedures"));
  const names = stored.objects.map((row) => row.name);
  const chooser = el("select", { "aria-label": "Corpus", on: { change: () => go(place().name, { corpus: chooser.value }) } }, names.map((name) => el("option", { value: name }, name)));
  const usual = names.find((name) => !/^eval-.+-[0-9a-f]{8}$/.test(name)) ?? names[0];
  const context = { ...about, chooser, corpora: stored.objects, refused: stored.refused, corpus: about.corpus ?? usual };
  document.getElementById("global").append(chooser, copy, buttons);
  addEventListener("hashchange", () => show(context));
  await show(context);
}

start().catch((error) => main.replaceChildren(el("p", { class: "error", role: "alert" }, error.message)));
