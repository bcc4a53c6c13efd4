// Tests of the player's element and its controls, which need a browser but no program.
import { CoStreamPlayer } from "../../pages/assets/player.js";
import { FLVSession } from "../../pages/assets/player-media.js";
import { check, equal } from "./checks.js";

/** Returns a player on the page whose controls take it for one that plays. */
function playing() {
  const player = new CoStreamPlayer();
  player.toggleAttribute("controls", true);
  document.body.append(player);
  player.state = "playing";
  return player;
}

/** Returns an error as browsers reject `play()` with. @param {string} name */
const refusal = name => Object.assign(new Error(name), { name });

const turn = () => new Promise(resolve => setTimeout(resolve));

const tests = {
  "the bar stays for a while after a finger is lifted"() {
    const player = playing();
    const point = (name, pointerType) => player.dispatchEvent(new PointerEvent(name, { pointerType }));
    for (const name of ["pointerdown", "pointerup", "pointerleave"]) point(name, "touch");
    check(!player.hasAttribute("data-idle"), "a finger");
    point("pointerleave", "mouse");
    check(player.hasAttribute("data-idle"), "a mouse");
    player.remove();
  },
  "text can be typed in fields that a page puts into the player"() {
    const player = playing();
    /** Returns whether the key is the player's, pressed in this element. */
    const takes = (element, key) => {
      player.append(element);
      const event = new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true });
      element.dispatchEvent(event);
      element.remove();
      return event.defaultPrevented;
    };
    const make = (tag, attributes = {}) => Object.assign(document.createElement(tag), attributes);
    for (const field of [make("input"), make("textarea"), make("select"), make("p", { contentEditable: "true" })]) {
      equal(["m", " ", "ArrowUp"].map(key => takes(field, key)), [false, false, false], field.tagName);
    }
    for (const part of [make("button"), make("input", { type: "range" })]) {
      equal(["m", " ", "ArrowUp"].map(key => takes(part, key)), [true, false, false], part.tagName);
    }
    equal(["m", " ", "ArrowUp"].map(key => takes(make("p"), key)), [true, true, true], "anything else");
    player.remove();
  },
  async "only a browser that demands a gesture leaves the player paused"() {
    const { run } = FLVSession.prototype;
    FLVSession.prototype.run = function () {
      this.events.onReady();
      return new Promise(() => {});
    };
    try {
      for (const [reason, isReplaced, state] of [
        ["NotAllowedError", false, "paused"], ["AbortError", false, "connecting"], ["NotAllowedError", true, "connecting"],
      ]) {
        const player = new CoStreamPlayer(), attempts = [];
        player.video.play = () => new Promise((_, reject) => attempts.push(reject));
        player.setAttribute("src", "/live/show.flv");
        document.body.append(player);
        attempts.shift()(refusal("NotAllowedError"));
        await turn();
        equal([attempts.length, player.isSoundBlocked], [1, true], "it is tried again without sound");
        if (isReplaced) player.play();
        attempts.shift()(refusal(reason));
        await turn();
        equal(player.state, state, `${reason}, ${isReplaced ? "of an earlier session" : "of this session"}`);
        player.remove();
      }
    } finally { FLVSession.prototype.run = run; }
  },
};

/** Runs all tests. @returns {Promise<{passed: number, failed: string[], seed: number}>} */
export async function run() {
  const failed = [];
  for (const [name, test] of Object.entries(tests)) {
    try { await test(); } catch (error) { failed.push(`${name}: ${error.message}`); }
  }
  return { passed: Object.keys(tests).length - failed.length, failed, seed: 0 };
}
