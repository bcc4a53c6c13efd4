// Tests of those parts of the console that need no page.
import { diff } from "../../pages/assets/console-diff.js";
import { isOpen, pauseBefore } from "../../pages/assets/chat.js";
import { Api, Problem } from "../../pages/assets/console-api.js";
import { EventReader, backoff, follow, pause, repeat } from "../../pages/assets/console-feed.js";
import { grouped } from "../../pages/assets/console-history.js";
import { contextAt, find, parse, withValues } from "../../pages/assets/console-json.js";
import { isBehind, syntaxIssue } from "../../pages/assets/console-layout-preview.js";
import { arrangementFor, changed, panesOf, written } from "../../pages/assets/console-panes.js";
import { declared, valueOf } from "../../pages/assets/console-param-field.js";
import { contested, stepped } from "../../pages/assets/console-room-params.js";
import { patchFor } from "../../pages/assets/console-room-settings.js";
import { suggestions } from "../../pages/assets/console-schema.js";
import { readMetrics } from "../../pages/assets/console-service.js";
import { ChatPanel } from "../../pages/assets/console-room-chat.js";
import { bytes, decibels, loudness, milliseconds, onAir, plain } from "../../pages/assets/console-words.js";
import { check, equal, randomNumbers } from "../Player/checks.js";

const SCHEMA = {
  type: "object",
  properties: { gap: { type: "number" }, arrangements: { type: "array", items: { $ref: "#/$defs/arrangement" } } },
  $defs: { arrangement: { properties: { algorithm: { enum: ["solo", "grid"], default: "grid" }, when: { type: "object", properties: { screen: { type: "boolean" } } } } } },
};
const CANVAS = { width: 720, height: 1280 };
const PANES = `{"arrangements": [ {"when": {"people": 1}, "algorithm": "solo"},
  {"panes": [ {"slot": 1, "x" : 0, "y": "128px", "width": 0.5, "height": 0.25, "label": false} ], "rest": {"x": 0, "y": 0.5, "width": 1, "height": 0.5, "algorithm": "grid"} } ]}`;
const labels = (text, caret = text.indexOf("|")) => (suggestions(SCHEMA, text.replace("|", ""), caret)?.list ?? []).map(one => one.label);

/** A random JSON value. */
function value(random, depth = 0) {
  const kind = Math.floor(random() * (depth > 3 ? 4 : 6));
  if (kind === 0) return Math.round((random() - 0.5) * 1e6) / 100;
  if (kind === 1) return random() < 0.5;
  if (kind === 2) return null;
  if (kind === 3) return "a\"\\ü\n{}[],:".slice(Math.floor(random() * 8));
  const parts = Array.from({ length: Math.floor(random() * 4) }, () => value(random, depth + 1));
  return kind === 4 ? parts : Object.fromEntries(parts.map((part, index) => [`k${index}`, part]));
}

/** Shows or hides the page. */
function show(isShown) {
  Object.defineProperty(document, "hidden", { get: () => !isShown, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
const turn = (time = 0) => new Promise(resolve => setTimeout(resolve, time));

const TESTS = {
  parsesWhatTheLanguageParses(random) {
    for (let round = 0; round < 500; round++) {
      const written = value(random), text = JSON.stringify(written, null, round % 3);
      equal(parse(text)?.value, written, text);
      equal(parse(`${text} x`), null, "something behind it");
    }
  },
  refusesWhatIsNotJSON() {
    for (const text of ["", "{", "[1,]", "{\"a\":1,}", "{a:1}", "01", "\"a\nb\"", "[1 2]", "{\"a\" 1}", "[".repeat(100) + "]".repeat(100)]) equal(parse(text), null, text);
  },
  knowsWhereThingsAre() {
    const node = find(parse(PANES), "arrangements", 1, "panes", 0, "y");
    equal(PANES.slice(node.start, node.end), "\"128px\"");
    equal(find(parse(PANES), "arrangements", 7, "panes"), null);
  },
  changesValuesAndNothingElse() {
    const text = withValues(PANES, find(parse(PANES), "arrangements", 1, "panes", 0), { x: 0.1, width: 0.333 });
    equal(text, PANES.replace("\"x\" : 0,", "\"x\" : 0.1,").replace("\"width\": 0.5", "\"width\": 0.333"));
  },
  findsTheArrangementThatIsUsed() {
    const template = parse(PANES).value;
    equal([1, 2].map(people => arrangementFor(template, people, CANVAS)), [0, 1]);
    equal(arrangementFor({ arrangements: [{ when: { canvas: "landscape" } }, { when: { people: { min: 4 } } }] }, 3, CANVAS), -1);
    equal(arrangementFor({ arrangements: [{ when: { screen: true } }, { when: { hosts: 1, guests: { max: 2 } } }] }, 3, CANVAS), 1);
  },
  readsPanesInSharesAndPixels() {
    const [pane, rest] = panesOf(PANES, 2, CANVAS);
    equal([pane.x, pane.y, pane.width, pane.height, pane.path], [0, 0.1, 0.5, 0.25, ["arrangements", 1, "panes", 0]]);
    equal(rest.name, "Rest");
    equal(written({ ...pane, y: 0.1004, x: 1 / 3 }, CANVAS), { x: 0.333, y: "128px", width: 0.5, height: 0.25 });
    equal(panesOf("{", 2, CANVAS), []);
  },
  movesWithinTheCanvas(random) {
    for (let round = 0; round < 500; round++) {
      const pane = { x: random() / 2, y: random() / 2, width: 0.02 + random() / 2.1, height: 0.02 + random() / 2.1 };
      const next = changed(pane, random() * 4 - 2, random() * 4 - 2, round % 2 === 0, { x: [0, 0.5, 1], y: [0, 0.5, 1] });
      check(next.x >= 0 && next.y >= 0 && next.x + next.width <= 1 + 1e-9 && next.y + next.height <= 1 + 1e-9 && next.width >= 0.0199 && next.height >= 0.0199, JSON.stringify([pane, next]));
    }
    equal(changed({ x: 0.1, y: 0.1, width: 0.2, height: 0.2 }, 0.195, 0, false, { x: [0.5], y: [] }).x.toFixed(6), "0.300000", "the far edge sticks");
  },
  suggestsKeysAndValues() {
    equal(labels("{|"), ["gap", "arrangements"]);
    equal(labels("{\"gap\": 1, |"), ["arrangements"], "a key that is there");
    equal(labels("{\"arrangements\": [ { \"al|"), ["algorithm"]);
    equal(labels("{\"arrangements\": [ {}, { \"algorithm\": \"|\" } ]}"), ["solo", "grid"]);
    equal(labels("{\"arrangements\": [ { \"when\": { \"screen\": |"), ["true", "false"]);
    equal(labels("{\"gap\" |"), [], "a key without its colon");
    equal(contextAt("", 0), null);
  },
  replacesTheWordThatWasBegun() {
    const text = "{\"arrangements\": [ { \"algorithm\": \"so\" } ]}", caret = text.indexOf("so") + 2;
    const { start, end, list } = suggestions(SCHEMA, text, caret);
    equal(text.slice(0, start) + list[0].text + text.slice(end), text.replace("\"so\"", "\"solo\""));
  },
  comparesLines() {
    const kinds = (one, other) => diff(one, other).map(line => line.kind[0] + line.text).join(" ");
    equal(kinds("a\nb\nc", "a\nx\nc"), "sa rb ax sc");
    equal(kinds("a", "a"), "sa");
    equal(kinds("a\nb", "b\na"), "ra sb aa");
  },
  buildsBothTextsFromTheirDifference(random) {
    const text = () => Array.from({ length: Math.floor(random() * 12) + 1 }, () => "abc"[Math.floor(random() * 3)]).join("\n");
    for (let round = 0; round < 300; round++) {
      const [one, other] = [text(), text()], lines = diff(one, other), without = kind => lines.filter(line => line.kind !== kind).map(line => line.text).join("\n");
      equal([without("added"), without("removed")], [one, other]);
    }
  },
  cutsEventsOfAnyPieces(random) {
    const text = ": hello\n\nid: 1\nevent: room\ndata: {\"a\":1}\n\nid: 2\nevent: task.switched\r\ndata: x\ndata: y\r\n\r\n";
    for (let round = 0; round < 100; round++) {
      const found = [], reader = new EventReader(event => found.push(event));
      for (let at = 0; at < text.length;) { const size = 1 + Math.floor(random() * 20); reader.push(text.slice(at, at + size)); at += size; }
      equal(found, [{ name: "room", id: "1", data: "{\"a\":1}" }, { name: "task.switched", id: "2", data: "x\ny" }]);
    }
  },
  waitsLongerEachTime() {
    equal([0, 1, 4, 40].map(attempt => backoff(attempt, 0.5)), [500, 1000, 8000, 8000]);
    check(backoff(0, 0) === 375 && backoff(0, 1) === 625, "a quarter more or less");
  },
  async leavesNothingOfAPause() {
    let listeners = 0, abort;
    const signal = { addEventListener: (_, body) => { listeners++; abort = body; }, removeEventListener: () => { listeners--; } };
    await pause(1, signal);
    equal(listeners, 0, "after its time");
    const ended = pause(1e6, signal);
    abort();
    await ended;
    equal(listeners, 0, "after an abort");
  },
  async closingAViewIsNoFault() {
    const view = new AbortController();
    await repeat(async signal => {
      view.abort(new DOMException("The view is closed", "AbortError"));
      throw signal.reason;
    }, 1000, view.signal);
  },
  async readsOnAfterAFault() {
    const view = new AbortController(), before = globalThis.reportError, reported = [];
    const fault = new TypeError("Not as expected"), ends = [fault, new Problem(503, {}), fault];
    globalThis.reportError = error => reported.push(error);
    try {
      await repeat(async () => {
        const end = ends.shift();
        if (!end) return view.abort();
        throw end;
      }, 1, view.signal);
      equal([ends.length, reported.length, reported.every(one => one === fault)], [0, 2, true], "read and reported");
    } finally { globalThis.reportError = before; }
  },
  async aProxysPageIsNoAnswer() {
    const before = globalThis.fetch, page = { headers: { "Content-Type": "text/html; charset=utf-8" } };
    globalThis.fetch = async () => new Response("<!doctype html>", page);
    try {
      const found = await Object.assign(new Api(), { token: "" }).get("/v1/rooms").catch(error => error);
      equal([found instanceof Problem, found.isLost, found.title], [true, false, "The service did not answer"]);
    } finally { globalThis.fetch = before; }
  },
  async readsNothingWhileNobodySeesIt() {
    const view = new AbortController();
    let reads = 0;
    show(false);
    const end = repeat(async () => { reads++; }, 1, view.signal);
    await turn(50);
    equal(reads, 1, "once");
    show(true);
    while (reads < 3) await turn();
    show(false);
    await turn(5);
    const before = reads;
    await turn(50);
    equal(reads, before, "out of sight");
    view.abort();
    await end;
    show(true);
  },
  async givesUpConnectionsThatNobodySees() {
    const view = new AbortController(), before = globalThis.fetch, asked = [], states = [];
    globalThis.fetch = async (_, { headers, signal }) => {
      asked.push([headers["Last-Event-ID"] ?? "", signal]);
      return new Response(new ReadableStream({ start(controller) {
        controller.enqueue(new TextEncoder().encode(`id: ${asked.length}\nevent: room\ndata: {}\n\n`));
        signal.addEventListener("abort", () => controller.error(signal.reason));
      } }));
    };
    const open = () => asked.filter(([, signal]) => !signal.aborted).length;
    let events = 0;
    try {
      const api = Object.assign(new Api(), { token: "", onReach() {} });
      const end = follow(api, "/x", { onEvent: () => { events++; }, onState: state => states.push(state), signal: view.signal, unseen: 1 });
      while (events < 1) await turn();
      show(false);
      while (open()) await turn();
      await turn(50);
      equal([asked.length, states], [1, ["live"]], "nothing is asked, and nothing is lost");
      show(true);
      while (events < 2) await turn();
      equal([open(), asked[1][0], states], [1, "1", ["live", "live"]], "it goes on where it was");
      view.abort();
      await end;
    } finally {
      globalThis.fetch = before;
      show(true);
    }
  },
  async asksOnceForAToken() {
    let asked = 0, answer;
    const api = new Api();
    Object.assign(api, { token: "old", onDenied: () => { asked++; return new Promise(resolve => { answer = resolve; }); } });
    const asks = [api.ask(null, "old", true), api.ask(null, "old", false)];
    await null;
    api.token = "new";
    answer(true);
    equal([await Promise.all(asks), asked], [[true, true], 1], "for all who wait");
    equal([await api.ask(null, "old", true), asked], [true, 1], "not for an answer to the old one");
    const again = api.ask(null, "new", true);
    answer(false);
    equal([await again, asked], [false, 2], "for the new one");
    equal([await api.ask(null, "new", true), asked], [false, 2], "not again for what the page reads");
    const wish = api.ask(null, "new", false);
    answer(true);
    equal([await wish, asked], [true, 3], "but for what somebody does");
  },
  requestsStayBelowThePathOfAProxy() {
    const api = Object.assign(new Api("/live-rooms"), { app: "shop" });
    equal([api.url("/v1/rooms", { limit: 3 }), api.url("/metrics"), new Api().url("/metrics")],
      ["/live-rooms/v1/rooms?app=shop&limit=3", "/live-rooms/metrics", "/metrics"]);
  },
  async savesNoRefusalAsAFile() {
    const api = Object.assign(new Api(), { token: "t" }), before = globalThis.fetch;
    const answers = [new Response("film"), new Response('{"title": "The token lacks a scope"}', { status: 403 }), null];
    globalThis.fetch = async () => answers.shift() ?? Promise.reject(new TypeError("Failed to fetch"));
    try {
      equal(await (await api.file("/x")).text(), "film");
      const words = [];
      for (let round = 0; round < 2; round++) await api.file("/x").catch(problem => words.push([problem.status, problem.title]));
      equal(words, [[403, "The token lacks a scope"], [0, "The file could not be loaded"]]);
    } finally { globalThis.fetch = before; }
  },
  async knowsWhetherThereIsAChannel() {
    const answer = (status, type) => new Response(type ? JSON.stringify({ type: `urn:mixorchestrator:problem:${type}` }) : "no JSON", { status });
    const found = [answer(200), answer(404, "room-not-found"), answer(404, "channel-off"), answer(404), answer(401), answer(503), answer(429), null].map(isOpen);
    equal(await Promise.all(found), [true, true, false, false, false, null, null, null]);
  },
  viewersOfAChannelComeBackOneByOne() {
    equal([0, 1, 3, 4, 2000].map(attempt => pauseBefore(attempt, 0.5)), [5000, 10000, 40000, 60000, 60000]);
    check(pauseBefore(0, 0) === 3750 && pauseBefore(0, 1) === 6250, "a quarter more or less");
  },
  readsMetrics() {
    const found = readMetrics("# HELP a b\na 1\nb{x=\"1\",y=\"p\\\"q\"} 2.5e3\n");
    equal([found.get("a")[0].value, found.get("b")[0]], [1, { labels: { x: "1", y: "p\\\"q" }, value: 2500 }]);
  },
  groupsTheTimelineByCause() {
    const entry = (number, ...causes) => ({ number, causes });
    equal(grouped([entry(4, "b"), entry(3, "a"), entry(2, "b"), entry(1)]).map(group => group.entries.map(one => one.number)), [[2, 4], [3], [1]]);
  },
  parametersAreReadFromTheText() {
    const text = `{"params": {"home": {"type": "text", "default": "Ada", "title": "Left"}, "score": {"type": "number", "default": 2, "max": 9},
      "odd": {"type": "colour"}, "worse": 3}, "arrangements": []}`;
    equal(declared(text), [
      { name: "home", type: "text", title: "Left", default: "Ada", value: "Ada", maxLength: 256 },
      { name: "score", type: "number", default: 2, value: 2, min: 0, max: 9 },
    ], "those with a type");
    for (const other of ["", "{", "null", "[]", '{"params": []}', '{"params": null}', "3"]) equal(declared(other), [], other);
  },
  placesBehindTheTextAreThoseOfTriedValues() {
    equal([[1, 3], [1, 4], [2, 1]].map(([line, column]) => isBehind("{ü", { line, column })), [false, false, true], "one line, ü has two bytes");
    equal([[1, 40], [2, 2], [2, 3]].map(([line, column]) => isBehind("{\n}", { line, column })), [false, false, true], "two lines");
  },
  changesOnlyWhatWasChanged() {
    equal(patchFor({ layout: "grid", host: "", bypass: "never" }), { layout: "grid", host: null, policy: { bypass: "never" } });
    equal(patchFor({ canvas: "1280x720@30" }), { canvas: { width: 1280, height: 720, fps: 30, follows: null } });
    equal(patchFor({ canvas: "host" }), { canvas: "host" });
  },
  readsValuesOfParameters() {
    const score = { name: "score", type: "number", min: 0, max: 99, default: 0, value: 3 };
    equal([valueOf(score, "4"), valueOf(score, "2.5"), valueOf(score, ""), valueOf({ type: "color" }, "#a1b2c3"), valueOf({ type: "visible" }, false), valueOf({ type: "text" }, "")],
      [4, 2.5, null, "#A1B2C3", false, ""]);
    equal([stepped(score, 3, 1), stepped(score, 99, 1), stepped(score, 0, -1), stepped({ min: 0, max: 1 }, 0.2, 1)], [4, 99, 0, 0.3]);
    const other = [{ name: "title", value: "a" }];
    equal(contested({ score: 4 }, [score, ...other], [score, { name: "title", value: "b" }]), [], "somebody else's value stays");
    equal(contested({ score: 4 }, [score], [{ ...score, value: 7 }]), ["score"]);
    equal(contested({ score: 4 }, [score], other), ["score"], "another layout");
  },
  suggestsWhatMayAlsoBeOfAParameter() {
    const schema = { properties: { gap: { type: ["number", "object"], $ref: "#/$defs/orParam" }, shown: { type: ["boolean", "object"], $ref: "#/$defs/orParam" } }, $defs: { orParam: { properties: { param: { type: "string" } } } } };
    equal(suggestions(schema, "{\"shown\": }", 10).list.map(one => one.label), ["true", "false"]);
    equal(suggestions(schema, "{}", 1).list.map(one => one.text), ["\"gap\": ", "\"shown\": true"]);
  },
  findsThePlaceOfASyntaxError() {
    equal(syntaxIssue({ detail: "the body is not JSON: found '}' at line 2, column 2; expected valid JSON, here a value" }), { path: "$", found: "'}'", expected: "valid JSON, here a value", line: 2, column: 2 });
    equal(syntaxIssue({ detail: "found 'x' at line 1, column 13; expected y" }).column, 1, "without what was put before it");
  },
  showsLevelsAsAShareOfSixtyDecibels() {
    equal([loudness(undefined), loudness(-100), loudness(-60), loudness(-30), loudness(0)], [0, 0, 0, 0.5, 1]);
    equal([decibels({}), decibels({ peak: -100, rms: -100 }), decibels({ peak: -3, rms: -12.25 })], ["no audio", "silent", "peak -3.0 dB, RMS -12.3 dB"]);
  },
  keepsTheLatestCommentsOnce() {
    const chat = new ChatPanel({ draw() { /* nothing to see */ } });
    for (let id = 1; id <= 100; id++) for (let again = 0; again < 2; again++) chat.take("comment", { id, text: "x", sentAt: id });
    equal([chat.messages.length, chat.messages[0].id, chat.messages.at(-1).id], [60, 41, 100]);
    chat.take("deleted", { id: 100 });
    chat.take("like", { id: 101, count: 3 });
    equal(chat.messages.at(-1).id, 99);
  },
  saysItInWords() {
    equal(plain("stream.published bob/camera"), "bob’s camera started");
    equal(plain("on air: bypass → mix, 330.123 ms after the event, video gap 66.381372 ms"), "bypass → mix, 330 ms after the event, video gap 66.4 ms");
    equal([milliseconds(undefined), milliseconds(45563), bytes(0), bytes(1500), bytes(19300000)], ["–", "45.6 s", "0 B", "1.5 kB", "19.3 MB"]);
    equal(onAir({ outputs: [], task: { state: "running", onAir: "mix", scene: { panes: [{ user: "alice" }, { user: "bob" }] } } }), "Viewers get a mix of alice and bob.");
    equal(onAir({ outputs: [] }), "No program: the room has no outputs.");
  },
};

/** Runs all tests. @param {number} [seed] @returns {Promise<{ passed: number, failed: string[], seed: number }>} */
export async function run(seed = Math.floor(Math.random() * 2 ** 31)) {
  const failed = [];
  let passed = 0;
  for (const [name, test] of Object.entries(TESTS)) {
    try { await test(randomNumbers(seed)); passed++; } catch (error) { failed.push(`${name}: ${error.message}`); }
  }
  return { passed, failed, seed };
}
