// What a page computes of its facts: differences of texts, relatives of values, numbers as text.
// No function here touches the document, so that tests run them without a browser.
"use strict";

// The most edits that the exact comparison looks for.
const MOST_EDITS = 600;

// Rows [left line or -1, right line or -1] of two lists of lines, side by side.
function alignedRows(left, right) {
  let begin = 0;
  while (begin < left.length && begin < right.length && left[begin] === right[begin]) begin++;
  let end = 0;
  const most = Math.min(left.length, right.length) - begin;
  while (end < most && left[left.length - 1 - end] === right[right.length - 1 - end]) end++;
  const rows = [];
  for (let k = 0; k < begin; k++) rows.push([k, k]);
  const a = left.slice(begin, left.length - end), b = right.slice(begin, right.length - end);
  for (const [x, y] of pairedChanges(commonLines(a, b), a.length, b.length)) {
    rows.push([x < 0 ? -1 : x + begin, y < 0 ? -1 : y + begin]);
  }
  for (let k = end; k > 0; k--) rows.push([left.length - k, right.length - k]);
  return rows;
}

// Pairs [k, l] of equal lines in order, by Myers' shortest edit script; [] where that is too long.
function commonLines(a, b) {
  let ends = new Map([[1, 0]]);
  const trace = [];
  for (let edits = 0; edits <= Math.min(a.length + b.length, MOST_EDITS); edits++) {
    trace.push(new Map(ends));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && ends.get(k - 1) < ends.get(k + 1));
      let x = down ? ends.get(k + 1) : ends.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      ends.set(k, x);
      if (x >= a.length && x - k >= b.length) return pathOf(trace, a, b);
    }
  }
  return [];
}

// The equal lines on the path that a trace of Myers' algorithm has found.
function pathOf(trace, a, b) {
  const pairs = [];
  let x = a.length, y = b.length;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const ends = trace[edits], k = x - y;
    const down = k === -edits || (k !== edits && ends.get(k - 1) < ends.get(k + 1));
    const before = down ? k + 1 : k - 1;
    const startX = ends.get(before), startY = startX - before;
    while (x > startX && y > startY && x > 0 && y > 0) pairs.push([--x, --y]);
    x = Math.max(startX, 0);
    y = Math.max(startY, 0);
  }
  return pairs.reverse();
}

// Rows of all lines, given the equal ones: changed lines stand beside each other.
function pairedChanges(common, countA, countB) {
  const rows = [];
  let x = 0, y = 0;
  for (const [nextX, nextY] of [...common, [countA, countB]]) {
    while (x < nextX || y < nextY) {
      rows.push([x < nextX ? x++ : -1, y < nextY ? y++ : -1]);
    }
    if (nextX < countA && nextY < countB) rows.push([x++, y++]);
  }
  return rows;
}

// The values that a value of one text became, and those that it came of, in all texts: a Set each.
function relatives(facts, text, value) {
  const found = facts.texts.map(() => new Set());
  found[text].add(value);
  for (let k = text; k < facts.links.length; k++) {
    for (const v of found[k]) for (const w of facts.links[k][v] || []) found[k + 1].add(w);
  }
  for (let k = text - 1; k >= 0; k--) {
    facts.links[k].forEach((targets, v) => {
      if (targets.some((w) => found[k + 1].has(w))) found[k].add(v);
    });
  }
  return found;
}

// For a text: the tokens of each line, the first token of each value, the source lines by line.
function indexed(text) {
  const tokens = text.lines.map(() => []), first = new Map(), sources = new Map();
  for (let k = 0; k < text.tokens.length; k += 4) {
    const [line, column, length, value] = text.tokens.slice(k, k + 4);
    tokens[line].push({ column, length, value });
    if (!first.has(value)) first.set(value, { line, column, length });
  }
  for (const [line, ...places] of text.sources) {
    const keys = [];
    for (let k = 0; k < places.length; k += 2) keys.push(places[k] + ":" + places[k + 1]);
    sources.set(line, keys);
  }
  return { tokens, first, sources };
}

function nameOf(text, index, value) {
  const at = index.first.get(value);
  return at ? text.lines[at.line].substr(at.column, at.length) : "";
}

// The number of a line in the whole text, from 1.
function wholeLine(text, line) {
  return line < text.fold[0] ? line + 1 : line + 1 + text.fold[1];
}

function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function bytesText(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let k = 0, size = bytes;
  while (size >= 1024 && k < units.length - 1) { size /= 1024; k++; }
  return k === 0 ? `${bytes} bytes` : `${size.toFixed(size < 10 ? 2 : 1)} ${units[k]}`;
}

// Bytes alive at each step of a plan.
function aliveBytes(plan) {
  const change = new Array(plan.steps + 1).fill(0);
  for (const [, , size, first, last] of plan.buffers) {
    change[first] += size;
    change[Math.min(last + 1, plan.steps)] -= size;
  }
  let sum = 0;
  return change.slice(0, plan.steps).map((d) => (sum += d));
}

// Parts of a line of LLVM text, assembly or source: [class, text].
function codeParts(line) {
  const parts = [];
  const pattern = /("[^"]*")|((?:;|#|\/\/).*$)|([%@][\w.$"-]+|[%@]"[^"]*")|(^[\w.$"]+:)/g;
  let at = 0;
  for (const match of line.matchAll(pattern)) {
    if (match.index > at) parts.push(["", line.slice(at, match.index)]);
    parts.push([match[1] ? "str" : match[2] ? "note" : match[3] ? "name" : "label", match[0]]);
    at = match.index + match[0].length;
  }
  if (at < line.length) parts.push(["", line.slice(at)]);
  return parts;
}

if (typeof module !== "undefined") {
  module.exports = {
    alignedRows, relatives, indexed, nameOf, wholeLine, grouped, bytesText, aliveBytes, codeParts,
  };
}
