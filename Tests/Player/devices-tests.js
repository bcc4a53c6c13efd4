// Tests of the publish page's parts that open devices, and of what both pages make of an address and of answers. A browser runs them
// (StudioTests), and so does `node --experimental-default-type=module Tests/Player/devices-tests.js`.
import { appOf, pageOf, placeOf, rootOf, withWord } from "../../pages/assets/page-room.js";
import { Awake } from "../../pages/assets/publish-awake.js";
import { Devices, mayPass } from "../../pages/assets/publish-devices.js";
import { onAirIn, publishersIn } from "../../pages/assets/publish-people.js";
import { equal } from "./checks.js";
import { List, Machine, Sound, Stream } from "./machine.js";

/** A page's devices on a machine. */
function devicesOf(machine) {
  const lists = { camera: new List(), microphone: new List() };
  return Object.assign(new Devices(lists, () => {}, machine), { shown: () => [lists.camera.value, lists.microphone.value] });
}
const SIZE = { width: 1, height: 1 };

/** What stands in the places of a browser's. */
const globals = () => ({
  MediaStream: Stream, AudioContext: Sound, setTimeout: () => {}, addEventListener: () => {},
  Option: class { constructor(text, value) { Object.assign(this, { text, value }); } },
});

const tests = {
  async "people without a camera or a microphone may publish what they have"() {
    const silent = new Machine({ videoinput: ["cam"] }), blind = new Machine({ audioinput: ["mic"] }), bare = new Machine({});
    const devices = [silent, blind, bare].map(devicesOf);
    equal([await devices[0].open(SIZE, {}), silent.asked, devices[0].shown()], [true, ["cam"], ["cam", "none"]], "no microphone");
    equal([await devices[1].open(SIZE, {}), blind.asked, devices[1].shown()], [true, ["mic"], ["none", "mic"]], "no camera");
    const name = await devices[2].open(SIZE, {}).catch(error => error.name);
    equal([name, devices[2].lists.camera.options.map(option => option.value)], ["NotFoundError", ["none", "screen"]], "a screen can be chosen");
    devices[2].lists.camera.value = "screen";
    equal([await devices[2].open(SIZE, {}), bare.asked.at(-1)], [true, "a window"], "and is opened");
  },
  async "a browser that names no device before it is asked is asked"() {
    const machine = new Machine({ videoinput: ["cam"], audioinput: ["mic"] }), devices = devicesOf(machine);
    machine.enumerateDevices = async () => [];
    const end = devices.open(SIZE, {});
    delete machine.enumerateDevices;
    equal([await end, machine.asked, devices.shown()], [true, ["cam and mic"], ["cam", "mic"]], "for both");
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
    const words = await devices.open(SIZE, {}).catch(error => error.message);
    equal([words, machine.stopped, devices.stream.getTracks()], ["choose a camera, a screen or a microphone", ["cam"], []], "stopped");
  },
  async "a page that may not listen yet listens after a gesture"() {
    const gestures = [];
    globalThis.addEventListener = (name, body) => gestures.push([name, body]);
    await devicesOf(new Machine({ audioinput: ["mic"] })).open(SIZE, {});
    equal([Sound.last.state, gestures.map(([name]) => name)], ["suspended", ["click", "keydown"]], "it waits");
    gestures[0][1]();
    equal(Sound.last.state, "running", "after a click");
  },
  async "the screen stays on while the page is live"() {
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
    equal(await onAirIn(answer(200, { state: { onAir: { people: ["a", "b"] } } })), [{ user: "a" }, { user: "b" }], "who is on air");
    for (const one of [null, answer(200), answer(429), answer(503)]) equal(await onAirIn(one), null, "not known");
    for (const status of [401, 403, 404]) equal(await onAirIn(answer(status)), [], "nobody");
  },
  "pages are about rooms of any app"() {
    const of = (pathname, search = "", words = "") => placeOf({ pathname, search }, new URLSearchParams(words));
    equal(of("/watch/show"), { root: "", room: "show", app: "", path: "/show", query: "" });
    equal(of("/watch/a%20b/", "?auth_key=1-0-0-x&app=my%2Fapp&task=t"),
      { root: "", room: "a b", app: "my/app", path: "/my%2Fapp/a%20b", query: "?auth_key=1-0-0-x&task=t" }, "with an app");
    equal(of("/publish/show", "?app=one", "user=a").app, "one", "in the query");
    equal(of("/publish/show", "", "user=a&app=two").path, "/two/show", "behind #");
    equal([pageOf("watch", of("/publish/a%20b")), pageOf("watch", of("/publish/show", "?app=a%26b"))], ["/watch/a%20b", "/watch/show?app=a%26b"]);
    equal(["/live/show.flv", "/live/my%2Fapp/show.flv", "https://x.example/live/shop/show.flv?a=b"].map(appOf), ["", "my/app", "shop"]);
  },
  "a proxy may have the service below a path"() {
    const place = placeOf({ pathname: "/our/live%20rooms/watch/a%20b/", search: "?app=shop" });
    equal(place, { root: "/our/live%20rooms", room: "a b", app: "shop", path: "/shop/a%20b", query: "" });
    equal(pageOf("publish", place), "/our/live%20rooms/publish/a%20b?app=shop");
    equal(["/console", "/live-rooms/console", "/live-rooms/console/"].map(path => rootOf(path, 1)), ["", "/live-rooms", "/live-rooms"]);
    // Never the name of another host.
    equal(["//watch/show", "//other.example/watch/show"].map(path => rootOf(path, 2)), ["", "/other.example"]);
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
  const failed = [], before = Object.fromEntries(Object.keys(globals()).map(name => [name, globalThis[name]]));
  for (const [name, test] of Object.entries(tests)) {
    Object.assign(globalThis, globals());
    try { await test(); } catch (error) { failed.push(`${name}: ${error.message}`); } finally { Object.assign(globalThis, before); }
  }
  return { passed: Object.keys(tests).length - failed.length, failed, seed: 0 };
}

if (globalThis.process?.argv) {
  const result = await run();
  console.log(result);
  process.exitCode = result.failed.length ? 1 : 0;
}
