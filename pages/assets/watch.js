"use strict";
// Plays the HTTP-FLV of a room's program with Media Source Extensions: H.264 and AAC, one connection through all switches. With
// #webrtc it plays over WHEP instead, with less than half a second of delay.

/** Longest distance from the newest picture in seconds: beyond the first it plays faster, beyond the second it jumps. */
const FASTER = 2.5, JUMP = 8;
/** Distance at which it begins, in seconds. */
const BEHIND = 1.0;
/** Seconds that stay behind the picture that is shown. */
const KEPT = 20;

const room = decodeURIComponent(location.pathname.split("/").pop());
const words = new Set(location.hash.slice(1).split("&"));
const source = `/live/${encodeURIComponent(room)}.flv${location.search}`;
const whep = `/whep/${encodeURIComponent(room)}${location.search}`;
const video = document.getElementById("video"), state = document.getElementById("state");
const sound = document.getElementById("sound");
document.title = `Watch ${room}`;
const figures = { frames: 0, waits: 0, longest: 0, connections: 0 };

// MARK: Bytes

const text = word => [...word].map(letter => letter.charCodeAt(0));
const u16 = value => [value >> 8 & 255, value & 255];
const u32 = value => [value >>> 24, value >>> 16 & 255, value >>> 8 & 255, value & 255];
const u64 = value => [...u32(Math.floor(value / 0x100000000)), ...u32(value >>> 0)];

/** Returns a box of ISO/IEC 14496-12. */
function box(name, ...parts) {
  let size = 8;
  for (const part of parts) size += part.length;
  const bytes = new Uint8Array(size);
  bytes.set(u32(size));
  bytes.set(text(name), 4);
  let at = 8;
  for (const part of parts) { bytes.set(part, at); at += part.length; }
  return bytes;
}

/** Reads width and height from a sequence parameter set (H.264 §7.3.2.1). */
function pictureSize(set) {
  const bytes = [];
  for (let index = 1; index < set.length; index++) {
    if (set[index] === 3 && set[index - 1] === 0 && set[index - 2] === 0) continue;
    bytes.push(set[index]);
  }
  let position = 0;
  const bit = () => bytes[position >> 3] >> (7 - (position++ & 7)) & 1;
  const bits = count => { let value = 0; while (count--) value = value * 2 + bit(); return value; };
  const golomb = () => {
    let zeros = 0;
    while (zeros < 32 && position < bytes.length * 8 && !bit()) zeros++;
    return 2 ** zeros - 1 + bits(zeros);
  };
  const signed = () => { const value = golomb(); return value & 1 ? (value + 1) / 2 : -value / 2; };
  const profile = bits(8);
  bits(16);
  golomb();
  let chroma = 1;
  if ([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].includes(profile)) {
    chroma = golomb();
    if (chroma === 3) bit();
    golomb(); golomb(); bit();
    if (bit()) {
      for (let list = 0; list < (chroma === 3 ? 12 : 8); list++) {
        if (!bit()) continue;
        for (let last = 8, next = 8, index = 0; index < (list < 6 ? 16 : 64); index++) {
          if (next) next = (last + signed() + 256) % 256;
          last = next || last;
        }
      }
    }
  }
  golomb();
  const order = golomb();
  if (order === 0) golomb();
  if (order === 1) {
    bit(); signed(); signed();
    for (let count = golomb(); count > 0 && position < bytes.length * 8; count--) signed();
  }
  golomb(); bit();
  let width = (golomb() + 1) * 16, height = (golomb() + 1) * 16;
  const frames = bit();
  if (!frames) { height *= 2; bit(); }
  bit();
  if (bit()) {
    const [left, right, top, bottom] = [golomb(), golomb(), golomb(), golomb()];
    width -= (left + right) * (chroma === 1 || chroma === 2 ? 2 : 1);
    height -= (top + bottom) * (chroma === 1 ? 2 : 1) * (frames ? 1 : 2);
  }
  return { width, height };
}

// MARK: Fragmented MP4

const RATES = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];
const MATRIX = [...u32(0x10000), ...Array(12).fill(0), ...u32(0x10000), ...Array(12).fill(0), ...u32(0x40000000)];

/** A track of FLV that is written as fMP4 into a source buffer. Times are in ms; `scale` is in units per second. */
class Track {
  constructor(kind) {
    Object.assign(this, { kind, scale: 1000, config: null, next: null, held: [], queue: [], sequence: 0, buffer: null, base: null });
  }

  get isVideo() { return this.kind === "video"; }

  /** Takes a codec configuration: an AVCDecoderConfigurationRecord or an AudioSpecificConfig. */
  configure(bytes) {
    const same = (one, other) => one && one.length === other.length && one.every((byte, index) => byte === other[index]);
    if (same(this.next || this.config, bytes)) return;
    // Of pictures it counts from the next keyframe on.
    this.next = bytes.slice();
    if (!this.isVideo || !this.config) this.begin();
  }

  begin() {
    this.config = this.next;
    this.next = null;
    if (!this.isVideo) {
      this.scale = RATES[(this.config[0] & 7) << 1 | this.config[1] >> 7] || 44100;
      this.channels = this.config[1] >> 3 & 15;
      this.grid = null;
    }
    if (this.buffer) this.put(this.initialization());
  }

  get type() {
    const hexadecimal = byte => byte.toString(16).padStart(2, "0");
    return this.isVideo ? `video/mp4; codecs="avc1.${[...this.config.slice(1, 4)].map(hexadecimal).join("")}"`
      : 'audio/mp4; codecs="mp4a.40.2"';
  }

  initialization() {
    const { width, height } = this.isVideo ? pictureSize(this.config.slice(8, 8 + (this.config[6] << 8 | this.config[7])))
      : { width: 0, height: 0 };
    const header = [...Array(6).fill(0), ...u16(1)];
    const entry = this.isVideo
      ? box("avc1", header, Array(16).fill(0), u16(width), u16(height), u32(0x480000), u32(0x480000), u32(0), u16(1), Array(32).fill(0),
        u16(24), u16(0xFFFF), box("avcC", this.config))
      : box("mp4a", header, Array(8).fill(0), u16(this.channels || 2), u16(16), u32(0), u16(this.scale), u16(0), box("esds", u32(0),
        [3, 23 + this.config.length], u16(1), [0, 4, 15 + this.config.length, 0x40, 0x15, 0, 0, 0], u32(0), u32(0),
        [5, this.config.length], this.config, [6, 1, 2]));
    return concatenated([
      box("ftyp", text("isom"), u32(0), text("isomavc1")),
      box("moov",
        box("mvhd", u32(0), u32(0), u32(0), u32(1000), u32(0), u32(0x10000), u16(0x100), Array(10).fill(0), MATRIX, Array(24).fill(0), u32(2)),
        box("trak",
          box("tkhd", u32(7), u32(0), u32(0), u32(1), u32(0), u32(0), Array(8).fill(0), u16(0), u16(0), u16(this.isVideo ? 0 : 0x100), u16(0),
            MATRIX, u32(width * 0x10000), u32(height * 0x10000)),
          box("mdia",
            box("mdhd", u32(0), u32(0), u32(0), u32(this.scale), u32(0), u16(0x55C4), u16(0)),
            box("hdlr", u32(0), u32(0), text(this.isVideo ? "vide" : "soun"), Array(12).fill(0), [0]),
            box("minf",
              this.isVideo ? box("vmhd", u32(1), Array(8).fill(0)) : box("smhd", u32(0), u32(0)),
              box("dinf", box("dref", u32(0), u32(1), box("url ", u32(1)))),
              box("stbl", box("stsd", u32(0), u32(1), entry), box("stts", u32(0), u32(0)), box("stsc", u32(0), u32(0)),
                box("stsz", u32(0), u32(0), u32(0)), box("stco", u32(0), u32(0)))))),
        box("mvex", box("trex", u32(0), u32(1), u32(1), u32(0), u32(0), u32(0)))),
    ]);
  }

  /** Takes a frame: decoding time and offset of its presentation in ms. */
  take(time, offset, isKey, payload) {
    if (!this.config) return;
    let ticks = time;
    if (this.isVideo) {
      if (isKey && this.next) {
        // The last picture before stays until the first one after is shown.
        const last = this.held.at(-1);
        if (last && this.buffer) this.write(this.held, time + offset - last.time - last.offset);
        this.held = [];
        this.begin();
      }
    } else {
      // Frames of sound lie on an exact grid; FLV rounds to milliseconds.
      const wanted = time * this.scale / 1000;
      if (this.grid === null || Math.abs(this.grid - wanted) > 0.05 * this.scale) this.grid = Math.round(wanted);
      ticks = this.grid;
      this.grid += 1024;
    }
    this.held.push({ time: ticks, offset, isKey, payload });
  }

  /** Writes what is held, but the last frame, whose length only the next one tells. */
  flush() {
    if (!this.buffer || this.held.length < 2) return;
    const next = this.held.pop();
    this.write(this.held, next.time - this.held.at(-1).time);
    this.held = [next];
  }

  write(frames, lastLength) {
    const first = frames[0].time - (this.isVideo ? this.base : Math.round(this.base * this.scale / 1000));
    if (first < 0) return;
    const entries = [];
    let size = 0;
    frames.forEach((frame, index) => {
      const length = Math.max(1, index + 1 < frames.length ? frames[index + 1].time - frame.time : lastLength);
      entries.push(...u32(length), ...u32(frame.payload.length), ...u32(frame.isKey ? 0x02000000 : 0x01010000), ...u32(frame.offset | 0));
      size += frame.payload.length;
    });
    const moof = offset => box("moof", box("mfhd", u32(0), u32(++this.sequence)),
      box("traf", box("tfhd", u32(0x020000), u32(1)), box("tfdt", u32(0x01000000), u64(first)),
        box("trun", u32(0x01000F01), u32(frames.length), u32(offset), entries)));
    const head = moof(0);
    this.sequence--;
    this.put(concatenated([moof(head.length + 8), u32(size + 8), text("mdat"), ...frames.map(frame => frame.payload)]));
    if (this.isVideo) figures.frames += frames.length;
  }

  put(bytes) {
    this.queue.push(bytes);
    this.pump();
  }

  pump() {
    if (!this.buffer || this.buffer.updating) return;
    const start = video.currentTime - KEPT;
    try {
      if (this.buffer.buffered.length && this.buffer.buffered.start(0) < start - 10) return this.buffer.remove(0, start);
      if (this.queue.length) this.buffer.appendBuffer(this.queue[0]);
      this.queue.shift();
    } catch (error) {
      if (error.name !== "QuotaExceededError") throw error;
      this.buffer.remove(0, Math.max(0.1, video.currentTime - 5));
    }
  }
}

function concatenated(parts) {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) { bytes.set(part, at); at += part.length; }
  return bytes;
}

// MARK: FLV

/** Reads FLV as it comes and gives each tag to `onTag(kind, time, body)` (Adobe Flash Video File Format 10.1, annex E). */
class Reader {
  constructor(onTag) { Object.assign(this, { onTag, rest: new Uint8Array(0), isOpen: false }); }

  push(piece) {
    let bytes = this.rest.length ? concatenated([this.rest, piece]) : piece, at = 0;
    if (!this.isOpen) {
      if (bytes.length < 13) { this.rest = bytes; return; }
      if (bytes[0] !== 0x46 || bytes[1] !== 0x4C || bytes[2] !== 0x56) throw new Error("the answer is not FLV");
      at = 13;
      this.isOpen = true;
    }
    while (bytes.length - at >= 11) {
      const size = bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
      if (bytes.length - at < size + 15) break;
      const time = (bytes[at + 4] << 16 | bytes[at + 5] << 8 | bytes[at + 6]) + bytes[at + 7] * 0x1000000;
      this.onTag(bytes[at] & 31, time, bytes.subarray(at + 11, at + 11 + size));
      at += size + 15;
    }
    this.rest = bytes.slice(at);
  }
}

// MARK: Playing

/** Returns the words of a refusal. */
async function refusal(answer) {
  const problem = await answer.json().catch(() => ({}));
  return new Error(problem.title || `${answer.status} ${answer.statusText}`);
}

/** Plays one connection over WebRTC to its end. */
async function playNow() {
  const connection = new RTCPeerConnection(), media = new MediaStream();
  let session;
  try {
    for (const kind of ["video", "audio"]) connection.addTransceiver(kind, { direction: "recvonly" });
    connection.ontrack = event => media.addTrack(event.track);
    await connection.setLocalDescription();
    // The offer goes out once, with the candidates that are there by then.
    await new Promise(resolve => {
      connection.onicegatheringstatechange = () => { if (connection.iceGatheringState === "complete") resolve(); };
      setTimeout(resolve, 1000);
    });
    const answer = await fetch(whep, {
      method: "POST", headers: { "Content-Type": "application/sdp" }, body: connection.localDescription.sdp,
    });
    if (!answer.ok) throw await refusal(answer);
    session = answer.headers.get("Location");
    await connection.setRemoteDescription({ type: "answer", sdp: await answer.text() });
    video.srcObject = media;
    figures.connections++;
    start();
    await new Promise((resolve, reject) => {
      connection.onconnectionstatechange = () => {
        if (["failed", "closed"].includes(connection.connectionState)) reject(new Error("The connection is lost"));
      };
      addEventListener("pagehide", resolve, { once: true });
    });
  } finally {
    connection.close();
    if (session) fetch(session, { method: "DELETE", keepalive: true }).catch(() => {});
  }
}

/** Plays one connection over HTTP-FLV to its end. */
async function play() {
  const media = new (window.ManagedMediaSource || window.MediaSource)();
  const tracks = { video: new Track("video"), audio: new Track("audio") };
  const abort = new AbortController();
  let isOpen = false, firstAt = 0;
  video.disableRemotePlayback = true;
  video.src = URL.createObjectURL(media);
  media.addEventListener("sourceopen", () => { isOpen = true; }, { once: true });
  video.onerror = () => abort.abort();

  const begin = () => {
    const { video: pictures, audio } = tracks;
    if (!isOpen || pictures.buffer || audio.buffer) return;
    const waited = firstAt && performance.now() - firstAt > 700;
    if (!(pictures.config && audio.config) && !(waited && (pictures.config || audio.config))) return;
    const used = [pictures, audio].filter(track => track.config);
    const base = Math.min(...used.filter(track => track.held.length).map(track => track.isVideo ? track.held[0].time
      : track.held[0].time * 1000 / track.scale));
    if (!isFinite(base)) return;
    // Both before the first append: a second buffer is refused once playing has begun.
    for (const track of used) {
      track.base = Math.floor(base);
      track.buffer = media.addSourceBuffer(track.type);
      track.buffer.addEventListener("updateend", () => track.pump());
      track.buffer.addEventListener("error", () => abort.abort());
    }
    for (const track of used) { track.put(track.initialization()); track.flush(); }
  };

  const reader = new Reader((kind, time, body) => {
    if (kind === 9 && (body[0] & 15) === 7 && body.length > 5) {
      firstAt ||= performance.now();
      if (body[1] === 0) tracks.video.configure(body.slice(5));
      if (body[1] === 1) tracks.video.take(time, (body[2] << 16 | body[3] << 8 | body[4]) << 8 >> 8, body[0] >> 4 === 1, body.slice(5));
    } else if (kind === 8 && body[0] >> 4 === 10 && body.length > 2) {
      firstAt ||= performance.now();
      if (body[1] === 0) tracks.audio.configure(body.slice(2));
      else tracks.audio.take(time, 0, true, body.slice(2));
    } else if (kind === 9 && body[0] & 0x80) {
      throw new Error("the program is H.265: this page plays H.264; use the HLS address");
    }
  });

  const answer = await fetch(source, { signal: abort.signal, cache: "no-store" });
  if (!answer.ok) throw await refusal(answer);
  figures.connections++;
  const stream = answer.body.getReader();
  const watch = setInterval(keepUp, 250);
  try {
    for (;;) {
      const { value, done } = await stream.read();
      if (done) return;
      reader.push(value);
      begin();
      for (const track of Object.values(tracks)) track.flush();
    }
  } finally {
    clearInterval(watch);
    abort.abort();
  }
}

/** Stays near the newest picture, and leaves holes. */
function keepUp() {
  const ranges = video.buffered;
  if (!ranges.length) return;
  const end = ranges.end(ranges.length - 1), now = video.currentTime;
  let inside = false;
  for (let index = 0; index < ranges.length; index++) {
    if (now >= ranges.start(index) - 0.1 && now < ranges.end(index)) inside = true;
    else if (!inside && now < ranges.start(index)) { video.currentTime = ranges.start(index) + 0.01; inside = true; }
  }
  if (end - now > JUMP) video.currentTime = end - BEHIND;
  video.playbackRate = end - now > FASTER ? 1.15 : 1;
  if (video.paused && end - now > BEHIND) start();
}

function start() {
  video.play().then(() => { state.textContent = `Live: ${room}`; }).catch(() => {
    // Without a gesture, browsers play only what is silent.
    video.muted = true;
    sound.hidden = false;
    video.play().catch(() => { state.textContent = "Press play"; video.controls = true; });
  });
}

sound.addEventListener("click", () => { video.muted = false; sound.hidden = true; });
video.addEventListener("waiting", () => { if (figures.frames > 50) figures.waits++; });
video.addEventListener("playing", () => { state.textContent = `Live: ${room}`; });
if (video.requestVideoFrameCallback) {
  let before = 0;
  const shown = now => {
    if (video.srcObject) figures.frames++;
    if (before && figures.frames > 100) figures.longest = Math.max(figures.longest, now - before);
    before = now;
    video.requestVideoFrameCallback(shown);
  };
  video.requestVideoFrameCallback(shown);
}
// For tests, and for people who report a fault: what is shown, once a second in the console.
if (words.has("figures")) {
  setInterval(() => {
    const quality = video.getVideoPlaybackQuality(), ranges = video.buffered;
    const behind = ranges.length ? ranges.end(ranges.length - 1) - video.currentTime : null;
    console.log("WATCH " + JSON.stringify({ ...figures, shown: quality.totalVideoFrames - quality.droppedVideoFrames,
      dropped: quality.droppedVideoFrames, size: `${video.videoWidth}x${video.videoHeight}`, behind, words: state.textContent }));
  }, 1000);
}

(async () => {
  for (let pause = 500;; pause = Math.min(pause * 2, 8000)) {
    const begun = performance.now();
    let reason = "The program has ended";
    try { await (words.has("webrtc") ? playNow() : play()); } catch (error) { reason = error.message; }
    if (performance.now() - begun > 10000) pause = 500;
    state.textContent = `${reason}. Connecting again …`;
    await new Promise(resolve => setTimeout(resolve, pause));
  }
})();
