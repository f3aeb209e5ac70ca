// The view of memory: buffers over the program's points, and a slider over plans within limits.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function drawn(kind, attributes, ...children) {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

class MemoryView {
  constructor(facts, root, openValue) {
    this.facts = facts;
    this.memory = facts.memory;
    this.openValue = openValue;
    this.index = indexed(facts.texts[facts.memory.text]);
    this.picture = root.querySelector(".picture");
    this.said = root.querySelector(".said");
    this.said0 = "Point at a buffer; a click shows its value in the text.";
    const [slider, label] = [root.querySelector("input[type=range]"), root.querySelector(".limit")];
    const plans = [this.memory.plan, ...this.memory.limited];
    this.top = Math.max(...plans.map((plan) => plan.peak), 1);
    slider.max = plans.length - 1;
    slider.parentNode.hidden = plans.length < 2;
    root.querySelector(".end").textContent = this.memory.end;
    slider.addEventListener("input", () => {
      const plan = plans[+slider.value];
      label.textContent = +slider.value ? `limit ${grouped(plan.limit)} bytes` : "as compiled";
      this.show(plan);
    });
    label.textContent = "as compiled";
    this.show(plans[0]);
  }

  show(plan) {
    const [width, height, left, top, curve] = [1000, 460, 86, 16, 70];
    const across = (width - left - 10) / Math.max(plan.steps, 1);
    const bottom = height - 34, up = (bottom - top - curve - 14) / this.top;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    svg.append(...this.axes(plan, { width, left, top, bottom, up, curve }));
    svg.append(this.aliveCurve(plan, { left, across, top, curve }));
    const cursor = drawn("path", { class: "cursor", d: "" });
    for (const buffer of plan.buffers) svg.append(this.rectangle(buffer, left, bottom, across, up));
    svg.append(cursor);
    svg.addEventListener("mousemove", (event) => {
      const place = svg.getBoundingClientRect();
      const step = Math.floor(((event.clientX - place.left) * (width / place.width) - left) / across);
      const inside = step >= 0 && step < plan.steps;
      const x = left + (step + 0.5) * across;
      cursor.setAttribute("d", inside ? `M${x} ${top}V${bottom}` : "");
      this.say(plan, inside ? step : -1, event.target);
    });
    this.picture.replaceChildren(svg);
    this.peak = plan.peak;
    this.said.replaceChildren(this.headline(plan), element("span", "quiet", this.said0));
  }

  headline(plan) {
    const left = plan.left_out ? `; ${grouped(plan.left_out)} small ones are not drawn` : "";
    const recomputed = plan.buffers.filter((buffer) => buffer[5] === "recomputed").length;
    const again = recomputed ? `, ${recomputed} recomputed` : "";
    return element("b", "", `${bytesText(plan.peak)} of arena, ${plan.buffers.length} buffers${again}${left}`);
  }

  // What is at a step: the op there, or the buffer under the pointer.
  say(plan, step, target) {
    const buffer = target.buffer;
    const point = plan === this.memory.plan && step >= 0 ? this.memory.points[step] : -1;
    const op = point >= 0 ? this.facts.texts[this.memory.text].lines[point].trim() : "";
    const alive = step >= 0 ? `step ${step}: ${bytesText(aliveBytes(plan)[step])} alive  ` : "";
    const about = buffer
      ? `${this.nameOf(buffer)}: ${bytesText(buffer[2])} at ${grouped(buffer[1])}, steps ${buffer[3]} to ${buffer[4]}, ${buffer[5]}  `
      : "";
    this.said.replaceChildren(this.headline(plan), element("span", "", about || alive), element("code", "", op));
  }

  // A buffer's name, in the text if it stands there.
  nameOf(buffer) {
    const at = buffer[6] < 0 ? undefined : this.index.first.get(buffer[6]);
    return at ? nameOf(this.facts.texts[this.memory.text], this.index, buffer[6]) : buffer[0];
  }

  axes(plan, { width, left, top, bottom, up, curve }) {
    const parts = [drawn("path", { class: "axis", d: `M${left} ${top + curve + 8}V${bottom}H${width - 10}` })];
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const y = bottom - share * this.top * up;
      const text = drawn("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, bytesText(Math.round(share * this.top)));
      parts.push(drawn("path", { class: "grid", d: `M${left} ${y}H${width - 10}` }), text);
    }
    if (plan.limit !== undefined) {
      const y = bottom - plan.limit * up;
      parts.push(drawn("path", { class: "limit-line", d: `M${left} ${y}H${width - 10}` }));
    }
    parts.push(drawn("text", { x: left, y: bottom + 22 }, `the function's ops in order: ${plan.steps} steps`));
    parts.push(drawn("text", { x: left - 8, y: top + curve / 2, "text-anchor": "end" }, "alive"));
    return parts;
  }

  aliveCurve(plan, { left, across, top, curve }) {
    const alive = aliveBytes(plan), most = Math.max(...alive, 1);
    let d = `M${left} ${top + curve}`;
    alive.forEach((bytes, k) => {
      const y = top + curve - (bytes / most) * (curve - 6);
      d += `L${(left + k * across).toFixed(1)} ${y.toFixed(1)}L${(left + (k + 1) * across).toFixed(1)} ${y.toFixed(1)}`;
    });
    return drawn("path", { class: "alive", d: `${d}V${top + curve}Z` });
  }

  rectangle(buffer, left, bottom, across, up) {
    const [, offset, size, first, last, kind, value] = buffer, name = this.nameOf(buffer);
    const width = (last - first + 1) * across, height = size * up;
    const box = { x: left + first * across, y: bottom - (offset + size) * up, width, height, rx: 2 };
    const made = drawn("rect", { class: `buffer ${kind}`, ...box });
    made.buffer = buffer;
    const group = drawn("g", {}, made);
    if (width > 8 * name.length + 8 && height > 14) {
      const label = drawn("text", { class: "buffer-name", x: box.x + 5, y: box.y + Math.min(height / 2 + 4, 16) }, name);
      group.append(label);
    }
    if (value >= 0) made.addEventListener("click", () => this.openValue(this.memory.text, value));
    return group;
  }
}
