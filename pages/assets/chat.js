// A room's channel as a chat panel: <room-chat room="show" name="Alice"></room-chat>. docs/channel.md describes the events.

/**
 * @typedef {object} Message
 * @property {number} id
 * @property {"comment"|"like"|"gift"} kind
 * @property {string} [user]
 * @property {string} [name]
 * @property {string} [text]
 * @property {number} [count]
 * @property {number} [total]
 * @property {Object<string, string|number|boolean>} [gift]
 * @property {number} sentAt
 */
/**
 * @typedef {object} State
 * @property {boolean} isLive
 * @property {string} [title]
 * @property {{mode?: string, people: string[]}} onAir
 * @property {{count: number}} viewers
 * @property {number} likes
 * @property {{slowMode: number}} rules
 */

/** Most messages that are shown; older ones are removed. */
const MOST = 200;
/** Most hearts of one burst, and of all bursts, that are drawn. */
const MOST_HEARTS = 8, MOST_FLYING = 40;
/** The time over which clicks on the heart are sent as one request, in ms. */
const LIKES_EVERY = 500;
/** Most likes in one request. */
const MOST_LIKES = 100;

/**
 * Returns the time before the next attempt to follow, in ms, which grows with each attempt and is spread over viewers.
 * @param {number} attempt 0, 1, … @param {number} random 0…1
 */
export const pauseBefore = (attempt, random) => Math.min(60, 5 * 2 ** attempt) * (750 + random * 500);

/**
 * Returns whether a visitor may follow a room's channel, from a response about its messages.
 * @param {Response | null} answer @returns {Promise<boolean | null>} `null` if the service cannot tell now.
 */
export async function isOpen(answer) {
  if (!answer || answer.status >= 500 || answer.status === 429) return null;
  // A room that does not exist yet gets a channel when it is created.
  const isAwaited = answer.status === 404 && (await answer.json().catch(() => ({}))).type?.endsWith(":room-not-found");
  return answer.ok || Boolean(isAwaited);
}

/**
 * Creates an element whose content is text, never HTML.
 * @param {string} tag
 * @param {string} [text]
 * @param {string} [className]
 * @returns {HTMLElement}
 */
function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

/**
 * A panel with a room's comments, hearts and viewers.
 *
 * Attributes: `room` (required); `app`; `base`, the service's origin if it differs from the page's; `user` and `name` of the sender;
 * `post-key` and `stream-key`, the `auth_key` of URLs that the app has signed for the sender. Changes of `room` take effect at once.
 */
export class RoomChat extends HTMLElement {
  static observedAttributes = ["room", "app", "base", "stream-key"];

  /** @type {EventSource|null} */ #events = null;
  /** @type {Map<number, HTMLElement>} */ #shown = new Map();
  /** @type {number} */ #likes = 0;
  /** @type {number|undefined} */ #timer;
  /** @type {number|undefined} */ #retry;
  /** Attempts to follow since the last one that succeeded. */ #attempts = 0;
  /** @type {HTMLElement|null} */ #list = null;
  #viewers = make("span");
  #total = make("span");
  #status = make("span");
  #alert = make("p", "");
  #input = /** @type {HTMLInputElement} */ (make("input"));

  connectedCallback() {
    if (!this.#list) this.#build();
    this.#follow();
  }

  disconnectedCallback() {
    this.#events?.close();
    this.#events = null;
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    this.#timer = undefined;
    this.#likes = 0;
  }

  /** @param {string} _name @param {string|null} before @param {string|null} after */
  attributeChangedCallback(_name, before, after) {
    if (this.isConnected && this.#list && before !== after) this.#follow();
  }

  #build() {
    const head = make("div", undefined, "head");
    this.#status.setAttribute("role", "status");
    head.append(this.#status, this.#viewers, this.#total);
    const list = make("ol");
    this.#list = list;
    // Screen readers announce additions to a log; the tab index lets a keyboard scroll it.
    list.setAttribute("role", "log");
    list.setAttribute("aria-label", "Comments");
    list.tabIndex = 0;
    this.#alert.setAttribute("role", "alert");
    const form = /** @type {HTMLFormElement} */ (make("form"));
    const label = /** @type {HTMLLabelElement} */ (make("label", "Comment", "label"));
    this.#input.id = `room-chat-${Math.random().toString(36).slice(2)}`;
    this.#input.maxLength = 500;
    this.#input.autocomplete = "off";
    this.#input.placeholder = "Say something";
    label.htmlFor = this.#input.id;
    const send = /** @type {HTMLButtonElement} */ (make("button", "Send"));
    const heart = /** @type {HTMLButtonElement} */ (make("button", "♥"));
    heart.type = "button";
    heart.setAttribute("aria-label", "Like");
    heart.addEventListener("click", () => this.#like());
    form.append(label, this.#input, send, heart);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#comment();
    });
    this.replaceChildren(head, list, this.#alert, form);
  }

  /** @param {string} path @param {string|null} key @returns {string} */
  #url(path, key) {
    const room = encodeURIComponent(this.getAttribute("room") ?? "");
    // The base may have a path, at which a proxy has the service.
    const base = this.getAttribute("base")?.replace(/\/*$/, "/") ?? new URL("/", location.href);
    const url = new URL(`v1/rooms/${room}/${path}`, base);
    const app = this.getAttribute("app");
    if (app) url.searchParams.set("app", app);
    if (key) url.searchParams.set("auth_key", key);
    return url.href;
  }

  // Following

  #follow() {
    this.#events?.close();
    clearTimeout(this.#retry);
    this.#shown.clear();
    this.#list?.replaceChildren();
    if (!this.getAttribute("room")) return;
    const events = new EventSource(this.#url("channel", this.getAttribute("stream-key")));
    this.#events = events;
    /** @type {(name: string, take: (data: any) => void) => void} */
    const on = (name, take) =>
      events.addEventListener(name, (event) => take(JSON.parse(/** @type {MessageEvent} */ (event).data)));
    on("state", ({ state, isIncomplete }) => {
      this.#attempts = 0;
      this.#takeState(state);
      if (isIncomplete) this.#note("Some comments are missing.");
    });
    on("comment", (message) => this.#show(message));
    on("gift", (message) => this.#show(message));
    on("like", (message) => this.#burst(message));
    on("deleted", ({ id }) => this.#remove(id));
    on("viewers", ({ count }) => this.#setViewers(count));
    on("onAir", (onAir) => this.#setOnAir(onAir));
    on("opened", () => this.#note("The program has started."));
    on("ended", () => this.#note("The program has ended."));
    on("rules", ({ slowMode }) => this.#note(slowMode ? `Slow mode: one comment every ${slowMode} s.` : "Slow mode is off."));
    events.addEventListener("error", () => {
      // The browser reconnects by itself, unless the response was not a stream: then a new EventSource is needed.
      if (events.readyState !== EventSource.CLOSED || this.#events !== events) return;
      this.#status.textContent = "Connection lost. Reconnecting…";
      this.#retry = setTimeout(() => this.#follow(), pauseBefore(this.#attempts++, Math.random()));
    });
  }

  /** @param {State} state */
  #takeState(state) {
    this.#setViewers(state.viewers.count);
    this.#setLikes(state.likes);
    this.#setOnAir(state.onAir);
  }

  /** @param {number} count */
  #setViewers(count) { this.#viewers.textContent = `${count} watching`; }
  /** @param {number} likes */
  #setLikes(likes) { this.#total.textContent = `${likes} ♥`; }
  /** @param {{people: string[]}} onAir */
  #setOnAir({ people }) { this.#status.textContent = people.length ? `On air: ${people.join(", ")}` : "Off air"; }

  /** @param {Message} message */
  #show(message) {
    if (this.#shown.has(message.id)) return;
    const item = make("li");
    const name = make("bdi", message.name ?? message.user ?? "Anonymous", "name");
    const gift = message.kind === "gift" ? `🎁 ${message.gift?.name ?? message.gift?.id ?? "gift"} × ${message.count} ` : "";
    item.append(name, make("bdi", gift + (message.text ?? "")));
    this.#append(item);
    this.#shown.set(message.id, item);
    for (const [id, element] of this.#shown) {
      if (this.#shown.size <= MOST) break;
      element.remove();
      this.#shown.delete(id);
    }
  }

  /** @param {string} text */
  #note(text) {
    this.querySelectorAll("li.note").forEach((note) => note.remove());
    this.#append(make("li", text, "note"));
  }

  /** @param {HTMLElement} item */
  #append(item) {
    const list = this.#list;
    if (!list) return;
    // A viewer who has scrolled back stays there.
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    list.append(item);
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  }

  /** @param {number} id */
  #remove(id) {
    this.#shown.get(id)?.remove();
    this.#shown.delete(id);
  }

  /** @param {Message} message */
  #burst(message) {
    this.#setLikes(message.total ?? 0);
    // In a hidden tab, animations do not end.
    if (document.hidden) return;
    const room = MOST_FLYING - this.querySelectorAll(".heart").length;
    for (let n = Math.min(message.count ?? 1, MOST_HEARTS, room); n > 0; n--) {
      const heart = make("span", "♥", "heart");
      heart.setAttribute("aria-hidden", "true");
      heart.style.setProperty("--drift", `${Math.round(Math.random() * 60 - 40)}px`);
      heart.addEventListener("animationend", () => heart.remove());
      this.append(heart);
    }
  }

  // Sending

  async #comment() {
    const text = this.#input.value.trim();
    if (text && (await this.#post({ kind: "comment", text }))) this.#input.value = "";
  }

  #like() {
    this.#likes = Math.min(this.#likes + 1, MOST_LIKES);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const count = this.#likes;
      this.#likes = 0;
      void this.#post({ kind: "like", count });
    }, LIKES_EVERY);
  }

  /**
   * Sends a message and shows why it was refused.
   * @param {object} message
   * @returns {Promise<boolean>} Whether it was accepted.
   */
  async #post(message) {
    const [user, name] = [this.getAttribute("user"), this.getAttribute("name")];
    try {
      const answer = await fetch(this.#url("messages", this.getAttribute("post-key")), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...message, ...(user && { user }), ...(name && { name }) }),
      });
      this.#alert.textContent = answer.ok ? "" : ((await answer.json().catch(() => null))?.detail ?? `Not sent (error ${answer.status}). Try again.`);
      return answer.ok;
    } catch {
      this.#alert.textContent = "Not sent. Check your connection and try again.";
      return false;
    }
  }
}

customElements.define("room-chat", RoomChat);
