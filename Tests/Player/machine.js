// A machine with devices, and what a page shows of them, in the places of a browser's.

/** A stream of tracks, as browsers have them. */
export class Stream {
  tracks = [];
  addTrack(track) { this.tracks.push(track); }
  removeTrack(track) { this.tracks = this.tracks.filter(one => one !== track); }
  getTracks() { return [...this.tracks]; }
  getVideoTracks() { return this.tracks.filter(track => track.kind === "video"); }
  getAudioTracks() { return this.tracks.filter(track => track.kind === "audio"); }
}

/** A `select` of a page. */
export class List {
  options = [];
  #at = -1;
  replaceChildren(...options) {
    this.options = options;
    this.#at = options.length ? 0 : -1;
  }
  set selectedIndex(at) { this.#at = at; }
  get value() { return this.options[this.#at]?.value ?? ""; }
  set value(value) { this.#at = this.options.findIndex(option => option.value === value); }
}

/** Devices of a machine, by their kind and name. */
export class Machine {
  /** What was asked for, in words, and tracks that were stopped. */
  asked = [];
  stopped = [];
  /** What the next requests come to, if not to a stream: the name of an error, or a promise. */
  failures = [];

  /** @param {Record<string, string[]>} devices */
  constructor(devices) { this.devices = devices; }

  async enumerateDevices() {
    return Object.entries(this.devices).flatMap(([kind, names]) => names.map(name => ({ kind, label: name, deviceId: name })));
  }
  getUserMedia({ video, audio }) {
    const name = (wish, kind) => wish && (wish.deviceId?.exact ?? this.devices[kind]?.[0] ?? "missing");
    return this.#open([name(video, "videoinput"), name(audio, "audioinput")]);
  }
  getDisplayMedia() { return this.#open(["a window", false]); }

  async #open(names) {
    this.asked.push(names.filter(Boolean).join(" and "));
    const failure = this.failures.shift();
    if (typeof failure === "string") throw Object.assign(new Error(failure), { name: failure });
    if (names.includes("missing")) throw Object.assign(new Error("not found"), { name: "NotFoundError" });
    await failure;
    const stream = new Stream();
    for (const [index, name] of names.entries()) {
      if (!name) continue;
      stream.addTrack({ kind: ["video", "audio"][index], name, getSettings: () => ({ deviceId: name }), stop: () => this.stopped.push(name) });
    }
    return stream;
  }
}

/** What browsers listen with. */
export class Sound {
  state = "suspended";
  constructor() { Sound.last = this; }
  createAnalyser() { return { fftSize: 4, getFloatTimeDomainData() {} }; }
  createMediaStreamSource() { return { connect() {} }; }
  async resume() { this.state = "running"; }
  close() {}
}
