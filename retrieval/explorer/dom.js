// Elements of the page. Whatever came from a document becomes a text node, never HTML.

/** Make an element: `on` are listeners, other names attributes (true is an empty one). */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else if (name === "value") made.value = value;
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function button(text, act, attributes = {}) {
  return el("button", { type: "button", ...attributes, on: { click: act } }, text);
}

/** Let the browser keep a text or a blob as a file. */
export function save(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Rows as CSV with a header, as RFC 4180 has it. */
export function csv(columns, rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

export const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** The beginning of a text, cut between words. */
export const begun = (text, most) => (text.length > most ? `${text.slice(0, most).replace(/\s+\S*$/, "")} \u2026` : text);
