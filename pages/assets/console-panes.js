// Rectangles over the layout's preview, which the pointer and arrow keys move and resize.
import { h } from "./console-dom.js";
import { find, parse } from "./console-json.js";

/** The distance within which edges snap to each other, as a share of the canvas. */
const STICKS = 0.012;
/** The shortest side of a pane, as a share of the canvas, as in the schema. */
const LEAST = 0.02;
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const inRange = (count, wanted) => wanted === undefined || (typeof wanted === "number" ? count === wanted
  : count >= (wanted?.min ?? 0) && count <= (wanted?.max ?? Infinity));
const shape = ({ width, height }) => width > height ? "landscape" : width < height ? "portrait" : "square";

/** Returns the index of the arrangement that applies to sample participants, a host and guests with cameras. @returns {number} -1 if none applies. */
export function arrangementFor(template, people, canvas) {
  const hosts = Math.min(1, people);
  return (Array.isArray(template?.arrangements) ? template.arrangements : []).findIndex(({ when = {} } = {}) =>
    inRange(people, when.people) && inRange(hosts, when.hosts) && inRange(people - hosts, when.guests) && inRange(0, when.audioOnly)
    && !when.screen && (when.canvas ?? shape(canvas)) === shape(canvas) && (when.sources ?? shape(canvas)) === shape(canvas));
}

/** @typedef {{ path: (string | number)[], name: string, x: number, y: number, width: number, height: number, pixels: Record<string, boolean> }} Pane */

/** Returns the panes of that arrangement, in shares of the canvas. @param {string} text @returns {Pane[]} */
export function panesOf(text, people, canvas) {
  const root = parse(text), index = root ? arrangementFor(root.value, people, canvas) : -1;
  const arrangement = root?.value.arrangements?.[index];
  if (!Array.isArray(arrangement?.panes)) return [];
  const list = arrangement.panes.map((pane, at) => [pane, ["arrangements", index, "panes", at], `Pane ${at + 1}`]);
  if (arrangement.rest) list.push([arrangement.rest, ["arrangements", index, "rest"], "Rest"]);
  return list.flatMap(([pane, path, name]) => {
    const found = { path, name, pixels: {} };
    for (const key of ["x", "y", "width", "height"]) {
      const value = pane?.[key], side = key === "x" || key === "width" ? canvas.width : canvas.height;
      const pixels = typeof value === "string" ? /^(\d+)px$/.exec(value) : null;
      found[key] = pixels ? Number(pixels[1]) / side : value;
      found.pixels[key] = Boolean(pixels);
      if (typeof found[key] !== "number") return [];
    }
    return [found];
  });
}

/** Returns a pane's values as they are written in the text: shares with three decimals, or even numbers of pixels. @param {Pane} pane */
export function written(pane, canvas) {
  return Object.fromEntries(["x", "y", "width", "height"].map(key => {
    const side = key === "x" || key === "width" ? canvas.width : canvas.height;
    return [key, pane.pixels[key] ? `${Math.round(pane[key] * side / 2) * 2}px` : Number(pane[key].toFixed(3))];
  }));
}

/** Returns the node of a pane in the text. */
export const nodeOf = (text, pane) => find(parse(text), ...pane.path);

const clamp = (value, least, most) => Math.min(most, Math.max(least, value));

/** Moves or resizes a pane within the canvas. @param {Pane} pane */
export function changed(pane, dx, dy, isResize, edges = { x: [], y: [] }) {
  const stick = (value, places) => places.find(place => Math.abs(place - value) < STICKS) ?? value;
  if (isResize) {
    return { ...pane, width: clamp(stick(pane.x + pane.width + dx, edges.x) - pane.x, LEAST, 1 - pane.x),
      height: clamp(stick(pane.y + pane.height + dy, edges.y) - pane.y, LEAST, 1 - pane.y) };
  }
  const place = (start, size, move, places) => {
    const near = stick(start + move, places), far = stick(start + move + size, places);
    const next = near !== start + move ? near : far - size;
    return clamp(next, 0, Math.max(0, 1 - size));
  };
  return { ...pane, x: place(pane.x, pane.width, dx, edges.x), y: place(pane.y, pane.height, dy, edges.y) };
}

/**
 * Draws the rectangles. @param {Pane[]} panes @param {{ width: number, height: number }} canvas
 * @param {{ onMove: (pane: Pane) => void, onEnd: (pane: Pane) => void }} events
 */
export function paneOverlay(panes, canvas, { onMove, onEnd }) {
  const percent = value => `${(value * 100).toFixed(3)}%`;
  return h("div", { class: "panes", role: "group", "aria-label": "Panes" }, panes.map(pane => {
    const { x, y, width, height } = pane, px = written({ ...pane, pixels: { x: true, y: true, width: true, height: true } }, canvas);
    const edges = {
      x: [0, 0.5, 1, ...panes.filter(other => other !== pane).flatMap(other => [other.x, other.x + other.width])],
      y: [0, 0.5, 1, ...panes.filter(other => other !== pane).flatMap(other => [other.y, other.y + other.height])],
    };
    const begin = event => {
      if (event.button) return;
      const stage = event.currentTarget.parentElement.getBoundingClientRect(), target = event.currentTarget, from = [event.clientX, event.clientY];
      const isResize = event.target.classList.contains("grip");
      let now = pane;
      event.preventDefault();
      target.focus();
      target.setPointerCapture(event.pointerId);
      const move = ({ clientX, clientY, altKey }) => {
        now = changed(pane, (clientX - from[0]) / stage.width, (clientY - from[1]) / stage.height, isResize, altKey ? undefined : edges);
        onMove(now);
      };
      const end = () => {
        for (const type of ["pointermove", "pointerup", "pointercancel"]) target.removeEventListener(type, type === "pointermove" ? move : end);
        if (now !== pane) onEnd(now);
      };
      target.addEventListener("pointermove", move);
      target.addEventListener("pointerup", end);
      target.addEventListener("pointercancel", end);
    };
    const key = event => {
      const [dx, dy] = KEYS[event.key] ?? [];
      if (dx === undefined) return;
      event.preventDefault();
      const step = event.altKey ? 0.002 : 0.01;
      onEnd(changed(pane, dx * step, dy * step, event.shiftKey));
    };
    return h("button", {
      type: "button", class: "pane", key: pane.path.join(), style: { left: percent(x), top: percent(y), width: percent(width), height: percent(height) },
      "aria-label": `${pane.name}: ${px.width} by ${px.height} at ${px.x}, ${px.y}. Arrow keys move it; with Shift they resize it.`.replaceAll("px", ""),
      on: { pointerdown: begin, keydown: key },
    }, h("span", { class: "pane-name" }, pane.name), h("span", { class: "grip", "aria-hidden": "true" }));
  }));
}
