// What the server is asked, and the state of the page, which is in its address.

/** What the server answers; where it has no place free, it is asked twice more. */
async function answered(path, body, again = 2) {
  const sent = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, { ...sent, credentials: "same-origin" });
  } catch {
    throw new Error("The server does not answer: is knowtrail still running?");
  }
  const wait = Number(answer.headers.get("Retry-After"));
  if (answer.status === 503 && wait && again) {
    await new Promise((resume) => setTimeout(resume, 1000 * wait));
    return answered(path, body, again - 1);
  }
  const found = await answer.json().catch(() => ({ detail: `The server answered with status ${answer.status}.` }));
  if (!answer.ok) throw new Error(found.detail);
  return found;
}

export const get = (path) => answered(path);

/** Rows of a stored statement: `columns`, `rows`, `more`, the `graph` in them; and the rows as objects. */
export async function saved(name, parameters = {}, limit = 1000) {
  return withObjects(await answered("/explore/rows", { saved: name, parameters, limit }));
}

/** Rows of a stored statement that limits them itself; `more` says whether there are others. */
export async function listed(name, { limit, ...parameters }) {
  return saved(name, { ...parameters, limit: limit + 1 }, Math.min(limit, 1000));
}

/** Rows of a statement that somebody wrote. */
export async function cypher(statement, parameters, limit = 1000) {
  return withObjects(await answered("/explore/rows", { statement, parameters, limit }));
}

/** Rows of a procedure, such as traverse. */
export async function procedure(name, values) {
  return withObjects(await answered(`/procedures/${name}`, values), true);
}

function withObjects(found, already = false) {
  const objects = already ? found.rows : found.rows.map((row) => Object.fromEntries(found.columns.map((column, n) => [column, row[n]])));
  const rows = already ? found.rows.map((row) => found.columns.map((column) => row[column])) : found.rows;
  return { ...found, rows, objects };
}

/** The screen and its values, as the address has them. */
export function place() {
  const [name, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: name || "corpora", values: Object.fromEntries(new URLSearchParams(query)) };
}

export function link(name, values = {}) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `#/${name}${query ? `?${query}` : ""}`;
}

/** Change the address without drawing the screen anew. */
export function keep(values) {
  const here = place();
  history.replaceState(null, "", link(here.name, { ...here.values, ...values }));
}

/** Show a screen, anew where it is the one that is shown. */
export function go(name, values) {
  const to = link(name, values);
  if (to === location.hash) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = to;
}
