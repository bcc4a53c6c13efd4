// Thumbnails of programs and participants. They are fetched, because an image element cannot send the token, and kept until the view closes.
import { h } from "./console-dom.js";

/** The age at which a picture is fetched again, in ms. The service makes no newer one earlier. */
const AGE = 5000;
/** The interval at which outdated pictures are looked for, in ms. */
export const LOOK = 1000;
/** Most pictures that are fetched in one round. */
const MOST = 48;

export class Pictures {
  /** @type {Map<string, { url: string | null, etag: string | null, at: number }>} By path. */
  #known = new Map();
  /** The paths of the pictures that the page shows. */
  #shown = new Set();

  /** @param {import("./console-api.js").Api} api */
  constructor(api) { this.api = api; }

  /** Returns a picture, or a placeholder while there is none. Called with each drawing of the view. @param {string} path @param {string} alt @param {string} [name] */
  draw(path, alt, name = "") {
    this.#shown.add(path);
    const url = this.#known.get(path)?.url;
    return url ? h("img", { class: `thumb ${name}`, src: url, alt, key: `picture ${path}` })
      : h("span", { class: `thumb none ${name}`, "aria-hidden": "true", key: `picture ${path}` });
  }

  /** Begins a drawing. Pictures that are not drawn again are dropped in the next round. */
  begin() { this.#shown.clear(); }

  /** Fetches the pictures that are shown, one after another. @param {AbortSignal} signal @returns {Promise<boolean>} Whether any has changed. */
  async read(signal) {
    if (document.hidden) return false;
    for (const path of [...this.#known.keys()]) if (!this.#shown.has(path)) this.#forget(path);
    let isChanged = false;
    for (const path of [...this.#shown].slice(0, MOST)) {
      if (signal.aborted) return false;
      const known = this.#known.get(path) ?? { url: null, etag: null, at: -Infinity };
      if (performance.now() - known.at < AGE) continue;
      this.#known.set(path, { ...known, at: performance.now() });
      const found = await this.api.picture(path, { etag: known.etag, signal });
      if (found === "same" || !found && !known.url) continue;
      if (known.url) URL.revokeObjectURL(known.url);
      this.#known.set(path, { url: found ? URL.createObjectURL(found.blob) : null, etag: found?.etag ?? null, at: performance.now() });
      isChanged = true;
    }
    return isChanged;
  }

  #forget(path) {
    const known = this.#known.get(path);
    if (known?.url) URL.revokeObjectURL(known.url);
    this.#known.delete(path);
  }

  close() { for (const path of [...this.#known.keys()]) this.#forget(path); }
}
