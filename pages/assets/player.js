// <co-stream-player src="https://host/live/room.flv" controls></co-stream-player>: plays a live program in any page.
// Apache License 2.0, as the rest of this project. It defines one element and no globals.
import { Controls, handleKey } from "./player-controls.js";
import { FLVSession, hasMediaSource, HLSSession } from "./player-media.js";
import { LIVE, verdict } from "./player-policy.js";
import { WHEPSession } from "./player-whep.js";

/** @typedef {"idle" | "connecting" | "playing" | "stalled" | "paused" | "waiting" | "ended" | "reconnecting" | "failed"} State */

/** The time in ms after which a picture's text expires. Programs repeat them every 1 to 5 s. */
const TEXT_AGE = 12000;

/** docs/player.md lists its attributes, properties and events. Children are shown over the picture. */
export class CoStreamPlayer extends HTMLElement {
  static observedAttributes = ["src", "hls", "whep", "controls", "muted"];

  /** @type {State} */
  state = "idle";
  /** The state as a sentence. */
  message = "";
  /** Statistics since the page was opened; times in ms. `longest` and `slow` count intervals between pictures on the screen. */
  figures = { frames: 0, presented: 0, waits: 0, stalled: 0, longest: 0, slow: 0, connections: 0 };
  /** Whether sound is off only because the browser blocked it. */
  isSoundBlocked = false;

  #video = document.createElement("video");
  #controls = null;
  #session = null;
  #abort = null;
  #restart = 0;
  #stallAt = 0;
  #lastShown = 0;
  /** When the layout was read, from which its age counts. */
  #layoutAt = 0;
  /** The last delay by the program's time of day, in seconds, and when it was measured. */
  #wall = { delay: 0, at: -Infinity };

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    this.#video.playsInline = true;
    this.#video.part = "video";
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(":host { display: block; position: relative; background: #000; aspect-ratio: 16 / 9; overflow: hidden; }"
      + ":host([hidden]) { display: none; } video { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; }");
    root.adoptedStyleSheets = [sheet];
    root.append(this.#video, document.createElement("slot"));
    this.#video.addEventListener("waiting", () => this.#stall());
    this.#video.addEventListener("playing", () => this.#resume());
    // Media keys, the picture-in-picture window and the system pause and play the video element directly.
    this.#video.addEventListener("pause", () => {
      if (this.isLive && this.#video.paused && !this.#video.ended && !this.#video.error) this.pause();
    });
    this.#video.addEventListener("play", () => { if (this.state === "paused" && !this.#video.paused) this.play(); });
    this.#countFrames();
  }

  /** The video element. */
  get video() { return this.#video; }
  /** The delay in seconds: by the program's clock if it has one, otherwise from the newest picture. */
  get latency() {
    return performance.now() - this.#wall.at < TEXT_AGE ? this.#wall.delay : this.#session?.lag ?? 0;
  }
  get isLive() { return ["playing", "stalled"].includes(this.state); }
  /** Whether sound is off, which includes a volume of 0. */
  get muted() { return this.#video.muted || this.#video.volume === 0; }
  get volume() { return this.#video.volume; }

  connectedCallback() {
    this.#video.muted ||= this.hasAttribute("muted");
    this.#showControls();
    this.#begin();
  }

  disconnectedCallback() {
    this.#end("idle", "");
    this.#showControls();
  }

  attributeChangedCallback(name) {
    if (name === "controls") {
      this.#showControls();
    } else if (name === "muted") {
      this.#video.muted = this.hasAttribute("muted");
    } else if (this.isConnected && this.state !== "paused") {
      // Attributes that change together start one connection.
      clearTimeout(this.#restart);
      this.#restart = setTimeout(() => this.#begin());
    }
  }

  /** Plays the program from its newest picture. */
  play() { this.#begin(); }

  toggle() { if (this.#abort) this.pause(); else this.play(); }

  /** Closes the connection. The program is not buffered meanwhile. */
  pause() { this.#end("paused", "Paused."); }

  /** Mutes or unmutes. Unmuting also raises a volume of 0. */
  setMuted(isMuted) {
    this.#video.muted = isMuted;
    if (!isMuted && this.#video.volume === 0) this.#video.volume = 0.5;
    if (!isMuted) this.isSoundBlocked = false;
    this.#controls?.update();
  }

  /** @param {number} volume 0…1 */
  setVolume(volume) {
    this.#video.volume = Math.min(1, Math.max(0, volume));
    this.setMuted(this.#video.volume === 0);
  }

  seekToLive() { this.#session?.seekToLive(); }

  /** Seeks within the buffer. Playback then stays as far behind. @param {number} seconds */
  seekBy(seconds) {
    const { buffered } = this.#video, last = buffered.length - 1;
    if (last < 0 || this.#video.srcObject) return;
    const at = this.#video.currentTime + seconds, end = buffered.end(last);
    if (this.#session) this.#session.isBack = true;
    this.#video.currentTime = Math.min(Math.max(at, buffered.start(last), end - LIVE.back), end - 1);
  }

  /** Performs the action of a key. @param {KeyboardEvent} event @returns {boolean} Whether the key has an action. */
  handleKey(event) { return handleKey(this, event); }

  async toggleFullscreen() {
    if (document.fullscreenElement === this) return document.exitFullscreen();
    // iPhones support full screen only for the video element.
    return this.requestFullscreen ? this.requestFullscreen() : this.#video.webkitEnterFullscreen?.();
  }

  async togglePictureInPicture() {
    if (document.pictureInPictureElement) return document.exitPictureInPicture();
    return this.#video.requestPictureInPicture?.();
  }

  #showControls() {
    if (this.isConnected && this.hasAttribute("controls")) {
      this.#controls ??= new Controls(this, this.shadowRoot);
    } else {
      this.#controls?.remove();
      this.#controls = null;
    }
  }

  #set(state, message = "") {
    if (this.state === state && this.message === message) return;
    Object.assign(this, { state, message });
    this.#controls?.update();
    this.dispatchEvent(new CustomEvent("statechange", { detail: { state, message } }));
  }

  #begin() {
    this.#end("idle", "");
    const whep = this.getAttribute("whep"), source = this.getAttribute("src");
    if (!whep && !source) return;
    this.#abort = new AbortController();
    this.#run(whep, source, this.#abort.signal);
  }

  #end(state, message) {
    clearTimeout(this.#restart);
    this.#abort?.abort(new Error("Stopped"));
    this.#abort = null;
    this.#video.pause();
    this.#tellLayout(null);
    this.#set(state, message);
  }

  /** Plays, and reconnects until it is stopped. */
  async #run(whep, source, signal) {
    let attempt = 0, hasPlayed = false;
    this.#wall = { delay: 0, at: -Infinity };
    this.#set("connecting", "Connecting…");
    const events = {
      onConnect: () => { this.figures.connections++; },
      onReady: () => this.#start(signal),
      onText: text => this.#read(text),
      onFrames: count => { this.figures.frames += count; },
      hls: this.getAttribute("hls"),
      failures: 0,
    };
    this.#video.addEventListener("playing", () => { hasPlayed = true; events.failures = 0; }, { signal });
    while (!signal.aborted) {
      const begun = performance.now();
      let failure = null;
      try {
        const Session = whep ? WHEPSession : hasMediaSource ? FLVSession : HLSSession;
        this.#session = new Session(this.#video, new URL(whep || source, document.baseURI).href, events);
        await this.#session.run(signal);
      } catch (error) { failure = error; }
      if (signal.aborted) return;
      // A connection that fails soon after each start must not cause a storm of requests.
      if (performance.now() - begun > 10000) attempt = 0;
      const next = verdict(failure, { attempt: attempt++, random: Math.random(), hasPlayed });
      this.#tellLayout(null);
      this.#set(next.state, next.message);
      if (next.state !== "reconnecting") this.#video.pause();
      if (next.delay === null) {
        this.#abort = null;
        return;
      }
      await new Promise(resolve => setTimeout(resolve, next.delay * 1000));
    }
  }

  async #start(signal) {
    this.#lastShown = 0;
    const video = this.#video;
    try {
      await video.play();
    } catch (error) {
      if (error.name !== "NotAllowedError" || signal.aborted) return;
      // Without a gesture, browsers play only muted video.
      video.muted = true;
      this.isSoundBlocked = true;
      this.dispatchEvent(new CustomEvent("soundblocked"));
      await video.play().catch(({ name }) => {
        // Another source also ends it.
        if (name === "NotAllowedError" && !signal.aborted) this.#end("paused", "Press Play to start.");
      });
    }
    this.#controls?.update();
  }

  #stall() {
    this.#lastShown = 0;
    if (this.state !== "playing") return;
    this.figures.waits++;
    this.#stallAt = performance.now();
    this.#set("stalled", "Buffering…");
  }

  #resume() {
    if (!this.#abort) return;
    if (this.#stallAt) {
      const milliseconds = performance.now() - this.#stallAt;
      this.figures.stalled += milliseconds;
      this.#stallAt = 0;
      this.dispatchEvent(new CustomEvent("stall", { detail: { seconds: milliseconds / 1000 } }));
    }
    this.#set("playing");
  }

  #read({ text, isLasting }) {
    let value;
    try { value = JSON.parse(text); } catch { return; }
    if (Array.isArray(value?.regions) && value.canvas) return this.#tellLayout(value, isLasting ? Infinity : performance.now());
    const delay = typeof value?.ts === "number" ? (Date.now() - value.ts) / 1000 : -1;
    // An implausible delay means that this machine's clock is wrong.
    if (delay > 0 && delay < 60) this.#wall = { delay, at: performance.now() };
  }

  #tellLayout(layout, at = 0) {
    const had = this.#layoutAt;
    this.#layoutAt = at;
    if (layout || had) this.dispatchEvent(new CustomEvent("layout", { detail: layout }));
  }

  #countFrames() {
    const video = this.#video;
    if (!video.requestVideoFrameCallback) return;
    const shown = now => {
      const { figures } = this, interval = this.#lastShown ? now - this.#lastShown : 0;
      figures.presented++;
      if (figures.presented > 40) figures.longest = Math.max(figures.longest, interval);
      if (figures.presented > 40 && interval > 150) figures.slow++;
      this.#lastShown = now;
      if (this.#layoutAt && now - this.#layoutAt > TEXT_AGE) this.#tellLayout(null);
      video.requestVideoFrameCallback(shown);
    };
    video.requestVideoFrameCallback(shown);
  }
}

if (!customElements.get("co-stream-player")) customElements.define("co-stream-player", CoStreamPlayer);
