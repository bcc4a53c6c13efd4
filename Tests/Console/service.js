// What tests of the console's views need: a place on the page, and a service in the place of the browser's requests.
import { Api } from "../../pages/assets/console-api.js";
import { h } from "../../pages/assets/console-dom.js";
import { RoomView } from "../../pages/assets/console-room.js";
import { check } from "../Player/checks.js";

/** Returns a place on the page to draw in. */
export const place = () => document.body.appendChild(document.createElement("div"));

/** Writes into an input as a person does. */
export function write(input, value) {
  input.value = value;
  input.dispatchEvent(new Event("input"));
}

/** Returns an answer of the service. @param {any} body */
export const json = body => new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } });

export const turn = (time = 0) => new Promise(resolve => setTimeout(resolve, time));

/** Waits for a condition, and fails if it is not met within half a minute. @param {() => boolean} condition */
export async function until(condition, what) {
  for (const begun = performance.now(); !condition(); await turn()) check(performance.now() - begun < 30000, what);
}

/** A service with one room, `show`, in the place of the browser's requests. */
export class Service {
  isThere = true;
  /** The requests, as `GET /v1/rooms/show`. */
  asked = [];
  /** What was sent to change something. */
  bodies = [];
  /** The layouts; `null` while the service cannot tell. */
  layouts = [];
  room = {
    id: "show", open: true, participants: [], outputs: [], viewers: 0, layout: "grid",
    policy: { bypass: "auto", whenHostLeaves: "slate" }, canvas: { width: 720, height: 1280, fps: 30 },
    playback: { flv: "/live/show.flv" }, recording: { running: false }, hls: { running: false, variants: [] },
  };
  answers = {
    "/params": { layout: "grid", params: [] }, "/recording": {}, "/recordings": { recordings: [] },
    "/rules": { slowMode: 0, words: [], muted: [] },
  };

  answer(path, { method = "GET", signal, body }) {
    this.asked.push(`${method} ${path}`);
    const headers = { "Content-Type": "application/json" };
    const json = (status, body) => new Response(JSON.stringify(body), { status, headers });
    const [, layout] = /^\/v1\/layouts(.*)$/.exec(path) ?? [];
    if (layout) return new Response(`<svg>${this.layouts[0].version}</svg>`);
    if (layout === "") return this.layouts ? json(200, { layouts: this.layouts }) : json(503, { title: "Starting" });
    if (!this.isThere) return json(404, { title: "There is no such room" });
    const rest = path.replace("/v1/rooms/show", "");
    if (method === "PATCH") this.bodies.push(JSON.parse(body));
    if (rest !== "/feed" && rest !== "/channel") return json(200, rest ? this.answers[rest] : this.room);
    return new Response(new ReadableStream({
      start: stream => signal.addEventListener("abort", () => stream.error(signal.reason)),
    }));
  }

  /** Opens the room's view for the time of a test. @param {(view: RoomView, root: Element) => Promise<void>} test */
  async open(test) {
    const root = place(), before = globalThis.fetch, api = new Api();
    globalThis.fetch = async (url, options) => this.answer(url, options);
    api.onReach = () => {};
    const view = new RoomView({ api, root, name: "show" });
    try {
      view.open();
      await test(view, root);
    } finally {
      view.close();
      globalThis.fetch = before;
      root.remove();
    }
  }
}

/**
 * Runs tests one after another, on a page with the place where the console announces.
 * @param {Record<string, () => any>} tests @returns {Promise<{ passed: number, failed: string[], seed: number }>}
 */
export async function runAll(tests) {
  const failed = [];
  document.body.append(h("div", { id: "announcer" }));
  for (const [name, test] of Object.entries(tests)) {
    try { await test(); } catch (error) { failed.push(`${name}: ${error.message}`); }
  }
  return { passed: Object.keys(tests).length - failed.length, failed, seed: 0 };
}
