// Shows participants' names over the picture, at the regions of the program's layout (canvas and regions in pixels).

/**
 * @typedef {object} Region `name`: the display name, if it is not `uid`. `alone`: false if the service cannot play the stream alone.
 * @property {string} uid @property {string} stream @property {string} [room] @property {string} [name] @property {boolean} [alone]
 * @property {number} [volume] @property {number} x @property {number} y @property {number} w @property {number} h
 */

/** The least volume at which a participant counts as speaking, 0…255. */
const SPEAKING = 24;
/** The longest name that is shown, in bytes of UTF-8. A layout may also come from a publisher's own encoder. */
const LONGEST = 96;

/** Returns a participant's display name, otherwise the identifier. @param {Region} region */
export function nameOf({ name, uid }) {
  const text = typeof name === "string" && name.trim() ? name : String(uid);
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(LONGEST));
  return read < text.length ? `${text.slice(0, read)}…` : text;
}

/**
 * Returns the place of a region of the canvas in a box that shows the whole picture.
 * @param {Region} region @param {{w: number, h: number}} canvas @param {{width: number, height: number}} box
 * @returns {{left: number, top: number, width: number, height: number} | null} `null` if the participant is not visible.
 */
export function place(region, canvas, box) {
  // A bypass whose size is not yet known fills the picture.
  if (!canvas.w || !canvas.h) return { left: 0, top: 0, width: box.width, height: box.height };
  if (!region.w || !region.h) return null;
  const scale = Math.min(box.width / canvas.w, box.height / canvas.h);
  return { left: (box.width - canvas.w * scale) / 2 + region.x * scale, top: (box.height - canvas.h * scale) / 2 + region.y * scale,
    width: region.w * scale, height: region.h * scale };
}

/**
 * Returns whether viewers may choose to watch this region's participant alone. @param {Region} region
 * @param {boolean} plays Whether the service plays participants to viewers of this page.
 */
export const isChoice = (region, plays) => plays && !region.room && region.alone !== false;

/** Joins names in a sentence: `a`, `a and b`, `a, b and c`. @param {string[]} names */
export function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

export class Names {
  #open = "";
  #layout = null;
  #parts = new Map();

  /**
   * @param {HTMLElement} place @param {HTMLElement} player
   * @param {((uid: string, stream: string) => void) | null} onWatch Called to show one stream alone; `null` if the service plays none alone.
   */
  constructor(place, player, onWatch) {
    Object.assign(this, { place, player, onWatch });
    this.heard = place.appendChild(Object.assign(document.createElement("div"), { className: "heard" }));
    new ResizeObserver(() => this.#draw()).observe(player);
  }

  /** @param {{canvas: {w: number, h: number}, regions: Region[]} | null} layout */
  show(layout) {
    this.#layout = layout;
    this.#draw();
  }

  #draw() {
    const regions = (this.#layout?.regions ?? []).slice(0, 64), box = this.player.getBoundingClientRect(), seen = new Set();
    for (const region of regions) {
      const key = `${region.room ?? ""}/${region.uid}/${region.stream}`, at = place(region, this.#layout.canvas, box);
      seen.add(key);
      let part = this.#parts.get(key);
      if (!part) this.#parts.set(key, part = this.#make(key));
      part.region = region;
      part.name.textContent = region.stream === "screen" ? `${nameOf(region)} (screen)` : nameOf(region);
      part.pane.className = at ? "pane" : "";
      part.pane.classList.toggle("speaking", Boolean(at) && regions.length > 1 && (region.volume ?? 0) >= SPEAKING);
      for (const side of ["left", "top", "width", "height"]) part.pane.style[side] = at ? `${at[side]}px` : "";
      const parent = at ? this.place : this.heard;
      if (part.pane.parentNode !== parent) parent.append(part.pane);
      this.#fill(part, key);
    }
    for (const [key, part] of this.#parts) if (!seen.has(key)) { part.pane.remove(); this.#parts.delete(key); }
  }

  #make(key) {
    const pane = document.createElement("div"), name = document.createElement("button"), card = document.createElement("div");
    Object.assign(name, { className: "name", type: "button" });
    Object.assign(card, { className: "card", hidden: true });
    pane.append(name, card);
    name.addEventListener("click", () => { this.#open = this.#open === key ? "" : key; this.#draw(); });
    pane.addEventListener("keydown", event => { if (event.key === "Escape") { this.#open = ""; this.#draw(); name.focus(); } });
    const words = card.appendChild(document.createElement("p"));
    const level = card.appendChild(Object.assign(document.createElement("meter"), { max: 255, ariaLabel: "Volume" }));
    const alone = card.appendChild(Object.assign(document.createElement("button"), { type: "button" }));
    const part = { pane, name, card, words, level, alone, region: null };
    alone.addEventListener("click", () => this.onWatch?.(part.region.uid, part.region.stream));
    return part;
  }

  #fill({ name, card, words, level, alone, region }, key) {
    const isOpen = this.#open === key;
    card.hidden = !isOpen;
    name.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) return;
    words.textContent = [region.stream === "screen" ? "Sharing a screen" : region.w ? "On camera" : "Audio only",
      region.room ? `from room ${region.room}` : ""].filter(Boolean).join(" ");
    level.hidden = region.volume === undefined;
    level.value = region.volume ?? 0;
    alone.hidden = !isChoice(region, Boolean(this.onWatch));
    alone.textContent = `Watch only ${nameOf(region)}`;
  }
}
