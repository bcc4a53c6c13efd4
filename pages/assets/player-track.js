// Places the frames of a live program on one timeline without gaps. Pure: no clock, no browser.
import { readFormat } from "./player-codecs.js";
import { fragment, initialization } from "./player-mp4.js";

/** The longest time for which a picture is extended to the next one, in ms. A longer interval remains a gap. */
const LONGEST = 3000;
/** The distance between audio and its grid at which the grid is reset, in seconds. */
const DRIFT = 0.05;
const FRAME = 1024;

/** The program's time jumped back; the player has to start over. */
export class TimelineError extends Error {}

/** Unwraps the 32-bit times of FLV. */
export class Clock {
  #now = null;
  /** @param {number} time ms, 0…2³²−1 @returns {number} ms @throws {TimelineError} Time went back by more than 5 s. */
  unwrap(time) {
    const change = this.#now === null ? time : (time - (this.#now >>> 0)) | 0;
    if (this.#now !== null && change < -5000) throw new TimelineError("The program's time jumped back");
    const unwrapped = (this.#now ?? 0) + change;
    this.#now = Math.max(this.#now ?? 0, unwrapped);
    return unwrapped;
  }
}

/** @typedef {{type?: string, bytes: Uint8Array}} Segment An initialization segment of media type `type`, if that is present. */

/** A video or audio track as fMP4. Video has 1000 ticks per second, audio its sampling rate. */
export class Track {
  /** @type {import("./player-codecs.js").Format | null} */
  format = null;
  #next = null;
  #held = [];
  #out = [];
  #base = null;
  #grid = null;
  #interval = 40;
  #sequence = 0;

  /** @param {"video" | "audio"} kind */
  constructor(kind) { this.kind = kind; }

  /** The time of the first held frame in ms; `null` if there is none. */
  get begin() { return this.#held.length ? this.#held[0].time * 1000 / this.format.scale : null; }
  get isStarted() { return this.#base !== null; }

  /** Takes a codec configuration. A repeated one changes nothing; a video configuration applies from the next keyframe on. */
  configure(codec, config) {
    const known = this.#next ?? this.format;
    if (known?.codec === codec && known.config.length === config.length
      && known.config.every((byte, index) => byte === config[index])) return;
    this.#next = readFormat(codec, config.slice());
    if (this.kind === "audio" || !this.format) this.#change();
  }

  /** Sets the time in ms that becomes 0, and starts producing segments. */
  start(base) {
    this.#base = base;
    this.#announce();
  }

  /** Takes a frame. @param {number} time Decoding time in ms. @param {number} offset Presentation time minus decoding time, in ms. */
  take(time, offset, isKey, data) {
    if (!this.format) return;
    if (this.kind === "audio") {
      // FLV rounds to milliseconds, but audio frames follow each other exactly.
      const wanted = time * this.format.scale / 1000;
      if (this.#grid === null || Math.abs(this.#grid - wanted) > DRIFT * this.format.scale) this.#grid = Math.round(wanted);
      this.#held.push({ time: this.#grid, length: FRAME, offset: 0, isKey: true, data });
      this.#grid += FRAME;
    } else {
      const last = this.#held.at(-1);
      if (isKey && this.#next) {
        // The last picture of the old format stays until the first one of the new format is shown.
        if (last) last.length = this.#length(time + offset - last.time - last.offset);
        this.#change();
      } else if (last) last.length = this.#length(time - last.time);
      this.#held.push({ time, length: 0, offset, isKey, data });
    }
    if (this.#base === null && this.#held.length > 2000) this.#held.shift();
  }

  #length(distance) {
    if (distance > LONGEST) return this.#interval;
    return this.#interval = Math.max(1, distance);
  }

  #change() {
    this.#write(this.#held);
    this.#held = [];
    this.#grid = null;
    this.format = this.#next;
    this.#next = null;
    this.#announce();
  }

  #announce() {
    if (this.isStarted && this.format) this.#out.push({ type: this.format.type, bytes: initialization(this.format) });
  }

  /** Returns the segments that can be appended now: all but the last picture, whose duration depends on the next one. @returns {Segment[]} */
  drain() {
    if (this.isStarted) {
      const kept = this.kind === "video" ? this.#held.splice(-1) : [];
      this.#write(this.#held);
      this.#held = kept;
    }
    return this.#out.splice(0);
  }

  #write(frames) {
    if (!this.isStarted) return;
    const base = Math.round(this.#base * this.format.scale / 1000);
    for (let from = 0, to; from < frames.length; from = to) {
      // One fragment for each run of frames without a gap.
      for (to = from + 1; to < frames.length && frames[to].time === frames[to - 1].time + frames[to - 1].length;) to++;
      if (frames[from].time >= base) {
        this.#out.push({ bytes: fragment(++this.#sequence, frames[from].time - base, frames.slice(from, to)) });
      }
    }
  }
}
