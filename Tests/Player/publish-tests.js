// Tests of how pages keep their connections over WebRTC, with a browser's connections, requests and time in their places. A browser runs
// them (StudioTests), and so does `node --experimental-default-type=module Tests/Player/publish-tests.js`.
import { WHEPSession } from "../../pages/assets/player-whep.js";
import { iceServers } from "../../pages/assets/player-webrtc.js";
import { appOf, pageOf, placeOf, withWord } from "../../pages/assets/page-room.js";
import { Awake } from "../../pages/assets/publish-awake.js";
import { Devices, mayPass } from "../../pages/assets/publish-devices.js";
import { publishersIn } from "../../pages/assets/publish-people.js";
import { WHIPSession } from "../../pages/assets/publish-whip.js";
import { check, equal } from "./checks.js";

/** A world in which time passes when a test says so. */
class World {
  now = 0;
  timers = new Map();
  /** Connections that were made. */
  peers = [];
  /** Requests, as `POST` or `DELETE 1`, and what they brought. */
  asked = [];
  bodies = [];
  /** The servers that the service names. */
  links = null;
  words = [];
  /** What the next requests to publish are answered with: a status, `"lost"`, `"late"`, or `"held"` until the test says. Then 201. */
  answers = [];
  /** Why sessions have ended before they are ended: the last word of the problem's type. */
  ends = [];
  /** Answers that wait for a test. */
  held = [];
  /** The state of a connection right after the answer. */
  first = "connecting";

  constructor() {
    const world = this;
    this.globals = {
      setTimeout: (body, delay = 0) => { const id = {}; world.timers.set(id, { body, at: world.now + delay }); return id; },
      clearTimeout: id => world.timers.delete(id),
      setInterval: () => {},
      clearInterval: () => {},
      performance: { now: () => world.now },
      MediaStream: Stream,
      Option: class { constructor(text, value) { Object.assign(this, { text, value }); } },
      RTCPeerConnection: class {
        connectionState = "new";
        constructor() { world.peers.push(this); }
        addTransceiver() {
          if (this.connectionState === "closed") throw new Error("closed");
          return { setCodecPreferences() {}, sender: { getParameters: () => ({}), setParameters: async () => {} } };
        }
        getTransceivers() { return []; }
        getConfiguration() { return { bundlePolicy: "max-bundle" }; }
        async getStats() { return new Map(); }
        setConfiguration(configuration) { this.configuration = configuration; }
        async createOffer() { return { type: "offer", sdp: "v=0\r\na=ice-ufrag:abcd\r\na=ice-pwd:secret\r\n" }; }
        async setLocalDescription(offer) {
          if (this.connectionState === "closed") throw new Error("closed");
          this.isConfigured = this.configuration !== undefined;
          for (const one of ["candidate:1 1 udp 1 192.0.2.1 9 typ host", "candidate:2 1 udp 1 192.0.2.2 9 typ relay"])
            this.onicecandidate?.({ candidate: { candidate: one, sdpMid: "0" } });
          this.onicecandidate?.({ candidate: null });
        }
        async setRemoteDescription() { this.connectionState = world.first; }
        close() { this.connectionState = "closed"; }
        become(state) {
          this.connectionState = state;
          this.onconnectionstatechange?.();
        }
      },
      AbortSignal: {
        timeout: delay => {
          const listeners = [];
          world.globals.setTimeout(() => listeners.forEach(body => body()), delay);
          return { reason: new Error("No answer in time"), addEventListener: (_, body) => listeners.push(body) };
        },
      },
      RTCRtpSender: { getCapabilities: () => ({ codecs: [] }) },
      fetch: (url, { method, signal, body }) => world.answer(String(url), method, signal, body),
    };
  }

  async answer(url, method, signal, body) {
    this.bodies.push(body);
    if (method !== "PATCH") this.asked.push(method === "POST" ? method : `${method} ${url.split("/").at(-1)}`);
    const end = method === "DELETE" && this.ends.shift(), type = `urn:mixorchestrator:problem:${end || "other"}`;
    let status = method === "POST" ? this.answers.shift() ?? 201 : end ? 404 : 200;
    if (status === "lost") throw new TypeError("Failed to fetch");
    if (status === "late") return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    if (status === "held") status = await new Promise(resolve => this.held.push(resolve));
    return {
      ok: status < 300, status, url: "http://a.example/whip/r/u", text: async () => "answer", json: async () => ({ detail: "the reason", type }),
      headers: { get: name => ({ Location: `/whip-sessions/${this.peers.length}`, Link: this.links })[name] ?? null },
    };
  }

  /** Lets everything happen that needs no time. */
  async settle() { for (let round = 0; round < 60; round++) await null; }

  async pass(seconds) {
    const end = this.now + seconds * 1000;
    await this.settle();
    for (;;) {
      const [id, timer] = [...this.timers].sort(([, one], [, other]) => one.at - other.at)[0] ?? [];
      if (!timer || timer.at > end) break;
      this.timers.delete(id);
      this.now = timer.at;
      timer.body();
      await this.settle();
    }
    this.now = end;
  }

  /** Goes live; the connection stands. */
  async live() {
    this.refused = null;
    this.session = new WHIPSession("/whip/r/u", () => ({ getTracks: () => [] }), {
      headers: () => ({}), say: words => this.words.push(words), onRefused: refusal => { this.refused = refusal; } });
    this.end = this.session.run();
    await this.pass(1);
    this.peers.at(-1).become("connected");
    await this.settle();
  }
}

/** A stream of tracks, as browsers have them. */
class Stream {
  tracks = [];
  addTrack(track) { this.tracks.push(track); }
  removeTrack(track) { this.tracks = this.tracks.filter(one => one !== track); }
  getTracks() { return [...this.tracks]; }
  getVideoTracks() { return this.tracks.filter(track => track.kind === "video"); }
  getAudioTracks() { return this.tracks.filter(track => track.kind === "audio"); }
}

/** A `select` of a page. */
class List {
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
class Machine {
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
    return this.#open([video && (video.deviceId?.exact ?? this.devices.videoinput?.[0]), audio && (audio.deviceId?.exact ?? this.devices.audioinput?.[0])]);
  }
  getDisplayMedia() { return this.#open(["a window", false]); }

  async #open(names) {
    this.asked.push(names.filter(Boolean).join(" and "));
    const failure = this.failures.shift();
    if (typeof failure === "string") throw Object.assign(new Error(failure), { name: failure });
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
class Sound {
  state = "suspended";
  constructor() { Sound.last = this; }
  createAnalyser() { return { fftSize: 4, getFloatTimeDomainData() {} }; }
  createMediaStreamSource() { return { connect() {} }; }
  async resume() { this.state = "running"; }
  close() {}
}

/** A page's devices on a machine without sound to listen to. */
function devicesOf(machine) {
  const lists = { camera: new List(), microphone: new List() };
  return Object.assign(new Devices(lists, () => {}, machine), { shown: () => [lists.camera.value, lists.microphone.value] });
}
const SIZE = { width: 1, height: 1 };

const tests = {
  async "a server that does not answer any more is asked again soon"(world) {
    await world.live();
    equal([world.asked, world.words.at(-1)], [["POST"], "You are live."], "live");
    world.peers[0].become("disconnected");
    equal(world.words.at(-1), "The server does not answer …", "said");
    await world.pass(2.9);
    equal(world.asked, ["POST"], "it may come back");
    await world.pass(2);
    equal(world.asked, ["POST", "DELETE 1", "POST"], "made anew");
    world.peers[1].become("connected");
    equal(world.words.at(-1), "You are live.", "again");
  },
  async "a connection that comes back stays"(world) {
    await world.live();
    for (let round = 0; round < 3; round++) {
      world.peers[0].become("disconnected");
      await world.pass(2);
      world.peers[0].become("connected");
      await world.pass(20);
    }
    equal([world.asked, world.words.at(-1)], [["POST"], "You are live."], "one session");
  },
  async "a first attempt that fails is not the last"(world) {
    world.answers = [503, "lost", 429];
    await world.live();
    await world.pass(30);
    equal(world.asked.slice(0, 4), ["POST", "POST", "POST", "POST"], "until it is taken");
    check(world.words.includes("the reason. Trying again …") && world.words.includes("Failed to fetch. Trying again …"), world.words);
  },
  async "a connection that is there before anybody looks is live"(world) {
    world.first = "connected";
    await world.live();
    await world.pass(60);
    equal([world.asked, world.words.at(-1)], [["POST"], "You are live."], "no time-out");
  },
  async "a connection that never comes is tried again"(world) {
    await world.live();
    world.peers[0].become("failed");
    await world.pass(13);
    equal(world.asked, ["POST", "DELETE 1", "POST", "DELETE 2", "POST"], "after ten seconds");
    check(world.words.some(words => words.startsWith("No connection to the server")), world.words);
  },
  async "a server that says nothing at all is asked again"(world) {
    world.answers = ["late"];
    await world.live();
    equal(world.asked, ["POST"], "it may take its time");
    await world.pass(12);
    equal(world.asked, ["POST", "POST"], "after ten seconds");
    check(world.words.includes("No answer in time. Trying again …"), world.words);
  },
  async "a refusal for good is one"(world) {
    world.answers = [403];
    await world.live();
    await world.pass(60);
    equal([world.asked, world.refused?.status], [["POST"], 403], "once");
    await world.end;
  },
  async "who stops is not brought back"(world) {
    await world.live();
    world.peers[0].become("disconnected");
    world.session.stop();
    await world.pass(60);
    equal(world.asked, ["POST", "DELETE 1"], "nothing follows");
    await world.end;
  },
  async "who stops while the server answers leaves no session"(world) {
    world.answers = ["held"];
    const session = new WHIPSession("/whip/r/u", () => new Stream(), { headers: () => ({}), say() {}, onRefused() {} }), end = session.run();
    await world.settle();
    session.stop();
    await world.settle();
    equal(world.asked, ["POST"], "nothing can be ended yet");
    world.held[0](201);
    await end;
    equal(world.asked, ["POST", "DELETE 1"], "ended");
  },
  async "who stops does not read a refusal that comes later"(world) {
    let refusals = 0;
    world.answers = ["held"];
    const session = new WHIPSession("/whip/r/u", () => new Stream(), { headers: () => ({}), say() {}, onRefused() { refusals++; } });
    const end = session.run();
    await world.settle();
    session.stop();
    world.held[0](403);
    await end;
    equal(refusals, 0, "refusals");
  },
  async "two pages do not take a stream from each other for ever"(world) {
    await world.live();
    world.ends = ["whip-stream-replaced"];
    world.peers[0].become("failed");
    await world.pass(60);
    equal([world.asked, world.refused?.detail], [["POST", "DELETE 1"], "the reason"], "the other one has it");
    await world.end;
  },
  async "a stream that is refused again and again is tried less and less often"(world) {
    await world.live();
    world.ends = Array(20).fill("whip-stream-refused");
    for (let second = 0; second < 60; second++) {
      if (world.peers.at(-1).connectionState !== "closed") {
        world.peers.at(-1).become("connected");
        world.peers.at(-1).become("failed");
      }
      await world.pass(1);
    }
    const posts = world.asked.filter(one => one === "POST").length;
    check(posts > 5 && posts < 13, `${posts} attempts in a minute`);
    check(world.words.includes("the reason. Trying again …"), world.words);
  },
  async "a viewer who leaves while the service answers leaves no session"(world) {
    world.answers = ["held"];
    const leaving = new AbortController();
    const end = new WHEPSession({}, "http://a.example/whep/r", { onConnect() {}, onReady() {} }).run(leaving.signal).catch(error => error.message);
    await world.settle();
    leaving.abort(new Error("left"));
    equal(await end, "left", "at once");
    world.held[0](201);
    await world.settle();
    equal(world.asked, ["POST", "DELETE 1"], "ended");
  },
  async "a service that does not answer a viewer is asked again by the player"(world) {
    world.answers = ["late"];
    const end = new WHEPSession({}, "http://a.example/whep/r", { onConnect() {}, onReady() {} }).run(new AbortController().signal);
    const told = end.catch(error => error.message);
    await world.pass(11);
    equal(await Promise.race([told, "nothing"]), "No answer in time", "after ten seconds");
  },
  async "connections of a viewer leave nothing at the page's signal"(world) {
    let listeners = 0;
    const signal = { addEventListener: () => { listeners++; }, removeEventListener: () => { listeners--; } };
    for (let round = 0; round < 5; round++) {
      const end = new WHEPSession({}, "http://a.example/whep/r", { onConnect() {}, onReady() {} }).run(signal).catch(() => {});
      await world.pass(1);
      world.peers.at(-1).become("failed");
      await end;
    }
    equal([listeners, world.asked.length], [0, 10], "after five connections");
  },
  async "a viewer whose connection is silent is told soon"(world) {
    let told = "";
    const session = new WHEPSession({}, "http://a.example/whep/r", { onConnect() {}, onReady() { told = "plays"; } });
    const end = session.run(new AbortController().signal).catch(error => { told = error.message; });
    await world.pass(1);
    for (const state of ["connected", "disconnected"]) world.peers[0].become(state);
    await world.pass(2);
    for (const state of ["connected", "disconnected"]) world.peers[0].become(state);
    await world.pass(2.9);
    equal([world.asked, told], [["POST"], "plays"], "it may come back");
    await world.pass(0.2);
    await end;
    equal([world.asked, told], [["POST", "DELETE 1"], "The connection is lost"], "made anew by the player");
  },
  async "the servers that the service names are used before any path is looked for"(world) {
    world.links = '<stun:stun.example:3478>; rel="ice-server", '
      + '<turns:turn.example:443?transport=tcp>; rel="ice-server"; username="mi\\"x,er"; credential="a;b"; credential-type="password"';
    await world.live();
    equal(world.peers[0].configuration, { bundlePolicy: "max-bundle", iceServers: [
      { urls: "stun:stun.example:3478" },
      { urls: "turns:turn.example:443?transport=tcp", username: 'mi"x,er', credential: "a;b" }] }, "configured");
    check(world.peers[0].isConfigured, "before the description");
    equal([iceServers(null), iceServers('</x>; rel="next"')], [[], []], "no servers");
  },
  async "candidates are told together"(world) {
    await world.live();
    equal(world.bodies.slice(1), ["a=ice-ufrag:abcd\r\na=ice-pwd:secret\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n"
      + "a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\na=candidate:2 1 udp 1 192.0.2.2 9 typ relay\r\n"], "one request");
  },
  async "people without a camera or a microphone may publish what they have"() {
    const silent = new Machine({ videoinput: ["cam"] }), blind = new Machine({ audioinput: ["mic"] }), bare = new Machine({});
    const devices = [silent, blind, bare].map(devicesOf);
    equal([await devices[0].open(SIZE, {}), silent.asked, devices[0].shown()], [true, ["cam"], ["cam", "none"]], "no microphone");
    equal([await devices[1].open(SIZE, {}), blind.asked, devices[1].shown()], [true, ["mic"], ["none", "mic"]], "no camera");
    const words = await devices[2].open(SIZE, {}).catch(error => error.message);
    equal([words, devices[2].lists.camera.options.map(option => option.value)],
      ["choose a camera, a screen or a microphone", ["none", "screen"]], "a screen can be chosen");
    devices[2].lists.camera.value = "screen";
    equal([await devices[2].open(SIZE, {}), bare.asked], [true, ["a window"]], "and is opened");
  },
  async "what was refused once can be chosen all the same"() {
    const machine = new Machine({ videoinput: ["cam"], audioinput: ["mic"] }), devices = devicesOf(machine);
    machine.failures = ["NotAllowedError"];
    const name = await devices.open(SIZE, {}).catch(error => error.name);
    equal([name, devices.shown(), devices.lists.camera.options.length], ["NotAllowedError", ["", ""], 3], "nothing is chosen, all can be");
  },
  async "a screen is not captured when the microphone is refused"() {
    const machine = new Machine({ videoinput: ["cam"], audioinput: ["mic"] }), devices = devicesOf(machine);
    await devices.list();
    devices.lists.camera.value = "screen";
    machine.failures = [null, "NotAllowedError"];
    await devices.open(SIZE, {}).catch(() => {});
    equal([machine.asked, machine.stopped], [["a window", "mic"], ["a window"]], "given back");
  },
  async "a phone that opens one camera at a time changes over"() {
    const machine = new Machine({ videoinput: ["front", "back"] }), devices = devicesOf(machine);
    await devices.open(SIZE, {});
    devices.lists.camera.value = "back";
    machine.failures = ["NotReadableError"];
    equal([await devices.open(SIZE, {}), machine.stopped[0], devices.stream.getTracks()[0].name], [true, "front", "back"], "to the other one");
  },
  async "of two choices the later one is sent"() {
    const machine = new Machine({ videoinput: ["one", "two"] }), devices = devicesOf(machine);
    await devices.list();
    let go;
    machine.failures = [new Promise(resolve => { go = resolve; })];
    devices.lists.camera.value = "one";
    const first = devices.open(SIZE, {});
    await devices.list();
    devices.lists.camera.value = "two";
    equal(await devices.open(SIZE, {}), true, "the later one");
    go();
    equal([await first, machine.stopped, devices.stream.getTracks()[0].name], [false, ["one"], "two"], "the first is given back");
  },
  async "a camera that is unplugged is not replaced by another"() {
    const machine = new Machine({ videoinput: ["one", "two"] }), devices = devicesOf(machine);
    await devices.open(SIZE, {});
    machine.devices.videoinput = ["two"];
    await devices.lose(devices.stream.getTracks()[0]);
    equal([devices.shown()[0], devices.stream.getTracks().length], ["none", 0], "until somebody chooses it");
    devices.lists.camera.value = "two";
    equal([await devices.open(SIZE, {}), devices.stream.getTracks()[0].name], [true, "two"], "chosen");
  },
  async "what is switched off in both lists is not sent any more"() {
    const machine = new Machine({ videoinput: ["cam"] }), devices = devicesOf(machine);
    await devices.open(SIZE, {});
    devices.lists.camera.value = "none";
    await devices.open(SIZE, {}).catch(() => {});
    equal([machine.stopped, devices.stream.getTracks()], [["cam"], []], "stopped");
  },
  async "a page that may not listen yet listens after a gesture"() {
    const gestures = [];
    globalThis.addEventListener = (name, body) => gestures.push([name, body]);
    await devicesOf(new Machine({ audioinput: ["mic"] })).open(SIZE, {});
    equal([Sound.last.state, gestures.map(([name]) => name)], ["suspended", ["click", "keydown"]], "it waits");
    gestures[0][1]();
    equal(Sound.last.state, "running", "after a click");
  },
  async "the screen stays on while the page is live"(world) {
    const locks = [];
    const awake = new Awake({ request: async () => {
      const lock = { released: false, release: async () => { lock.released = true; } };
      locks.push(lock);
      return lock;
    } });
    const on = () => locks.filter(lock => !lock.released).length;
    await awake.renew();
    equal(locks.length, 0, "not before");
    await Promise.all([awake.set(true), awake.set(true)]);
    equal(on(), 1, "one");
    // Browsers give it up while another tab is in front.
    for (const lock of locks) lock.released = true;
    await awake.renew();
    equal(on(), 1, "again");
    const renewal = awake.set(false);
    await awake.renew();
    await renewal;
    equal(on(), 0, "not after");
    await new Awake({ request: async () => { throw new Error("the battery is low"); } }).set(true);
  },
  async "the others stay while the service cannot say who is there"() {
    const answer = (status, body) => ({ ok: status < 300, status, json: async () => { if (!body) throw new Error("cut off"); return body; } });
    const participants = [
      { user: "a", streams: [{ stream: "camera", state: "live" }] }, { user: "b", streams: [{ stream: "screen", state: "live" }] },
      { user: "c", streams: [{ stream: "camera", state: "stalled" }] }];
    equal((await publishersIn(answer(200, { participants }))).map(({ user }) => user), ["a"], "those with a picture");
    for (const one of [null, answer(200), answer(429), answer(503)]) equal(await publishersIn(one), null, "not known");
    for (const status of [401, 403, 404]) equal(await publishersIn(answer(status)), [], "nobody");
  },
  "pages are about rooms of any app"() {
    const of = (pathname, search = "", words = "") => placeOf({ pathname, search }, new URLSearchParams(words));
    equal(of("/watch/show"), { room: "show", app: "", path: "/show", query: "" });
    equal(of("/watch/a%20b/", "?auth_key=1-0-0-x&app=my%2Fapp&task=t"),
      { room: "a b", app: "my/app", path: "/my%2Fapp/a%20b", query: "?auth_key=1-0-0-x&task=t" }, "with an app");
    equal(of("/publish/show", "?app=one", "user=a").app, "one", "in the query");
    equal(of("/publish/show", "", "user=a&app=two").path, "/two/show", "behind #");
    equal([pageOf("watch", of("/publish/a%20b")), pageOf("watch", of("/publish/show", "?app=a%26b"))], ["/watch/a%20b", "/watch/show?app=a%26b"]);
    equal(["/live/show.flv", "/live/my%2Fapp/show.flv", "https://x.example/live/shop/show.flv?a=b"].map(appOf), ["", "my/app", "shop"]);
  },
  "who watches one person alone stays who they are"() {
    const own = "#as=bob&post_key=1-0-bob-x&webrtc", alone = withWord(own, "user", "a&b");
    equal(alone, "as=bob&post_key=1-0-bob-x&webrtc=&user=a%26b", "one person");
    equal(withWord(`#${alone}`, "user", null), "as=bob&post_key=1-0-bob-x&webrtc=", "and back");
    equal([withWord("", "user", "a"), withWord("#user=a", "user", null)], ["user=a", ""], "without others");
  },
  async "devices that are busy or slow are waited for, and no others"() {
    const names = ["NotReadableError", "AbortError", "NotAllowedError", "NotFoundError", "OverconstrainedError"];
    equal(names.map(name => mayPass({ name })), [true, true, false, false, false], "by name");
  },
};

/** Runs all tests. @returns {Promise<{passed: number, failed: string[], seed: number}>} */
export async function run() {
  const failed = [], own = { ...new World().globals, AudioContext: null, addEventListener: null };
  const before = Object.fromEntries(Object.keys(own).map(name => [name, globalThis[name]]));
  for (const [name, test] of Object.entries(tests)) {
    const world = new World();
    Object.assign(globalThis, world.globals, { AudioContext: Sound, addEventListener: () => {} });
    try { await test(world); } catch (error) { failed.push(`${name}: ${error.message}`); } finally { Object.assign(globalThis, before); }
  }
  return { passed: Object.keys(tests).length - failed.length, failed, seed: 0 };
}

if (globalThis.process?.argv) {
  const result = await run();
  console.log(result);
  process.exitCode = result.failed.length ? 1 : 0;
}
