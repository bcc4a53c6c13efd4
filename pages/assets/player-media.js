// Plays a program: HTTP-FLV with Media Source Extensions, otherwise HLS.
import { textsIn } from "./player-codecs.js";
import { FLVReader, layoutIn, readUnit } from "./player-flv.js";
import { LIVE, RebuildError, Refusal, steer, UnplayableError, unplayable } from "./player-policy.js";
import { Clock, TimelineError, Track } from "./player-track.js";

const Source = globalThis.ManagedMediaSource ?? globalThis.MediaSource;
/** Whether the browser has Media Source Extensions. */
export const hasMediaSource = Boolean(Source);
/** Seconds kept in the buffer behind the current picture. */
const KEPT = 20;
/** Most bytes that wait for a source buffer; longest time without network data, and on a single picture, in ms. */
const QUEUED = 32 << 20, SILENCE = 15000, STUCK = 8000;

/** A source buffer and the segments that wait for it. */
class Buffer {
  #queue = [];
  #waiting = 0;
  #hasMadeRoom = false;

  constructor(media, type, video, fail) {
    Object.assign(this, { type, video, fail });
    this.buffer = media.addSourceBuffer(type);
    this.buffer.addEventListener("updateend", () => this.pump());
    this.buffer.addEventListener("error", () => fail(new RebuildError("The browser could not decode the stream")));
  }

  push(segment) {
    this.#queue.push(segment);
    this.#waiting += segment.bytes.length;
    if (this.#waiting > QUEUED) throw new RebuildError("The browser accepts no more data");
    this.pump();
  }

  pump() {
    if (this.buffer.updating || this.video.error) return;
    const now = this.video.currentTime;
    try {
      const { buffered } = this.buffer;
      if (buffered.length && buffered.start(0) < now - KEPT - 10) return this.buffer.remove(0, now - KEPT);
      const segment = this.#queue[0];
      if (!segment) return;
      // A changed codec needs changeType; a changed profile or size does not.
      if (segment.type && segment.type.split(".")[0] !== this.type.split(".")[0]) this.buffer.changeType(this.type = segment.type);
      this.buffer.appendBuffer(segment.bytes);
      this.#queue.shift();
      this.#waiting -= segment.bytes.length;
      this.#hasMadeRoom = false;
    } catch (error) {
      if (error.name !== "QuotaExceededError" || this.#hasMadeRoom) return this.fail(new RebuildError(error.message));
      this.#hasMadeRoom = true;
      this.buffer.remove(0, Math.max(0.1, now - 2));
    }
  }
}

/** One connection. */
class Session {
  /** The distance from the newest picture in seconds, if it is known. */
  lag = 0;

  /**
   * @param {HTMLVideoElement} video @param {string} url
   * @param {{onConnect: () => void, onReady: () => void, onText: (found: {text: string, isLasting?: boolean}) => void,
   *   onFrames: (count: number) => void, hls: string | null, failures: number}} events
   *   `onReady`: enough is buffered to begin. `onText`: the picture that has this text is shown. `isLasting`: until the next one.
   *   `failures`: of HLS in a row.
   */
  constructor(video, url, events) { Object.assign(this, { video, url, events }); }

  seekToLive() {}
}

export class FLVSession extends Session {
  /** Whether the viewer has gone back. Coming near the newest picture ends it. */
  isBack = false;
  #tracks = { video: new Track("video"), audio: new Track("audio") };
  #clock = new Clock();
  #buffers = null;
  #media = null;
  #isOpen = false;
  #firstAt = 0;
  #base = 0;
  #isStarted = false;
  #moved = { to: 0, at: 0 };
  #abort = new AbortController();
  #failure = null;
  #texts = [];

  /** Plays to the end of the stream. @param {AbortSignal} signal @throws {Error} The reason why playback stopped; see `verdict`. */
  async run(signal) {
    const within = { signal: this.#abort.signal }, ticks = setInterval(() => this.#tick(), 100);
    signal.addEventListener("abort", () => this.#abort.abort(), within);
    try {
      const answer = await this.#listen(fetch(this.url, { ...within, cache: "no-store" }));
      if (!answer.ok) throw await Refusal.of(answer);
      this.events.onConnect();
      const reader = new FLVReader((kind, time, body) => this.#take(kind, time, body)), stream = answer.body.getReader();
      for (;;) {
        const { value, done } = await this.#listen(stream.read());
        if (done) break;
        if (!this.#media) {
          // The last picture of the previous connection stays until here.
          this.#attach();
          this.video.addEventListener("error", () =>
            this.#fail(new RebuildError(this.video.error?.message || "The browser could not play the stream")), within);
        }
        reader.push(value);
        this.#flush();
      }
      // The rest of the buffer is still shown.
      if (this.#isStarted) await new Promise(resolve => setTimeout(resolve, Math.min(3, Math.max(0, this.lag)) * 1000));
    } catch (error) {
      throw this.#failure ?? (error instanceof TimelineError ? new RebuildError(error.message) : error);
    } finally {
      clearInterval(ticks);
      this.#abort.abort();
    }
  }

  /** Waits for the network, and fails if no data arrives for `SILENCE`. */
  #listen(promise) {
    const silence = setTimeout(() => this.#fail(new Error("No data arrived for 15 s")), SILENCE);
    return promise.finally(() => clearTimeout(silence));
  }

  #fail(error) {
    this.#failure ??= error;
    this.#abort.abort();
  }

  #attach() {
    this.#media = new Source();
    this.#media.addEventListener("sourceopen", () => { this.#isOpen = true; this.#flush(); }, { once: true });
    // Otherwise ManagedMediaSource requires a second source for AirPlay.
    this.video.disableRemotePlayback = true;
    this.video.srcObject = null;
    if (this.video.src) URL.revokeObjectURL(this.video.src);
    this.video.src = URL.createObjectURL(this.#media);
  }

  #take(kind, time, body) {
    const layout = kind === 18 && layoutIn(body), unit = readUnit(kind, body);
    if (layout) this.#texts.push({ at: this.#clock.unwrap(time), text: layout, isLasting: true });
    while (this.#texts.length > 200) this.#texts.shift();
    if (!unit) return;
    if (!["avc", "hevc", "aac"].includes(unit.codec)) throw new UnplayableError(unplayable(unit.codec));
    const track = this.#tracks[unit.kind];
    this.#firstAt ||= performance.now();
    if (unit.isConfig) return track.configure(unit.codec, unit.data);
    const at = this.#clock.unwrap(time);
    track.take(at, unit.offset, unit.isKey, unit.data.slice());
    if (unit.kind !== "video" || !track.format) return;
    this.events.onFrames(1);
    for (const text of textsIn(unit.data, track.format)) this.#texts.push({ at: at + unit.offset, text });
  }

  #flush() {
    this.#open();
    if (!this.#buffers) return;
    for (const [kind, track] of Object.entries(this.#tracks)) {
      // A source buffer cannot be added while others play.
      if (track.begin !== null && !track.isStarted) return this.#fail(new RebuildError(`The program has ${kind} now`));
      try {
        for (const segment of track.drain()) this.#buffers[kind].push(segment);
      } catch (error) { return this.#fail(error); }
    }
  }

  /** Adds the source buffers once the tracks are known: both, or one if the other does not appear within 700 ms. */
  #open() {
    const tracks = Object.values(this.#tracks).filter(track => track.format && track.begin !== null);
    const isLate = this.#firstAt && performance.now() - this.#firstAt > 700;
    if (this.#buffers || !this.#isOpen || !tracks.length || (tracks.length < 2 && !isLate)) return;
    for (const { format } of tracks) {
      if (!Source.isTypeSupported(format.type)) return this.#fail(new UnplayableError(unplayable(format.codec)));
    }
    this.#base = Math.floor(Math.min(...tracks.map(track => track.begin)));
    const fail = error => this.#fail(error);
    this.#buffers = Object.fromEntries(tracks.map(({ kind, format }) =>
      [kind, new Buffer(this.#media, format.type, this.video, fail)]));
    for (const track of tracks) track.start(this.#base);
  }

  #tick() {
    const { video } = this, { buffered } = video;
    if (!this.#buffers || video.error) return;
    const ranges = Array.from(buffered, (_, index) => [buffered.start(index), buffered.end(index)]);
    if (!this.#isStarted) return this.#begin(ranges);
    const { seek, rate, lag } = steer({ ranges, now: video.currentTime, rate: video.playbackRate, isBack: this.isBack });
    this.lag = lag;
    if (lag < LIVE.drift) this.isBack = false;
    if (video.currentTime !== this.#moved.to || video.paused) this.#moved = { to: video.currentTime, at: performance.now() };
    if (performance.now() - this.#moved.at > STUCK) return this.#fail(new RebuildError("The picture does not advance"));
    if (seek !== null && !video.seeking) video.currentTime = seek;
    if (rate !== video.playbackRate) video.playbackRate = rate;
    const shown = this.#base + video.currentTime * 1000;
    while (this.#texts.length && this.#texts[0].at <= shown) this.events.onText(this.#texts.shift());
  }

  /** Shows the first picture at once, and starts playing when enough is buffered to continue. */
  #begin(ranges) {
    if (!ranges.length) return;
    const [start, end] = ranges.at(-1);
    if (end - start < LIVE.target * 0.75) {
      if (this.video.currentTime < start) this.video.currentTime = start;
      return;
    }
    this.video.currentTime = Math.max(start + 0.001, end - LIVE.target);
    this.#isStarted = true;
    this.events.onReady();
  }

  /** Seeks to the newest picture. */
  seekToLive() {
    this.isBack = false;
    const { buffered } = this.video;
    if (buffered.length) this.video.currentTime = Math.max(buffered.start(buffered.length - 1), buffered.end(buffered.length - 1) - LIVE.target);
  }
}

/** Plays the program's HLS natively. */
export class HLSSession extends Session {
  /** Plays to the end of the playlist. @param {AbortSignal} signal @throws {Error} The reason why playback stopped; see `verdict`. */
  async run(signal) {
    const { video, url, events } = this, over = new AbortController(), within = { signal: over.signal };
    // A video element does not tell why it fails, and playlists outlive their programs.
    const answer = await fetch(url, { method: "HEAD", signal: AbortSignal.timeout?.(SILENCE) ?? signal, cache: "no-store" });
    if (signal.aborted) return;
    if (!answer.ok) throw await Refusal.of(answer);
    events.onConnect();
    await new Promise((resolve, reject) => {
      signal.addEventListener("abort", resolve, within);
      video.addEventListener("ended", resolve, within);
      // Until the first segment, the playlist is that of an earlier session, which has ended and so has a duration.
      video.addEventListener("loadedmetadata", () => { if (video.duration < Infinity) reject(new Refusal(404)); }, within);
      video.addEventListener("error", () => reject(++events.failures < 7 ? new Error("The connection is lost")
        : new UnplayableError("This browser can play only HLS, which is not available. Try another browser.")), within);
      video.srcObject = null;
      video.src = events.hls ?? url.replace(/\.flv(?=\?|$)/, "/index.m3u8");
      events.onReady();
    }).finally(() => over.abort());
  }
}
