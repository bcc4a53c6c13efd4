// Tests of how pages keep their connections over WebRTC, with a browser's connections, requests and time in their places. A browser runs
// them (StudioTests), and so does `node --experimental-default-type=module Tests/Player/publish-tests.js`.
import { WHEPSession } from "../../pages/assets/player-whep.js";
import { iceServers } from "../../pages/assets/player-webrtc.js";
import { WHIPSession } from "../../pages/assets/publish-whip.js";
import { check, equal } from "./checks.js";
import { Stream } from "./machine.js";

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

const tests = {
  async "a server that does not answer any more is asked again soon"(world) {
    await world.live();
    equal([world.asked, world.words.at(-1)], [["POST"], "You are live."], "live");
    world.peers[0].become("disconnected");
    equal(world.words.at(-1), "The server is not responding…", "said");
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
    check(world.words.includes("the reason. Retrying…") && world.words.includes("Failed to fetch. Retrying…"), world.words);
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
    check(world.words.includes("No answer in time. Retrying…"), world.words);
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
    check(world.words.includes("the reason. Retrying…"), world.words);
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
    // Services of others may write it without quotes.
    equal(iceServers('<turn:turn.example>; REL=ice-server; username="a=b"; credential=c; credential-type=password, <stun:s.example>;rel=ice-server'),
      [{ urls: "turn:turn.example", username: "a=b", credential: "c" }, { urls: "stun:s.example" }], "tokens");
  },
  async "candidates are told together"(world) {
    await world.live();
    equal(world.bodies.slice(1), ["a=ice-ufrag:abcd\r\na=ice-pwd:secret\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n"
      + "a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\na=candidate:2 1 udp 1 192.0.2.2 9 typ relay\r\n"], "one request");
  },
};

/** Runs all tests. @returns {Promise<{passed: number, failed: string[], seed: number}>} */
export async function run() {
  const failed = [], own = new World().globals;
  const before = Object.fromEntries(Object.keys(own).map(name => [name, globalThis[name]]));
  for (const [name, test] of Object.entries(tests)) {
    const world = new World();
    Object.assign(globalThis, world.globals);
    try { await test(world); } catch (error) { failed.push(`${name}: ${error.message}`); } finally { Object.assign(globalThis, before); }
  }
  return { passed: Object.keys(tests).length - failed.length, failed, seed: 0 };
}

if (globalThis.process?.argv) {
  const result = await run();
  console.log(result);
  process.exitCode = result.failed.length ? 1 : 0;
}
