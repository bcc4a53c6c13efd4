// Tests of changes that operators make in the console, without a service.
import { check, equal } from "../Player/checks.js";
import { runAll, Service, turn, until, write } from "./service.js";

const TESTS = {
  async aValueThatSomeoneElseHasChangedIsNotOverwrittenUnasked() {
    const service = new Service();
    const title = value => [{ name: "title", type: "text", default: "", value, maxLength: 80 }];
    service.answers["/params"].params = title("Home");
    await service.open(async (view, root) => {
      const input = () => root.querySelector("#param-title"), form = () => input().closest("form");
      await until(input, "the value");
      for (const [theirs, answer, sent, shown] of [
        ["Away", "Use theirs", [], "Away"], ["Halftime", "Apply mine", [{ title: "Mine" }], "Mine"],
        [null, null, [{ title: "Mine" }], "Mine"],
      ]) {
        service.bodies = [];
        write(input(), "Mine");
        if (theirs) service.answers["/params"].params = title(theirs);
        await view.read();
        form().dispatchEvent(new Event("submit", { cancelable: true }));
        if (answer) {
          await until(() => document.querySelector("dialog"), "the question");
          const dialog = document.querySelector("dialog");
          const words = [theirs, "Mine"].map(word => dialog.textContent.includes(word));
          equal([service.bodies, words], [[], [true, true]], "asked");
          [...dialog.querySelectorAll("button")].find(one => one.textContent === answer).click();
        }
        await until(() => !document.querySelector("dialog") && service.bodies.length >= sent.length, "the end");
        await turn(20);
        equal([service.bodies, document.querySelector("dialog")], [sent, null], answer ?? "unchanged");
        service.answers["/params"].params = title(shown);
        await view.read();
        equal(input().value, shown, "at last");
        service.answers["/params"].params = title("Home");
        await view.read();
      }
    });
  },
  async aStepReplacesTheNumberThatWasTyped() {
    const service = new Service();
    const set = value => {
      service.answers["/params"].params = [{ name: "score", type: "number", default: 0, value, min: 0, max: 99 }];
    };
    set(0);
    service.answer = (path, options) => {
      if (options.method === "PATCH") set(JSON.parse(options.body).score);
      return Service.prototype.answer.call(service, path, options);
    };
    await service.open(async (_, root) => {
      const input = () => root.querySelector("#param-score");
      await until(input, "the value");
      write(input(), "5");
      check(root.textContent.includes("Not applied"), "typed");
      for (const [count, sent] of [[1, { score: 6 }], [2, { score: 7 }]]) {
        root.querySelector('[aria-label="Increase score immediately"]').click();
        await until(() => service.bodies.length === count, "the step");
        await turn(20);
        equal([service.bodies.at(-1), input().value], [sent, String(sent.score)], "a step");
        check(!root.textContent.includes("Not applied"), "nothing is left to apply");
      }
    });
  },
  async onlyChangesOfTheSameSettingsAreConflicts() {
    const service = new Service(), headers = { "Content-Type": "application/json" };
    let version = 1;
    service.answer = (path, options) => {
      if (path !== "/v1/rooms/show") return Service.prototype.answer.call(service, path, options);
      if (options.method === "PATCH") {
        if (options.headers["If-Match"] !== `"${version}"`) return new Response("{}", { status: 412, headers });
        service.bodies.push(JSON.parse(options.body));
      }
      return new Response(JSON.stringify(service.room), { headers: { ...headers, ETag: `"${version}"` } });
    };
    await service.open(async (_, root) => {
      const choice = () => root.querySelector("#set-leaves"), dialog = () => document.querySelector("dialog");
      await until(choice, "the settings");
      for (const host of [undefined, "bob"]) {
        service.bodies = [];
        choice().value = "stop";
        choice().dispatchEvent(new Event("change"));
        service.room = { ...service.room, host };
        version++;
        choice().closest("form").dispatchEvent(new Event("submit", { cancelable: true }));
        if (host) {
          await until(dialog, "the question");
          version++;
          [...dialog().querySelectorAll("button")].find(one => one.textContent === "Apply mine").click();
        }
        await until(() => service.bodies.length, "the change");
        await turn(20);
        equal([service.bodies, dialog()], [[{ policy: { whenHostLeaves: "stop" } }], null], host ?? "no other setting");
      }
    });
  },
  async aSettingChangedWhileOthersAreAppliedIsKept() {
    const service = new Service(), held = [], tags = [];
    let version = 1;
    const room = () => new Response(JSON.stringify(service.room), {
      headers: { "Content-Type": "application/json", ETag: `"${version}"` } });
    service.answer = (path, options) => {
      if (path !== "/v1/rooms/show") return Service.prototype.answer.call(service, path, options);
      if (options.method !== "PATCH") return room();
      service.bodies.push(JSON.parse(options.body));
      tags.push(options.headers["If-Match"]);
      return new Promise(resolve => held.push(() => {
        service.room = { ...service.room, policy: { ...service.room.policy, ...service.bodies.at(-1).policy } };
        version++;
        resolve(room());
      }));
    };
    await service.open(async (_, root) => {
      const choice = name => root.querySelector(`#set-${name}`);
      const choose = (name, value) => {
        choice(name).value = value;
        choice(name).dispatchEvent(new Event("change"));
      };
      const apply = () => choice("leaves").closest("form").dispatchEvent(new Event("submit", { cancelable: true }));
      await until(() => choice("leaves"), "the settings");
      choose("leaves", "stop");
      apply();
      await until(() => held.length === 1, "the first request");
      choose("bypass", "never");
      held[0]();
      await until(() => root.textContent.includes("Not applied: one participant on air"), "the first is applied");
      equal([choice("leaves").value, choice("bypass").value], ["stop", "never"], "shown");
      await turn(20);
      apply();
      await until(() => held.length === 2, "the second request");
      choose("bypass", "auto");
      choose("leaves", "slate");
      choose("leaves", "stop");
      held[1]();
      await until(() => { apply(); return held.length === 3; }, "the third request, which takes the second one back");
      held[2]();
      await until(() => !root.textContent.includes("Not applied"), "all is applied");
      equal([service.bodies.map(({ policy }) => policy), tags],
        [[{ whenHostLeaves: "stop" }, { bypass: "never" }, { bypass: "auto" }], ['"1"', '"2"', '"3"']], "sent");
    });
  },
  async rulesOfAnotherModeratorAreNotOverwrittenUnasked() {
    const service = new Service(), rules = (slowMode, ...words) => ({ slowMode, words, muted: [] });
    await service.open(async (view, root) => {
      const area = () => root.querySelector("#chat-words"), dialog = () => document.querySelector("dialog");
      const apply = () => area().closest("form").dispatchEvent(new Event("submit", { cancelable: true }));
      await until(area, "the rules");
      write(area(), "darn");
      service.answers["/rules"] = rules(10);
      view.chat.take("rules", {});
      await until(() => root.querySelector("#chat-slow").value === "10", "the other rule");
      equal(area().value, "darn", "what is being typed stays");
      apply();
      await until(() => service.bodies.length, "the change");
      await turn(20);
      equal([service.bodies, dialog()], [[{ words: ["darn"] }], null], "the other rule stays");

      service.bodies = [];
      write(area(), "darn\nheck");
      service.answers["/rules"] = rules(10, "drat");
      apply();
      await until(dialog, "the question");
      const shows = ["drat", "heck"].map(word => dialog().textContent.includes(word));
      equal([service.bodies, shows], [[], [true, true]], "asked");
      [...dialog().querySelectorAll("button")].find(one => one.textContent === "Apply mine").click();
      await until(() => service.bodies.length, "the choice");
      equal(service.bodies, [{ words: ["darn", "heck"] }], "chosen");
    });
  },
};

/** Runs all tests. @returns {Promise<{ passed: number, failed: string[], seed: number }>} */
export const run = () => runAll(TESTS);
