// The player's control bar, overlays and keyboard shortcuts.

const icon = path => `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${path}"/></svg>`;
const SPEAKER = "M4 9.5v5h3.5L12 18.5v-13L7.5 9.5z";
const ICONS = {
  play: icon("M8 5.5v13l10.5-6.5z"),
  pause: icon("M7 5.5h3.5v13H7zM13.5 5.5H17v13h-3.5z"),
  sound: icon(`${SPEAKER}M14.5 8.6a4.2 4.2 0 0 1 0 6.8v-1.9a2.5 2.5 0 0 0 0-3zM14.5 5.2a7.3 7.3 0 0 1 0 13.6v-1.7a5.7 5.7 0 0 0 0-10.2z`),
  silent: icon(`${SPEAKER}M15 9.4l1.1-1.1 2 2 2-2 1.1 1.1-2 2 2 2-1.1 1.1-2-2-2 2-1.1-1.1 2-2z`),
  window: icon("M3 5h18v14H3zm1.8 1.8v10.4h14.4V6.8zM11.5 11.5h6.5v4.5h-6.5z"),
  full: icon("M4 4h6v1.8H5.8V10H4zM14 4h6v6h-1.8V5.8H14zM4 14h1.8v4.2H10V20H4zM18.2 14H20v6h-6v-1.8h4.2z"),
  shrink: icon("M8.2 4H10v6H4V8.2h4.2zM14 4h1.8v4.2H20V10h-6zM4 14h6v6H8.2v-4.2H4zM14 14h6v1.8h-4.2V20H14z"),
};

const STYLE = `
  :host { color: #fff; font: 500 14px/1.4 system-ui, sans-serif; -webkit-tap-highlight-color: transparent; }
  :host([data-idle]) { cursor: none; }
  button { font: inherit; color: inherit; background: none; border: 0; cursor: pointer; }
  button:focus-visible, input:focus-visible { outline: 2px solid #fff; outline-offset: 2px; border-radius: 6px; }
  [hidden] { display: none !important; }
  svg { width: 24px; height: 24px; display: block; fill: currentColor; fill-rule: evenodd; }
  .bar { position: absolute; inset: auto 0 0 0; display: flex; align-items: center; gap: 4px; padding: 40px 10px 8px;
    padding-bottom: max(8px, env(safe-area-inset-bottom)); background: linear-gradient(transparent, rgb(0 0 0 / .75)); transition: opacity .2s; }
  .bar button { padding: 8px; border-radius: 8px; }
  .bar button:hover { background: rgb(255 255 255 / .16); }
  :host([data-idle]) .bar { opacity: 0; pointer-events: none; }
  .space { flex: 1; }
  input { width: 84px; accent-color: #fff; height: 24px; cursor: pointer; }
  .live { display: inline-flex; align-items: center; gap: 7px; font-variant-numeric: tabular-nums; white-space: nowrap; }
  .live i { width: 8px; height: 8px; border-radius: 50%; background: #ff3b4e; }
  .live small { font-size: 13px; opacity: .8; }
  .message { position: absolute; inset: 0; display: grid; place-content: center; justify-items: center; gap: 16px; padding: 24px 32px 56px;
    text-align: center; background: rgb(0 0 0 / .62); pointer-events: none; }
  .message.light { background: none; }
  .message p { margin: 0; max-width: 34rem; font-size: clamp(15px, 2.4vw, 18px); text-wrap: balance; text-shadow: 0 1px 3px #000; }
  .message button { pointer-events: auto; padding: 9px 20px; border-radius: 99px; background: #fff; color: #111; font-weight: 600; }
  .spinner { width: 38px; height: 38px; border-radius: 50%; border: 3px solid rgb(255 255 255 / .25); border-top-color: #fff; animation: turn 1s linear infinite; }
  .spinner.calm { width: 14px; height: 14px; border: 0; background: #ff3b4e; animation: breathe 2.4s ease-in-out infinite; }
  @keyframes breathe { 50% { opacity: .25; transform: scale(.8); } }
  @keyframes turn { to { transform: rotate(1turn); } }
  .unmute { position: absolute; top: 14px; left: 50%; transform: translateX(-50%); display: flex; align-items: center; gap: 8px;
    padding: 9px 18px 9px 12px; border-radius: 99px; background: #fff; color: #111; font-weight: 600; box-shadow: 0 2px 12px rgb(0 0 0 / .4); }
  .start { position: absolute; inset: 0; margin: auto; width: 76px; height: 76px; padding: 16px; border-radius: 50%; background: rgb(0 0 0 / .75); }
  .start:hover { background: rgb(0 0 0 / .9); }
  .start svg { width: 44px; height: 44px; }
  .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  @media (pointer: coarse) { .volume { display: none; } .bar button { padding: 10px; } }
  @media (prefers-reduced-motion: reduce) { .spinner { animation-duration: 4s; } .bar { transition: none; } }`;

const MARKUP = `
  <div class="message"><div class="spinner"></div><p class="text"></p><button class="again" type="button">Try again</button></div>
  <button class="start" type="button" aria-label="Play">${ICONS.play}</button>
  <div class="status hidden" role="status"></div>
  <button class="unmute" type="button">${ICONS.silent}Unmute</button>
  <div class="bar" role="group" aria-label="Player">
    <button class="play" type="button"></button>
    <button class="mute" type="button"></button>
    <input class="volume" type="range" min="0" max="100" aria-label="Volume">
    <button class="live" type="button" title="Go to live"><i></i>LIVE<small class="behind"></small></button>
    <span class="space"></span>
    <slot name="buttons"></slot>
    <button class="window" type="button" title="Picture in picture (p)" aria-label="Picture in picture">${ICONS.window}</button>
    <button class="full" type="button"></button>
  </div>`;

/** The time without activity after which the bar is hidden, in ms. */
const IDLE = 3000;
/** Steps of the arrow keys: volume (0…1), and seconds. */
const VOLUME = 0.1, SECONDS = 5;

/** Performs the action of a key. @param {import("./player.js").CoStreamPlayer} player @returns {boolean} Whether the key has an action. */
export function handleKey(player, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false;
  const actions = {
    " ": () => player.toggle(), k: () => player.toggle(), m: () => player.setMuted(!player.muted), f: () => player.toggleFullscreen(),
    p: () => player.togglePictureInPicture(), ArrowUp: () => player.setVolume(player.volume + VOLUME),
    ArrowDown: () => player.setVolume(player.volume - VOLUME), ArrowLeft: () => player.seekBy(-SECONDS),
    ArrowRight: () => player.seekBy(SECONDS),
  };
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return false;
  event.preventDefault();
  action();
  return true;
}

export class Controls {
  #timer = 0;
  #root = document.createElement("div");

  /** @param {import("./player.js").CoStreamPlayer} player @param {ShadowRoot} shadow */
  constructor(player, shadow) {
    this.player = player;
    this.sheet = new CSSStyleSheet();
    this.sheet.replaceSync(STYLE);
    shadow.adoptedStyleSheets.push(this.sheet);
    this.#root.innerHTML = MARKUP;
    shadow.append(this.#root);
    this.parts = Object.fromEntries(Array.from(this.#root.querySelectorAll("[class]"), part => [part.classList[0], part]));
    const on = (part, action) => this.parts[part].addEventListener("click", action);
    on("play", () => player.toggle());
    on("again", () => player.play());
    on("start", () => player.play());
    on("mute", () => player.setMuted(!player.muted));
    on("unmute", () => player.setMuted(false));
    on("live", () => player.isLive ? player.seekToLive() : player.play());
    on("window", () => player.togglePictureInPicture());
    on("full", () => player.toggleFullscreen());
    this.parts.volume.addEventListener("input", () => player.setVolume(this.parts.volume.value / 100));
    this.parts.window.hidden = !document.pictureInPictureEnabled;
    const { signal } = this.abort = new AbortController();
    for (const name of ["pointermove", "pointerdown", "keydown", "focusin"]) player.addEventListener(name, () => this.#wake(), { signal });
    // A finger leaves the picture whenever it is lifted.
    player.addEventListener("pointerleave", event => { if (event.pointerType !== "touch") this.#sleep(); }, { signal });
    player.addEventListener("keydown", event => {
      // Buttons and sliders handle some keys themselves, and fields all.
      const inner = event.composedPath()[0];
      const isOwn = inner.matches?.("button, a, [type=range]") ? [" ", "Enter", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].includes(event.key)
        : inner.isContentEditable || inner.matches?.("input, textarea, select");
      if (!isOwn) handleKey(player, event);
    }, { signal });
    player.video.addEventListener("dblclick", () => player.toggleFullscreen(), { signal });
    player.video.addEventListener("click", () => { if (player.isSoundBlocked) player.setMuted(false); }, { signal });
    player.video.addEventListener("volumechange", () => this.update(), { signal });
    player.video.addEventListener("timeupdate", () => this.#showDelay(), { signal });
    document.addEventListener("fullscreenchange", () => this.update(), { signal });
    if (!player.hasAttribute("tabindex")) player.tabIndex = 0;
    this.update();
    this.#wake();
  }

  remove() {
    clearTimeout(this.#timer);
    this.abort.abort();
    this.#root.remove();
    const shadow = this.player.shadowRoot;
    shadow.adoptedStyleSheets = shadow.adoptedStyleSheets.filter(sheet => sheet !== this.sheet);
    this.player.removeAttribute("data-idle");
  }

  /** Updates the controls to the player's state. */
  update() {
    const { player, parts } = this, { state, message } = player;
    const isWorking = ["connecting", "stalled", "reconnecting", "waiting"].includes(state);
    parts.message.hidden = state === "playing" || state === "paused" || state === "idle";
    parts.message.classList.toggle("light", state === "connecting" || state === "stalled");
    parts.spinner.hidden = !isWorking;
    parts.spinner.classList.toggle("calm", state === "waiting");
    parts.text.textContent = state === "stalled" || state === "connecting" ? "" : message;
    parts.again.hidden = state !== "failed";
    parts.start.hidden = state !== "paused";
    const spoken = state === "playing" ? "Playing live." : message;
    if (parts.status.textContent !== spoken) parts.status.textContent = spoken;
    const isOn = !["paused", "idle", "failed"].includes(state);
    this.#label("play", isOn ? "pause" : "play", isOn ? "Pause" : "Play", "space");
    this.#label("mute", player.muted ? "silent" : "sound", player.muted ? "Unmute" : "Mute", "m");
    const isFull = document.fullscreenElement === player;
    this.#label("full", isFull ? "shrink" : "full", isFull ? "Exit full screen" : "Full screen", "f");
    parts.unmute.hidden = !(player.isSoundBlocked && player.muted && player.isLive);
    parts.volume.value = player.muted ? 0 : Math.round(player.volume * 100);
    parts.live.hidden = !player.isLive;
    this.#showDelay();
    if (state !== "playing") this.#wake();
  }

  #label(part, name, words, key) {
    const button = this.parts[part];
    if (button.getAttribute("aria-label") === words) return;
    button.innerHTML = ICONS[name];
    button.setAttribute("aria-label", words);
    button.title = `${words} (${key})`;
  }

  #showDelay() {
    const { latency, isLive } = this.player;
    this.parts.behind.textContent = isLive && latency ? `${Math.max(0.1, latency).toFixed(1)} s` : "";
    this.parts.behind.title = "Delay";
  }

  #wake() {
    this.player.removeAttribute("data-idle");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#sleep(), IDLE);
  }

  #sleep() {
    const inner = this.player.shadowRoot.activeElement;
    if (this.player.state === "playing" && !inner?.matches(":focus-visible")) this.player.toggleAttribute("data-idle", true);
  }
}
