// The views of time and code: kernels with their work, their speed beside the machine's limits,
// their LLVM text and assembly. And the tabs of the page.
"use strict";

function foldedCode(text) {
  const code = element("pre", "code");
  text.lines.forEach((line, k) => {
    if (text.fold[1] && k === text.fold[0]) code.append(element("div", "gap", `${grouped(text.fold[1])} lines left out`));
    const row = element("div", "");
    for (const [kind, part] of codeParts(line)) row.append(kind ? element("span", kind, part) : part);
    row.append("\n");
    code.append(row);
  });
  return code;
}

class CodeView {
  constructor(facts, root) {
    this.facts = facts;
    this.list = root.querySelector(".kernels");
    this.shown = root.querySelector(".shown");
    const all = [...facts.kernels, { name: "driver", op: "calls them in order", ops: [], sources: [], llvm: facts.driver }];
    this.buttons = all.map((kernel) => {
      const name = button("kernel", element("b", "", kernel.name), () => this.choose(kernel.name));
      name.append(element("span", "quiet", kernel.ops.join(" ") || kernel.op));
      this.list.append(name);
      return [kernel, name];
    });
    if (facts.kernels_left_out) this.list.append(element("p", "quiet", `${facts.kernels_left_out} more kernels`));
    this.choose(all[0].name);
  }

  choose(name) {
    for (const [kernel, chosen] of this.buttons) {
      chosen.classList.toggle("on", kernel.name === name);
      if (kernel.name === name) this.show(kernel);
    }
  }

  show(kernel) {
    const places = kernel.sources.map(([f, n]) => this.sourceLine(f, n));
    const work = kernel.asm ? `${kernel.flops === null ? "?" : grouped(kernel.flops)} operations, ${bytesText(kernel.bytes)} a call` : "";
    const pane = (title, text) => element("section", "pane", element("h3", "", title), foldedCode(text));
    const panes = [pane("LLVM", kernel.llvm)];
    if (kernel.asm) panes.push(pane("assembly", kernel.asm));
    const head = element("div", "kernel-head", element("b", "", kernel.name), element("span", "quiet", work), ...places);
    this.shown.replaceChildren(head, element("div", "panes", ...panes));
  }

  sourceLine(f, n) {
    const file = this.facts.files[f];
    const found = file.lines.find(([number]) => number === n);
    return element("code", "place", `${n}: ${found ? found[1].trim() : file.name}`);
  }
}

class TimeView {
  constructor(facts, root, openKernel) {
    this.facts = facts;
    this.openKernel = openKernel;
    this.root = root;
    facts.profile ? this.showProfile(facts.profile) : this.showWork();
  }

  showProfile(profile) {
    const { limits } = profile, micro = (s) => (s * 1e6).toFixed(2);
    const head = `${micro(profile.seconds)} \u00b5s a call (${micro(profile.plain_seconds)} without clocks), mean of ${profile.runs}; ${profile.threads} thread${profile.threads > 1 ? "s" : ""}`;
    const speed = `limits, measured: ${(limits.f32_flops_per_second / 1e9).toFixed(0)} GFLOP/s in f32, ${(limits.f64_flops_per_second / 1e9).toFixed(0)} in f64, ${(limits.bytes_per_second / 1e9).toFixed(1)} GB/s of memory`;
    const rate = (x) => (x === null ? "" : (x / 1e9).toFixed(1));
    const share = (x) => (x === null ? "" : `${(100 * x).toFixed(0)} %`);
    const rows = profile.parts.map((part) => [
      part, part.calls.toPrecision(3).replace(/\.?0+$/, ""), micro(part.seconds), `${(100 * part.share).toFixed(1)} %`,
      rate(part.flops_per_second), rate(part.bytes_per_second), share(part.share_of_limit), part.bound || "",
    ]);
    const titles = ["part", "calls", "\u00b5s", "share", "GFLOP/s", "GB/s", "of limit", "bound by"];
    this.root.append(element("p", "", element("b", "", head), element("br"), speed));
    this.root.append(element("div", "times", this.tableOf(titles, rows), this.roofline(profile)));
    if (profile.left_out) this.root.append(element("p", "quiet", `${profile.left_out} shorter parts are left out`));
  }

  showWork() {
    const rows = this.facts.kernels.map((k) => [
      k, k.flops === null ? "?" : grouped(k.flops), grouped(k.bytes), k.flops && k.bytes ? (k.flops / k.bytes).toFixed(2) : "",
    ]);
    const note = "Work of each kernel. With arguments (--random-inputs 0, or fn.explore(*arrays)) the page has times too.";
    this.root.append(element("p", "quiet", note), this.tableOf(["kernel", "operations", "bytes", "operations a byte"], rows));
  }

  tableOf(titles, rows) {
    const head = element("tr", "", ...titles.map((title) => element("th", "", title)));
    const body = rows.map(([part, ...cells]) => {
      const name = element("td", "part", element("b", "", part.name), element("span", "quiet", part.ops.join(" ")));
      if (part.share) name.style.setProperty("--share", `${100 * part.share}%`);
      const row = element("tr", "", name, ...cells.map((cell) => element("td", "figure", cell)));
      if (this.facts.kernels.some((k) => k.name === part.name)) {
        row.classList.add("link");
        row.addEventListener("click", () => this.openKernel(part.name));
      }
      return row;
    });
    return element("table", "figures", element("thead", "", head), element("tbody", "", ...body));
  }

  // Operations a second over operations a byte, both logarithmic, below the machine's two limits.
  roofline(profile) {
    const dots = profile.parts.filter((part) => part.kind === "kernel" && part.flops && part.bytes && part.flops_per_second);
    if (!dots.length) return element("p", "quiet", "No kernel has operations to count.");
    const wide = dots.some((part) => part.bits === 64);
    const flops = profile.limits[wide ? "f64_flops_per_second" : "f32_flops_per_second"], bytes = profile.limits.bytes_per_second;
    const [width, height, left, bottom] = [620, 280, 62, 240];
    const xs = [...dots.map((d) => d.flops / d.bytes), flops / bytes], ys = [...dots.map((d) => d.flops_per_second), flops];
    const ends = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)) + 0.1)];
    const [[x0, x1], [y0, y1]] = [ends(xs), ends(ys)];
    const x = (v) => left + ((Math.log10(v) - x0) / (x1 - x0)) * (width - left - 20);
    const y = (v) => bottom - ((Math.log10(v) - y0) / (y1 - y0)) * (bottom - 14);
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "roofline", role: "img" });
    for (let p = x0; p <= x1; p++) {
      svg.append(drawn("path", { class: "grid", d: `M${x(10 ** p)} 14V${bottom}` }));
      svg.append(drawn("text", { x: x(10 ** p), y: bottom + 16, "text-anchor": "middle" }, String(+(10 ** p).toPrecision(3))));
    }
    for (let p = y0; p <= y1; p++) {
      svg.append(drawn("path", { class: "grid", d: `M${left} ${y(10 ** p)}H${width - 20}` }));
      svg.append(drawn("text", { x: left - 6, y: y(10 ** p) + 4, "text-anchor": "end" }, String(+(10 ** (p - 9)).toPrecision(3))));
    }
    const low = Math.max(10 ** x0, 10 ** y0 / bytes), ridge = Math.min(flops / bytes, 10 ** x1);
    svg.append(drawn("path", { class: "roof", d: `M${x(low)} ${y(low * bytes)}L${x(ridge)} ${y(ridge * bytes)}H${width - 20}` }));
    svg.append(drawn("text", { x: left, y: bottom + 34 }, `GFLOP/s over operations a byte; the line is the limit in ${wide ? "f64" : "f32"}`));
    for (const dot of dots) {
      const circle = drawn("circle", { class: "dot", cx: x(dot.flops / dot.bytes), cy: y(dot.flops_per_second), r: 4 + 8 * dot.share });
      circle.append(drawn("title", {}, `${dot.name}: ${(dot.flops_per_second / 1e9).toFixed(1)} GFLOP/s`));
      circle.addEventListener("click", () => this.openKernel(dot.name));
      svg.append(circle);
    }
    return svg;
  }
}

function start() {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const views = [...document.querySelectorAll("main > section")];
  const tabs = [...document.querySelectorAll("nav button")];
  const open = (name) => {
    views.forEach((view) => { view.hidden = view.id !== name; });
    tabs.forEach((tab) => tab.classList.toggle("on", tab.dataset.view === name));
  };
  tabs.forEach((tab) => tab.addEventListener("click", () => open(tab.dataset.view)));
  const view = (name) => document.getElementById(name);
  const stages = new StagesView(facts, view("stages"));
  const code = new CodeView(facts, view("code"));
  const openKernel = (name) => { open("code"); code.choose(name); };
  new TimeView(facts, view("time"), openKernel);
  new MemoryView(facts, view("memory"), (text, value) => {
    open("stages");
    stages.choose(facts.stages.findIndex(([, shown]) => shown === text));
    stages.pinned = null;
    stages.pin({ text, value });
    const at = stages.table.querySelector("span.pinned");
    if (at) at.scrollIntoView({ block: "center" });
  });
  document.addEventListener("keydown", (event) => {
    if (view("stages").hidden || event.target.closest("input, select")) return;
    if (event.key === "ArrowRight") stages.step(1);
    if (event.key === "ArrowLeft") stages.step(-1);
    if (event.key === "Escape" && stages.pinned) stages.pin(stages.pinned);
  });
  open("stages");
}

start();
