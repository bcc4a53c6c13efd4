// Computes and shows the lines in which two texts differ.
import { h } from "./console-dom.js";

/** Most changed lines for which common lines are searched; beyond that, all count as removed and added. */
const MOST = 2000;

/**
 * Compares two texts by the longest common subsequence of their lines. @param {string} before @param {string} after
 * @returns {{ kind: "same" | "removed" | "added", text: string }[]}
 */
export function diff(before, after) {
  const one = before.split("\n"), two = after.split("\n");
  let head = 0, tail = 0;
  while (head < one.length && head < two.length && one[head] === two[head]) head++;
  while (tail < one.length - head && tail < two.length - head && one.at(-1 - tail) === two.at(-1 - tail)) tail++;
  const left = one.slice(head, one.length - tail), right = two.slice(head, two.length - tail);
  const same = lines => lines.map(text => ({ kind: "same", text }));
  return [...same(one.slice(0, head)), ...middle(left, right), ...same(tail ? one.slice(-tail) : [])];
}

function middle(left, right) {
  const removed = left.map(text => ({ kind: "removed", text })), added = right.map(text => ({ kind: "added", text }));
  if (!left.length || !right.length || left.length > MOST || right.length > MOST) return [...removed, ...added];
  const width = right.length + 1, lengths = new Uint16Array((left.length + 1) * width);
  for (let row = left.length - 1; row >= 0; row--) {
    for (let column = right.length - 1; column >= 0; column--) {
      lengths[row * width + column] = left[row] === right[column] ? lengths[(row + 1) * width + column + 1] + 1
        : Math.max(lengths[(row + 1) * width + column], lengths[row * width + column + 1]);
    }
  }
  const lines = [];
  let row = 0, column = 0;
  while (row < left.length && column < right.length) {
    if (left[row] === right[column]) { lines.push({ kind: "same", text: left[row++] }); column++; }
    else if (lengths[(row + 1) * width + column] >= lengths[row * width + column + 1]) lines.push(removed[row++]);
    else lines.push(added[column++]);
  }
  return [...lines, ...removed.slice(row), ...added.slice(column)];
}

const MARKS = { same: " ", removed: "−", added: "+" }, NAMES = { removed: "removed: ", added: "added: " };

/** Shows the changes, with three lines of context around each. @param {string} before @param {string} after */
export function diffView(before, after) {
  const lines = diff(before, after);
  if (lines.every(line => line.kind === "same")) return h("p", { class: "empty" }, "No differences.");
  const isNear = index => lines.slice(Math.max(0, index - 3), index + 4).some(line => line.kind !== "same");
  return h("pre", { class: "diff", tabindex: "0", "aria-label": "Differences" }, lines.map((line, index) => {
    if (!isNear(index)) return index && isNear(index - 1) ? h("span", { class: "skip-lines" }, "⋯\n") : null;
    return h("span", { class: line.kind }, NAMES[line.kind] ? h("span", { class: "unseen" }, NAMES[line.kind]) : null, `${MARKS[line.kind]} ${line.text}\n`);
  }));
}
