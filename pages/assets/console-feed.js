// Reads server-sent events (HTML Standard §9.2) over fetch, because EventSource cannot send a token, and polls at intervals.
import { Problem } from "./console-api.js";

/** The waits before attempts, in ms; each is varied by up to a quarter. */
const WAITS = [500, 1000, 2000, 4000, 8000];
/** The time without a byte after which a connection counts as lost, in ms. The service sends a comment every 15 s. */
const SILENCE = 40000;
/** The time after which a hidden page closes its connection, in ms. Browsers allow six connections to a service over all tabs. */
const UNSEEN = 10000;

/** @param {number} attempt @param {number} random 0…1 */
export const backoff = (attempt, random) => WAITS[Math.min(attempt, WAITS.length - 1)] * (0.75 + random / 2);

/** @param {number} time @param {AbortSignal} signal */
export const pause = (time, signal) => new Promise(resolve => {
  // Removes its listener: a view that is open for a day pauses a hundred thousand times.
  const end = () => { clearTimeout(timer); signal.removeEventListener("abort", end); resolve(); };
  const timer = setTimeout(end, time);
  signal.addEventListener("abort", end);
});

/** Waits until the page is visible. @param {AbortSignal} signal */
export const untilSeen = signal => new Promise(resolve => {
  if (!document.hidden || signal.aborted) return resolve();
  const look = () => {
    if (document.hidden && !signal.aborted) return;
    document.removeEventListener("visibilitychange", look);
    signal.removeEventListener("abort", look);
    resolve();
  };
  document.addEventListener("visibilitychange", look);
  signal.addEventListener("abort", look);
});

/** Splits a stream of text into events. */
export class EventReader {
  #rest = "";
  /** @param {(event: { name: string, id: string, data: string }) => void} onEvent */
  constructor(onEvent) { this.onEvent = onEvent; }

  /** @param {string} text */
  push(text) {
    this.#rest += text;
    const blocks = this.#rest.split(/\r?\n\r?\n/);
    this.#rest = blocks.pop();
    if (this.#rest.length > 4 << 20) throw new Error("An event is too long");
    for (const block of blocks) {
      const event = { name: "message", id: "", data: "" };
      for (const line of block.split(/\r?\n/)) {
        const [, name, value] = /^([a-z]*): ?(.*)$/.exec(line) ?? [];
        if (name === "event") event.name = value;
        else if (name === "id") event.id = value;
        else if (name === "data") event.data += (event.data ? "\n" : "") + value;
      }
      if (event.data) this.onEvent(event);
    }
  }
}

/**
 * Follows a feed until `signal` is aborted or the feed ends for good.
 * @param {import("./console-api.js").Api} api @param {string} path
 * @param {{ onEvent: (event: any) => void, onState: (state: "live" | "lost" | "gone") => void, signal: AbortSignal, unseen?: number }} options
 */
export async function follow(api, path, { onEvent, onState, signal, unseen = UNSEEN }) {
  let attempt = 0, last = "";
  while (!signal.aborted) {
    await untilSeen(signal);
    if (signal.aborted) return;
    const attemptEnd = new AbortController(), end = () => attemptEnd.abort();
    signal.addEventListener("abort", end, { once: true });
    let watch = setTimeout(end, SILENCE), isSeen = true, leaving;
    const look = () => {
      clearTimeout(leaving);
      if (document.hidden) leaving = setTimeout(() => { isSeen = false; end(); }, unseen);
    };
    document.addEventListener("visibilitychange", look);
    const { token } = api;
    try {
      const response = await fetch(api.url(path), {
        headers: api.headers(last ? { "Last-Event-ID": last } : {}), signal: attemptEnd.signal, cache: "no-store",
      });
      if (response.status === 404) return onState("gone");
      if ([401, 403].includes(response.status)) {
        if (!await api.ask(new Problem(response.status, await response.json()), token, true)) return onState("gone");
        continue;
      }
      if (!response.ok) throw new Error(String(response.status));
      onState("live");
      api.onReach(true);
      attempt = 0;
      const reader = new EventReader(event => { last = event.id || last; onEvent(event); });
      const body = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await body.read();
        clearTimeout(watch);
        if (done) break;
        watch = setTimeout(end, SILENCE);
        reader.push(value);
      }
    } catch { /* retried below */ } finally {
      clearTimeout(watch);
      clearTimeout(leaving);
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", end);
    }
    if (signal.aborted) return;
    if (!isSeen) continue;
    onState("lost");
    await pause(backoff(attempt++, Math.random()), signal);
  }
}

/** Tells which answers are outdated when requests for the same thing run at the same time. */
export class Latest {
  #begun = 0;
  #answered = 0;

  /** Begins a request. @returns {() => boolean} Whether no request that began later was answered before; called with the answer. */
  begin() {
    const number = ++this.#begun;
    return () => {
      if (number < this.#answered) return false;
      this.#answered = number;
      return true;
    };
  }
}

/**
 * Runs `read` at once and then every `interval` ms, less often while it fails. A hidden page waits, and reads as soon as it is visible.
 * @param {(signal: AbortSignal) => Promise<void>} read @param {number} interval @param {AbortSignal} signal
 */
export async function repeat(read, interval, signal) {
  let attempt = 0;
  while (!signal.aborted) {
    try {
      await read(signal);
      attempt = 0;
    } catch (error) {
      if (signal.aborted) return;
      // A fault of the console itself is reported, but must not end the updates of the page.
      if (!(error instanceof Problem)) reportError(error);
      attempt++;
    }
    await pause(attempt ? Math.max(interval, backoff(attempt - 1, Math.random())) : interval, signal);
    await untilSeen(signal);
  }
}
