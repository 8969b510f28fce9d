// Where nodes stand, and which labels have room. Plain numbers in, plain numbers out.

const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const ROUNDS = 260;
const PULL = 0.035; // to the middle
const MOST_PULL = 20; // times as much for what hangs together with little else
const OPENING = 0.8; // a group of nodes that is this small, seen from afar, is one node

/** A force-directed layout that is done in slices, the same every time. */
export class Layout {
  /** `fixed` are the places of nodes that stay where they are, by id; `ratio` is width to height. */
  constructor(nodes, edges, { fixed = new Map(), ratio = 1 } = {}) {
    this.ratio = ratio;
    const place = new Map(nodes.map((node, n) => [node.id, n]));
    this.ids = nodes.map((node) => node.id);
    this.ends = edges
      .map((edge) => [place.get(edge.source), place.get(edge.target)])
      .filter(([a, b]) => a !== undefined && b !== undefined && a !== b);
    this.degree = new Float64Array(nodes.length).fill(1);
    for (const [a, b] of this.ends) { this.degree[a] += 1; this.degree[b] += 1; }
    this.x = new Float64Array(nodes.length);
    this.y = new Float64Array(nodes.length);
    this.held = new Uint8Array(nodes.length);
    this.pull = new Float64Array(nodes.length);
    this.round = 0;
    this.rounds = nodes.length > 2000 ? ROUNDS / 2 : ROUNDS;
    this.#begin(fixed);
  }

  #begin(fixed) {
    const near = this.ids.map(() => []);
    for (const [a, b] of this.ends) { near[a].push(b); near[b].push(a); }
    let n = 0;
    for (const number of this.#order(near)) {
      const known = fixed.get(this.ids[number]);
      const friend = known ? undefined : near[number].find((o) => fixed.has(this.ids[o]));
      const from = friend === undefined ? { x: 0, y: 0 } : fixed.get(this.ids[friend]);
      const reach = friend === undefined ? 40 * Math.sqrt(n) : 90;
      this.x[number] = known ? known.x : from.x + reach * Math.cos(n * GOLDEN);
      this.y[number] = known ? known.y : from.y + reach * Math.sin(n * GOLDEN);
      this.held[number] = known ? 1 : 0;
      n += 1;
    }
  }

  /** Breadth first, from the node with most neighbours: what is connected begins near. */
  #order(near) {
    const seen = new Uint8Array(near.length), order = [];
    const roots = [...near.keys()].sort((a, b) => near[b].length - near[a].length || a - b);
    for (const root of roots) {
      const queue = [root], before = order.length;
      for (let at = 0; at < queue.length; at += 1) {
        if (seen[queue[at]]) continue;
        seen[queue[at]] = 1;
        order.push(queue[at]);
        queue.push(...near[queue[at]].filter((other) => !seen[other]));
      }
      const part = order.slice(before);
      for (const one of part) this.pull[one] = PULL * Math.min(MOST_PULL, near.length / part.length);
    }
    return order;
  }

  get done() { return this.round >= this.rounds || this.ids.length < 2; }

  /** Work for so many milliseconds; tell whether all is done. */
  work(milliseconds) {
    const end = performance.now() + milliseconds;
    while (!this.done && performance.now() < end) this.#turn();
    return this.done;
  }

  #turn() {
    const count = this.ids.length, length = 70;
    const heat = length * 1.6 * (1 - this.round / this.rounds) + 0.5;
    const fx = new Float64Array(count), fy = new Float64Array(count);
    const tree = new Quadrants(this.x, this.y);
    for (let n = 0; n < count; n += 1) {
      const push = tree.push(n, length * length);
      fx[n] = push[0] - (this.x[n] * this.pull[n]) / this.ratio;
      fy[n] = push[1] - this.y[n] * this.pull[n] * this.ratio;
    }
    for (const [a, b] of this.ends) {
      const dx = this.x[b] - this.x[a], dy = this.y[b] - this.y[a];
      const pull = Math.hypot(dx, dy) / length / Math.sqrt(Math.min(this.degree[a], this.degree[b]));
      fx[a] += dx * pull; fy[a] += dy * pull;
      fx[b] -= dx * pull; fy[b] -= dy * pull;
    }
    for (let n = 0; n < count; n += 1) {
      if (this.held[n]) continue;
      const force = Math.hypot(fx[n], fy[n]) || 1, move = Math.min(force, heat) / force;
      this.x[n] += fx[n] * move;
      this.y[n] += fy[n] * move;
    }
    this.round += 1;
  }

  place(number) { return { x: this.x[number], y: this.y[number] }; }
}

/** A quadtree over points: what is far away pushes as one (Barnes and Hut). */
class Quadrants {
  constructor(x, y) {
    this.x = x;
    this.y = y;
    let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
    for (let n = 0; n < x.length; n += 1) {
      left = Math.min(left, x[n]); right = Math.max(right, x[n]);
      top = Math.min(top, y[n]); bottom = Math.max(bottom, y[n]);
    }
    const size = Math.max(right - left, bottom - top, 1);
    this.root = this.#node([...x.keys()], left, top, size, 0);
  }

  #node(members, left, top, size, depth) {
    let x = 0, y = 0;
    for (const n of members) { x += this.x[n]; y += this.y[n]; }
    const node = { x: x / members.length, y: y / members.length, mass: members.length, size, members, parts: null };
    if (members.length <= 4 || depth > 18) return node;
    const half = size / 2, parts = [[], [], [], []];
    for (const n of members) parts[(this.x[n] >= left + half ? 1 : 0) + (this.y[n] >= top + half ? 2 : 0)].push(n);
    node.parts = parts
      .map((part, q) => part.length && this.#node(part, left + (q & 1) * half, top + (q >> 1) * half, half, depth + 1))
      .filter(Boolean);
    return node;
  }

  push(number, strength) {
    const x = this.x[number], y = this.y[number], stack = [this.root];
    let fx = 0, fy = 0;
    const add = (ox, oy, mass, seed) => {
      let dx = x - ox, dy = y - oy, square = dx * dx + dy * dy;
      if (square < 1) { dx = Math.cos(seed * GOLDEN); dy = Math.sin(seed * GOLDEN); square = 1; }
      fx += (dx / square) * strength * mass;
      fy += (dy / square) * strength * mass;
    };
    while (stack.length) {
      const node = stack.pop(), dx = x - node.x, dy = y - node.y;
      if (node.parts && node.size * node.size > OPENING * OPENING * (dx * dx + dy * dy)) stack.push(...node.parts);
      else if (node.parts) add(node.x, node.y, node.mass, number);
      else for (const other of node.members) if (other !== number) add(this.x[other], this.y[other], 1, number);
    }
    return [fx, fy];
  }
}

/** Boxes of which none covers another; found by the cells of a grid. */
export class Room {
  constructor(cell = 64) { this.cell = cell; this.cells = new Map(); }

  #around(box) {
    const keys = [];
    for (let i = Math.floor(box.left / this.cell); i <= Math.floor(box.right / this.cell); i += 1) {
      for (let j = Math.floor(box.top / this.cell); j <= Math.floor(box.bottom / this.cell); j += 1) keys.push(`${i},${j}`);
    }
    return keys;
  }

  free(box) {
    return !this.#around(box).some((key) => (this.cells.get(key) ?? []).some((other) =>
      box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom));
  }

  take(box) {
    for (const key of this.#around(box)) {
      if (!this.cells.has(key)) this.cells.set(key, []);
      this.cells.get(key).push(box);
    }
  }
}

/** A text in at most so many lines of so many letters, cut between words. */
export function lines(text, columns = 22, most = 2) {
  const words = text.split(/\s+/).flatMap((word) => word.match(new RegExp(`.{1,${columns}}`, "gsu")) ?? []);
  const found = [];
  let at = 0;
  while (at < words.length && found.length < most) {
    let line = words[at];
    for (at += 1; at < words.length && `${line} ${words[at]}`.length <= columns; at += 1) line += ` ${words[at]}`;
    found.push(line);
  }
  if (at < words.length) found[found.length - 1] = `${found.at(-1).slice(0, columns - 1).trimEnd()}\u2026`;
  return found;
}
