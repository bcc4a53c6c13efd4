// Tests of those parts of the console that draw, without a service.
import { Problem } from "../../pages/assets/console-api.js";
import { h, render } from "../../pages/assets/console-dom.js";
import { HistoryPanels } from "../../pages/assets/console-history.js";
import { LayoutEditorView } from "../../pages/assets/console-layout-editor.js";
import { LayoutsView } from "../../pages/assets/console-layouts.js";
import { RoomsView } from "../../pages/assets/console-rooms.js";
import { CodeEditor } from "../../pages/assets/console-text.js";
import { pill, problemBox } from "../../pages/assets/console-ui.js";
import { WebhookView } from "../../pages/assets/console-webhook.js";
import { check, equal } from "../Player/checks.js";
import { json, place, runAll, Service, turn, until, write } from "./service.js";

const TESTS = {
  aMessageTakesTheFocusAndTheTextOfNoOther() {
    const root = place(), titles = () => [...root.querySelectorAll(".problem strong")].map(one => one.textContent);
    const draw = (...problems) => render(root, h("div", null, "head"),
      problems.map(title => problemBox(new Problem(503, { title }))),
      h("div", { class: "work" }, h("span", null, "name"), problems.length ? pill("lost") : null, h("input", null)),
      h("div", null, "history"));
    draw();
    const input = root.querySelector("input"), work = root.querySelector(".work");
    input.value = "rtmp://a.example/live";
    input.focus();
    for (const problems of [["one"], ["one", "two"], ["two"], []]) {
      draw(...problems);
      equal(titles(), problems, "shown");
      const isSame = [root.querySelector("input") === input, root.querySelector(".work") === work];
      equal([...isSame, input.value, document.activeElement === input], [true, true, "rtmp://a.example/live", true],
        `beside ${problems.length} problems`);
    }
    equal(root.textContent, "headnamehistory", "at the end");
    root.remove();
  },
  anElementThatIsKeptKeepsWhatItSetItself() {
    const root = place(), draw = source => render(root, h("div", { src: source, keep: true }));
    draw("a");
    const kept = root.firstChild;
    kept.setAttribute("tabindex", "0");
    kept.append("its own");
    draw("b");
    equal([kept === root.firstChild, kept.getAttribute("src")], [true, "b"], "the page's");
    equal([kept.getAttribute("tabindex"), kept.textContent], ["0", "its own"], "its own");
    root.remove();
  },
  async aRoomThatIsCreatedLaterIsFollowed() {
    const service = new Service();
    const count = path => service.asked.filter(one => one.endsWith(path)).length;
    const followed = () => [count("/feed"), count("/channel")];
    service.isThere = false;
    await service.open(async (view, root) => {
      await until(() => root.textContent.includes("There is no such room") && !followed().includes(0), "the refusals");
      await turn(10);
      service.isThere = true;
      for (let round = 0; round < 2; round++) {
        await view.read();
        await turn(10);
        const words = ["no longer exists", "Comments"].map(one => root.textContent.includes(one));
        equal([followed(), words], [[2, 2], [false, true]], "followed, and shown");
      }
    });
  },
  async aLateAnswerDoesNotReplaceANewerRoom() {
    const service = new Service();
    const param = value => ({ layout: "grid", params: [{ name: "title", type: "text", default: "", value, maxLength: 80 }] });
    await service.open(async (view, root) => {
      await until(() => root.textContent.includes("0 viewers"), "the room");
      await turn(20);
      /** Begins two reads and answers the later one first. @param {() => Promise<any>} read @param {(number: number) => any} body */
      const swap = async (path, read, body) => {
        const held = [];
        service.answer = (asked, options) => asked === path && (options.method ?? "GET") === "GET"
          ? new Promise(resolve => held.push(resolve)) : Service.prototype.answer.call(service, asked, options);
        const reads = [read(), read()];
        for (const number of [1, 0]) {
          held[number](json(body(number + 1)));
          await reads[number];
        }
        delete service.answer;
      };
      await swap("/v1/rooms/show", () => view.read(), number => ({ ...service.room, viewers: number }));
      check(root.textContent.includes("2 viewers"), "the room");
      await swap("/v1/rooms/show/params", () => view.params.read(), number => param(`title ${number}`));
      view.draw();
      equal(root.querySelector("#param-title").value, "title 2", "the layout's values");
    });
  },
  async aLateListIsNotShownUnderAnotherFilter() {
    const root = place(), held = [], { room } = new Service();
    const get = (path, { query }) => new Promise(resolve => held.push({ state: query.state, resolve }));
    const view = new RoomsView({ api: { get }, root }), choice = () => root.querySelector("#room-state");
    try {
      view.open();
      await until(() => held.length === 1, "the first request");
      choice().value = "closed";
      choice().dispatchEvent(new Event("change"));
      await until(() => held.length === 2, "the filter's request");
      for (const number of [1, 0]) {
        const { state, resolve } = held[number];
        resolve({ data: { rooms: [{ ...room, id: state || "every" }] } });
        await turn(10);
        equal([...root.querySelectorAll(".card-name")].map(one => one.textContent), ["closed"], `after answer ${number}`);
      }
    } finally {
      view.close();
      root.remove();
    }
  },
  async lateDeliveriesAreNotShownUnderAnotherFilter() {
    const root = place(), held = [], { setTimeout } = globalThis, time = "2026-01-01T00:00:00Z";
    const hook = { id: "h", kind: "own", url: "http://receiver.example/", enabled: true, createdAt: time, delivery: { state: "active", waiting: 0, dead: 1 } };
    const get = async (path, { query }) => {
      if (query) return new Promise(resolve => held.push({ state: query.state, resolve }));
      return { data: hook, etag: '"1"' };
    };
    const view = new WebhookView({ api: { get }, root, name: "h" }), choice = () => root.querySelector("#delivery-state");
    /** Answers a request with a message whose event is the filter's name, and returns the events that are shown. */
    const answer = async number => {
      const { state, resolve } = held[number], event = state || "every";
      resolve({ data: { deliveries: [{ id: event, event, state: "dead", attempts: 1, queuedAt: time }] } });
      await turn(10);
      return [...root.querySelectorAll("th[scope=row]")].map(one => one.textContent);
    };
    // The reads follow each other a hundred times as fast.
    globalThis.setTimeout = (body, time) => setTimeout(body, time / 100);
    try {
      view.open();
      await until(() => held.length === 1, "the first request");
      equal(await answer(0), ["every"], "at first");
      await until(() => held.length === 2, "the next request");
      choice().value = "dead";
      choice().dispatchEvent(new Event("change"));
      await until(() => held.length === 3, "the filter's request");
      equal([await answer(2), await answer(1)], [["dead"], ["dead"]], "with the filter");
    } finally {
      view.close();
      globalThis.setTimeout = setTimeout;
      root.remove();
    }
  },
  async theTimelineShowsTheCauseThatWasChosenLast() {
    const held = [], root = place();
    const get = path => path.endsWith("/switches") ? Promise.resolve({ data: { switches: [] } }) : new Promise(resolve => held.push(resolve));
    const panels = new HistoryPanels({ api: { get }, room: {}, task: "/task", problems: new Map(), draw() { /* below */ } });
    const reads = [panels.read(), panels.read()];
    for (const number of [1, 0]) {
      const entry = { number: 1, kind: "decision", message: ["all", "chosen"][number], causes: [], at: "2026-01-01T00:00:00Z" };
      held[number]({ data: { entries: [entry] } });
      await reads[number];
    }
    render(root, panels.draw());
    equal(root.querySelector(".timeline strong").textContent, "chosen", "the entry");
    root.remove();
  },
  async aLateAnswerDoesNotReplaceTheLayoutThatWasTakenOnAir() {
    const root = place(), { setTimeout } = globalThis, held = [];
    const layout = version => ({ state: "good", version, rooms: [] });
    const api = {
      root: "",
      async get(path) {
        if (path === "/v1/layouts/mine") return new Promise(resolve => held.push(resolve));
        return { data: { versions: [] } };
      },
      async call(method) {
        if (method === "PUT") return { data: layout(2), etag: '"2"' };
        throw new Problem(503, { title: "No preview" });
      },
    };
    const view = new LayoutEditorView({ api, root, name: "mine" });
    const heard = () => document.getElementById("announcer").textContent;
    const hasBanner = () => root.textContent.includes("Someone else took another version");
    /** Answers the current read with a version, and waits for the next one. */
    const answer = async (number, version) => {
      await until(() => held.length > number, `read ${number}`);
      held[number]({ data: layout(version), etag: `"${version}"`, text: `{"template": {"gap": ${version}}}` });
      await until(() => held.length > number + 1, `read ${number + 1}`);
    };
    // The reads follow each other a hundred times as fast.
    globalThis.setTimeout = (body, time) => setTimeout(body, time / 100);
    try {
      view.open();
      await answer(0, 1);
      write(view.editor.area, '{"gap": 2}');
      [...root.querySelectorAll("button")].find(one => one.textContent === "Take on air").click();
      await until(() => heard() === "Version 2 is on air.", "taken on air");
      await answer(1, 1);
      equal([view.editor.text, view.base.etag, heard()], ['{"gap": 2}', '"2"', "Version 2 is on air."], "a late answer");
      write(view.editor.area, '{"gap": 4}');
      await answer(2, 3);
      check(hasBanner(), "someone else's version");
      await answer(3, 2);
      equal([view.editor.text, hasBanner()], ['{"gap": 4}', false], "the version is in use again");
    } finally {
      view.close();
      globalThis.setTimeout = setTimeout;
      root.remove();
    }
  },
  async recordingsThatCannotBeReadAreNotSaidToBeNone() {
    const service = new Service(), refusal = { title: "The recordings cannot be read" };
    service.answer = (path, options) => path.endsWith("/recordings") && refusal.title
      ? new Response(JSON.stringify(refusal), { status: 503, headers: { "Content-Type": "application/problem+json" } })
      : Service.prototype.answer.call(service, path, options);
    await service.open(async (view, root) => {
      const shows = text => root.textContent.includes(text);
      await until(() => shows("Recording") && shows(refusal.title), "the refusal");
      check(!shows("No recordings yet."), "they are not known");
      refusal.title = "";
      await view.files.read();
      equal([shows("No recordings yet."), shows("cannot be read")], [true, false], "read");
    });
  },
  aCompositionKeepsItsKeys() {
    const root = place(), editor = new CodeEditor({ id: "text", label: "Text", schema: () => null, onChange() { /* nothing to do */ } });
    root.append(editor.element);
    editor.load("{");
    editor.area.setSelectionRange(1, 1);
    const press = how => {
      const event = new KeyboardEvent("keydown", { key: "Enter", cancelable: true, ...how });
      editor.area.dispatchEvent(event);
      return [event.defaultPrevented, editor.text];
    };
    equal(press({ isComposing: true }), [false, "{"], "within a composition");
    equal(press({ keyCode: 229 }), [false, "{"], "at its end");
    equal(press({}), [true, "{\n    "], "otherwise");
    root.remove();
  },
  async eachLayoutsPictureIsRequestedOnce() {
    const root = place(), asked = [], count = 250;
    const layouts = Array.from({ length: count }, (_, index) => ({ name: `l${index}`, version: 1, state: "good", rooms: [] }));
    const api = {
      get: async () => ({ data: { layouts } }),
      async call(method, path) {
        asked.push(path);
        await turn();
        return { text: "<svg/>" };
      },
    };
    const view = new LayoutsView({ api, root });
    try {
      view.open();
      await until(() => root.querySelectorAll(".shot img").length === count, "the pictures");
      view.draw();
      equal([asked.length, new Set(asked).size], [count, count], "requests");
    } finally {
      view.close();
      root.remove();
    }
  },
  async aLayoutsPictureThatFailedIsRequestedAgain() {
    const root = place(), { setTimeout } = globalThis;
    let asked = 0;
    const api = {
      get: async () => ({ data: { layouts: [{ name: "grid", version: 1, state: "good", rooms: [] }] } }),
      async call() {
        if (++asked === 1) throw new Problem(503, { title: "Starting" });
        return { text: "<svg/>" };
      },
    };
    const view = new LayoutsView({ api, root });
    // The reads follow each other a hundred times as fast.
    globalThis.setTimeout = (body, time) => setTimeout(body, time / 100);
    try {
      view.open();
      await until(() => root.querySelector(".shot img"), "the picture");
      equal(asked, 2, "requests");
    } finally {
      view.close();
      globalThis.setTimeout = setTimeout;
      root.remove();
    }
  },
  async theLayoutsToChooseFromAreThoseOfNow() {
    const service = new Service(), { setTimeout } = globalThis;
    const read = () => service.asked.filter(one => one === "GET /v1/layouts").length;
    // A hundred seconds pass within one.
    globalThis.setTimeout = (body, time) => setTimeout(body, time / 100);
    service.layouts = null;
    try {
      await service.open(async (_, root) => {
        const src = () => decodeURIComponent(root.querySelector(".layout img")?.getAttribute("src") ?? "");
        await until(() => root.querySelector("#settings") && read(), "the refusal");
        for (const version of [1, 2]) {
          service.layouts = [{ name: "grid", version, state: "good", rooms: [] }];
          await until(() => src().includes(`<svg>${version}</svg>`), `version ${version}`);
        }
      });
    } finally { globalThis.setTimeout = setTimeout; }
  },
};

/** Runs all tests. @returns {Promise<{ passed: number, failed: string[], seed: number }>} */
export const run = () => runAll(TESTS);
