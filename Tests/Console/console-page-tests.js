// Tests of those parts of the console that draw, without a service.
import { Problem } from "../../pages/assets/console-api.js";
import { h, render } from "../../pages/assets/console-dom.js";
import { pill, problemBox } from "../../pages/assets/console-ui.js";
import { equal } from "../Player/checks.js";

/** Returns a place on the page to draw in. */
const place = () => document.body.appendChild(document.createElement("div"));

const TESTS = {
  aMessageTakesTheFocusAndTheTextOfNoOther() {
    const root = place(), titles = () => [...root.querySelectorAll(".problem strong")].map(one => one.textContent);
    const draw = (...problems) => render(root, h("div", null, "head"), problems.map(title => problemBox(new Problem(503, { title }))),
      h("div", { class: "work" }, h("span", null, "name"), problems.length ? pill("lost") : null, h("input", null)), h("div", null, "history"));
    draw();
    const input = root.querySelector("input"), work = root.querySelector(".work");
    input.value = "rtmp://a.example/live";
    input.focus();
    for (const problems of [["one"], ["one", "two"], ["two"], []]) {
      draw(...problems);
      equal(titles(), problems, "shown");
      equal([root.querySelector("input") === input, input.value, document.activeElement === input, root.querySelector(".work") === work],
        [true, "rtmp://a.example/live", true, true], `beside ${problems.length} problems`);
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
    equal([kept === root.firstChild, kept.getAttribute("tabindex"), kept.getAttribute("src"), kept.textContent], [true, "0", "b", "its own"]);
    root.remove();
  },
};

/** Runs all tests. @returns {Promise<{ passed: number, failed: string[], seed: number }>} */
export async function run() {
  const failed = [];
  for (const [name, test] of Object.entries(TESTS)) {
    try { await test(); } catch (error) { failed.push(`${name}: ${error.message}`); }
  }
  return { passed: Object.keys(TESTS).length - failed.length, failed, seed: 0 };
}
