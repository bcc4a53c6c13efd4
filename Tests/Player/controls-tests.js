// Tests of the player's controls, which need a browser but no program.
import { CoStreamPlayer } from "../../pages/assets/player.js";
import { check } from "./checks.js";

/** Returns a player on the page whose controls take it for one that plays. */
function playing() {
  const player = new CoStreamPlayer();
  player.toggleAttribute("controls", true);
  document.body.append(player);
  player.state = "playing";
  return player;
}

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
};

/** Runs all tests. @returns {{passed: number, failed: string[], seed: number}} */
export function run() {
  const failed = [];
  for (const [name, test] of Object.entries(tests)) {
    try { test(); } catch (error) { failed.push(`${name}: ${error.message}`); }
  }
  return { passed: Object.keys(tests).length - failed.length, failed, seed: 0 };
}
