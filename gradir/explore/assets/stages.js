// The view of stages: the source, two texts side by side, and the trail of a chosen value.
// All text of a program goes into the page as text nodes, never as HTML.
"use strict";

function element(kind, className, ...children) {
  const made = document.createElement(kind);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== null));
  return made;
}

function button(className, label, onClick) {
  const made = element("button", className, label);
  made.type = "button";
  made.addEventListener("click", onClick);
  return made;
}

class StagesView {
  constructor(facts, root) {
    this.facts = facts;
    this.index = facts.texts.map(indexed);
    this.strip = root.querySelector(".strip");
    this.source = root.querySelector(".source");
    this.table = root.querySelector(".texts");
    this.trail = root.querySelector(".trail");
    this.onlyChanges = root.querySelector(".only-changes");
    this.pinned = null;
    this.names = facts.stages.map(([name]) => name);
    this.showSource();
    this.showStrip();
    this.onlyChanges.addEventListener("change", () => this.showTexts());
    for (const area of [this.table, this.source]) this.listen(area);
    const changed = facts.stages.findIndex(([, text]) => text === Math.min(1, facts.texts.length - 1));
    this.choose(changed);
  }

  listen(area) {
    area.addEventListener("mouseover", (event) => this.mark(this.chosenAt(event.target), "near"));
    area.addEventListener("mouseleave", () => this.mark(null, "near"));
    area.addEventListener("click", (event) => {
      const chosen = this.chosenAt(event.target);
      if (chosen) this.pin(chosen);
    });
  }

  // What is under the pointer: a value of a text, or a source line.
  chosenAt(target) {
    const value = target.closest("[data-value]");
    if (value) return { text: +value.dataset.text, value: +value.dataset.value };
    const line = target.closest("[data-source]");
    return line && { source: line.dataset.source };
  }

  // A button for each stage that changed the text, and one for each run of others.
  showStrip() {
    this.chips = [];
    this.facts.stages.forEach(([name, , changed], k) => {
      const before = k > 0 && !this.facts.stages[k - 1][2] && !changed ? this.chips[k - 1] : null;
      const chip = before || button(changed ? "chip" : "chip same", "", () => this.choose(k));
      chip.stages = [...(chip.stages || []), name];
      chip.textContent = changed ? name.replace(/^gradir-/, "") : `+${chip.stages.length}`;
      chip.title = chip.stages.join(", ") + (changed ? "" : ": no change");
      if (!before) this.strip.append(chip);
      this.chips.push(chip);
    });
  }

  // Show the text after stage k beside the one before it.
  choose(k) {
    this.stage = k;
    this.right = this.facts.stages[k][1];
    this.left = this.facts.stages[k][2] ? Math.max(this.right - 1, 0) : this.right;
    for (const chip of this.chips) chip.classList.toggle("on", chip === this.chips[k]);
    this.chips[k].scrollIntoView({ block: "nearest", inline: "nearest" });
    this.showTexts();
  }

  // Choose the next stage (or the one before) that changed something.
  step(by) {
    for (let k = this.stage + by; k >= 0 && k < this.chips.length; k += by) {
      if (this.facts.stages[k][2]) return this.choose(k);
    }
  }

  titleOf(text) {
    return this.names[this.facts.stages.findIndex(([, shown]) => shown === text)];
  }

  showSource() {
    this.facts.files.forEach((file, f) => {
      const head = element("h3", "", file.name.replace(/^.*[\\/](?=.)/, ""));
      head.title = file.name;
      this.source.append(head);
      let last = null;
      for (const [number, text] of file.lines) {
        if (last !== null && number > last + 1) this.source.append(element("div", "gap", "\u22ef"));
        last = number;
        const line = element("div", "line", element("i", "", String(number)), this.codeOf(text));
        line.dataset.source = f + ":" + number;
        this.source.append(line);
      }
      if (file.left_out) this.source.append(element("div", "gap", `${file.left_out} more lines`));
    });
    if (!this.facts.files.length) this.source.append(element("p", "quiet", "The program names no source."));
  }

  codeOf(text) {
    const code = element("code", "");
    for (const [kind, part] of codeParts(text)) code.append(kind ? element("span", kind, part) : part);
    return code;
  }

  showTexts() {
    const left = this.facts.texts[this.left], right = this.facts.texts[this.right];
    const rows = alignedRows(left.lines, right.lines);
    const isChanged = ([a, b]) => a < 0 || b < 0 || left.lines[a] !== right.lines[b];
    const near = rows.map(() => !this.onlyChanges.checked);
    rows.forEach((row, k) => {
      if (isChanged(row)) for (let n = k - 3; n <= k + 3; n++) if (n in near) near[n] = true;
    });
    const body = element("tbody", "");
    let hidden = 0;
    rows.forEach((row, k) => {
      if (!near[k]) return hidden++;
      if (hidden) body.append(this.gapRow(`${hidden} equal lines`));
      hidden = 0;
      body.append(this.row(row, isChanged(row)));
      const [fold, count] = right.fold;
      if (count && row[1] === fold - 1) body.append(this.gapRow(`${grouped(count)} lines left out`));
    });
    if (hidden) body.append(this.gapRow(`${hidden} equal lines`));
    const head = element("thead", "", element("tr", "", ...this.heads()));
    const columns = ["number", "", "number", ""].map((name) => element("col", name));
    this.table.replaceChildren(element("colgroup", "", ...columns), head, body);
    this.mark(this.pinned, "pinned");
    const chosen = [...this.table.querySelectorAll(".value.pinned")];
    const at = chosen.find((name) => +name.dataset.text === this.right);
    if (at) at.scrollIntoView({ block: "center" });
  }

  heads() {
    const before = element("th", "", this.left === this.right ? "no change" : this.titleOf(this.left));
    const after = element("th", "", this.names[this.stage]);
    before.colSpan = after.colSpan = 2;
    return [before, after];
  }

  gapRow(text) {
    const cell = element("td", "gap", text);
    cell.colSpan = 4;
    return element("tr", "", cell);
  }

  row([a, b], changed) {
    const cells = [...this.cells(this.left, a, changed && "gone"), ...this.cells(this.right, b, changed && "new")];
    return element("tr", "", ...cells);
  }

  cells(text, line, kind) {
    const of = this.facts.texts[text];
    if (line < 0) return [element("td", "number none"), element("td", "none")];
    const cell = element("td", kind || "", this.lineOf(text, line));
    const sources = this.index[text].sources.get(line);
    if (sources) cell.dataset.from = sources.join(" ");
    if (sources) cell.dataset.source = sources[0];
    return [element("td", "number", String(wholeLine(of, line))), cell];
  }

  lineOf(text, line) {
    const of = this.facts.texts[text].lines[line], code = element("code", "");
    const indent = of.length - of.trimStart().length;
    code.style.paddingLeft = `${indent + 3}ch`;
    let at = indent;
    const plain = (end) => {
      for (const [kind, part] of codeParts(of.slice(at, end))) code.append(kind ? element("span", kind, part) : part);
    };
    for (const { column, length, value } of this.index[text].tokens[line]) {
      plain(column);
      const name = element("span", "value", of.substr(column, length));
      name.dataset.text = text;
      name.dataset.value = value;
      code.append(name);
      at = column + length;
    }
    plain(of.length);
    return code;
  }

  // Mark what belongs to a value, or to a source line, with a class.
  mark(chosen, className) {
    for (const each of document.querySelectorAll("." + className)) each.classList.remove(className);
    if (!chosen) return;
    const keys = new Set(chosen.source ? [chosen.source] : []);
    if (!chosen.source) {
      const found = relatives(this.facts, chosen.text, chosen.value);
      for (const name of this.table.querySelectorAll("[data-value]")) {
        if (found[+name.dataset.text].has(+name.dataset.value)) name.classList.add(className);
      }
      const { first, sources } = this.index[chosen.text];
      const at = first.get(chosen.value);
      for (const key of (at && sources.get(at.line)) || []) keys.add(key);
    }
    for (const line of this.source.querySelectorAll("[data-source]")) {
      if (keys.has(line.dataset.source)) line.classList.add(className);
    }
    if (!chosen.source) return;
    for (const cell of this.table.querySelectorAll("[data-from]")) {
      if (cell.dataset.from.split(" ").some((key) => keys.has(key))) cell.classList.add(className);
    }
  }

  pin(chosen) {
    const is = (a, b) => a && a.source === b.source && a.text === b.text && a.value === b.value;
    this.pinned = is(this.pinned, chosen) ? null : chosen;
    this.mark(this.pinned, "pinned");
    this.showTrail();
  }

  // The value in every text: where it is, and what it is called there.
  showTrail() {
    this.trail.replaceChildren();
    const chosen = this.pinned;
    this.trail.hidden = !chosen || chosen.source !== undefined;
    if (this.trail.hidden) return;
    const found = relatives(this.facts, chosen.text, chosen.value);
    this.trail.append(element("h3", "", `What became of ${nameOf(this.facts.texts[chosen.text], this.index[chosen.text], chosen.value)}`));
    const list = element("ol", "");
    this.facts.texts.forEach((text, k) => list.append(this.trailItem(text, k, [...found[k]])));
    this.trail.append(button("close", "\u00d7", () => this.pin(chosen)), list);
  }

  trailItem(text, k, values) {
    const stage = this.facts.stages.findIndex(([, shown]) => shown === k);
    const item = element("li", values.length ? "" : "quiet");
    item.append(button("stage", this.names[stage].replace(/^gradir-/, ""), () => this.choose(stage)));
    const at = values.length ? this.index[k].first.get(Math.min(...values)) : null;
    const said = at ? this.facts.texts[k].lines[at.line].trim() : "not in this text";
    item.append(element("code", "", said), element("span", "quiet", values.length > 1 ? `and ${values.length - 1} more` : ""));
    return item;
  }
}
