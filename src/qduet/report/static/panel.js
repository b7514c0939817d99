// One panel of a chart: lines with bands or seeds, hover and keyboard reading, the values as a table.
"use strict";

class Panel {
  constructor(chart, spec, number) {
    this.chart = chart;
    this.spec = spec;
    this.clip = `${chart.name}-clip-${number}`;
    this.title = html("h4", {}, spec.title || "");
    this.unit = html("p", { class: "unit" });
    this.plot = html("div", {
      class: "plot",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "chart",
      "aria-label": `${spec.title || "Panel"}. Arrow keys read its values.`,
    });
    this.tip = html("div", { class: "tip", hidden: "" });
    this.root = html("div", { class: "panel" }, this.title, this.unit, this.plot);
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.leave());
    this.plot.addEventListener("blur", () => this.leave());
    this.plot.addEventListener("keydown", (event) => this.key(event));
  }

  visible() {
    const { hidden, chosen, kinds } = this.chart.state;
    return this.spec.series.filter(
      (s) =>
        !hidden.has(s.group) &&
        !(s.kind && kinds.has(s.kind)) &&
        Object.entries(s.when || {}).every(([id, value]) => chosen[id] === value),
    );
  }

  label(which) {
    const said = this.spec[which].label;
    return typeof said === "string" ? said : said[this.chart.state.chosen[said.by]] || "";
  }

  scales(lines, width, height) {
    const { x, y } = this.spec;
    const log = this.chart.state.log || Boolean(y.log);
    const numbers = (values) => values.filter((v) => v !== null && Number.isFinite(v));
    const xs = numbers(lines.flatMap((s) => s.x)).filter((v) => !x.log || v > 0);
    const own = (s) =>
      this.chart.state.seeds && s.seeds ? [s.y, ...s.seeds] : [s.y, s.low || [], s.high || []];
    let ys = numbers(lines.flatMap((s) => own(s).flat()));
    if (y.cap) ys = ys.filter((v) => v <= y.cap);
    if (log) ys = ys.filter((v) => v > 0);
    const range = (values, lower, upper) => [
      lower ?? Math.min(...values, ...(values.length ? [] : [1])),
      upper ?? Math.max(...values, ...(values.length ? [] : [10])),
    ];
    const [x0, x1] = range(xs, x.min ?? undefined, x.max);
    let [y0, y1] = range(ys, log ? undefined : y.min, y.max);
    if (log) {
      y0 = Math.max(y0, y1 * 1e-6) * 0.9;
      y1 *= 1.12;
    } else {
      const pad = (y1 - y0 || Math.abs(y1) || 1) * 0.05;
      if (y.max === undefined) y1 += pad;
      if (y.min === undefined) y0 -= pad;
    }
    const room = x.ticks ? (x1 - x0) * 0.04 : 0;
    this.x = axis(x0 - room, x1 + room, MARGIN.left, width - MARGIN.right, Boolean(x.log));
    this.y = axis(y0, y1, height - MARGIN.bottom, MARGIN.top, log);
  }

  draw(wanted = null) {
    const width = Math.max(240, wanted ?? (this.root.clientWidth || 320));
    const height = this.height(width);
    const lines = this.visible();
    this.scales(lines, width, height);
    this.size = { width, height };
    this.unit.textContent = this.label("y");
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    drawing.append(this.axes(width, height));
    const inner = svg("g", { "clip-path": `url(#${this.clip})` });
    drawing.append(
      svg(
        "clipPath",
        { id: this.clip },
        svg("rect", {
          x: MARGIN.left - 1,
          y: MARGIN.top - 4,
          width: width - MARGIN.left - MARGIN.right + 5,
          height: height - MARGIN.top - MARGIN.bottom + 8,
        }),
      ),
      inner,
    );
    for (const [row, line] of lines.entries()) inner.append(this.line(line, row));
    this.cursor = svg("g", { class: "cursor" });
    drawing.append(this.cursor);
    if (!lines.some((s) => s.y.some((v) => v !== null))) {
      const middle = { x: width / 2, y: height / 2, class: "nothing", "text-anchor": "middle" };
      drawing.append(svg("text", middle, lines.length ? "every run diverged" : "nothing selected"));
    }
    this.plot.replaceChildren(drawing, this.tip);
    this.at = null;
    this.tip.hidden = true;
  }

  height(width) {
    if (!this.spec.equal) return Math.round(Math.min(330, Math.max(230, width * 0.72)));
    const { x, y } = this.spec; // one unit is as long upwards as it is sidewards
    const inner = width - MARGIN.left - MARGIN.right;
    return Math.round((inner * (y.max - y.min)) / (x.max - x.min)) + MARGIN.top + MARGIN.bottom;
  }

  axes(width, height) {
    const g = svg("g", { class: "axes" });
    const [left, right] = [MARGIN.left, width - MARGIN.right];
    const [top, bottom] = [MARGIN.top, height - MARGIN.bottom];
    const percent = this.spec.y.percent ? "%" : "";
    for (const v of ticks(this.y, 5)) {
      const y = this.y.at(v);
      g.append(svg("line", { x1: left, x2: right, y1: y, y2: y, class: "grid" }));
      g.append(svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, short(v, this.y.high) + percent));
    }
    for (const v of this.spec.x.ticks || ticks(this.x, width < 330 ? 4 : 5)) {
      const x = this.x.at(v);
      g.append(svg("line", { x1: x, x2: x, y1: bottom, y2: bottom + 4, class: "tick" }));
      g.append(svg("text", { x, y: bottom + 18, "text-anchor": "middle" }, short(v, this.x.high)));
    }
    g.append(svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "base" }));
    const caption = { x: (left + right) / 2, y: height - 6, "text-anchor": "middle", class: "name" };
    g.append(svg("text", caption, this.label("x")));
    if (this.y.low < 0 && !this.y.log) {
      const zero = this.y.at(0);
      g.append(svg("line", { x1: left, x2: right, y1: zero, y2: zero, class: "tick" }));
    }
    return g;
  }

  path(xs, ys) {
    let text = "";
    let pen = false;
    for (let i = 0; i < xs.length; i++) {
      if (ys[i] === null || xs[i] === null || (this.y.log && ys[i] <= 0)) {
        pen = false;
        continue;
      }
      text += `${pen ? "L" : "M"}${this.x.at(xs[i]).toFixed(1)} ${this.y.at(ys[i]).toFixed(1)}`;
      pen = true;
    }
    return text;
  }

  area(s) {
    const floor = this.y.log ? this.y.low : -Infinity;
    const keep = s.x.map((_, i) => i).filter((i) => s.low[i] !== null && s.high[i] !== null);
    const corner = (v) => (i) =>
      `${this.x.at(s.x[i]).toFixed(1)} ${this.y.at(Math.max(v[i], floor)).toFixed(1)}`;
    const there = keep.map(corner(s.high));
    const back = keep.map(corner(s.low)).reverse();
    return keep.length ? `M${[...there, ...back].join("L")}Z` : "";
  }

  line(s, row) {
    const look = this.chart.look(s);
    const g = svg("g", { class: `series ${s.kind || ""}`, style: look.style });
    const perSeed = this.chart.state.seeds && s.seeds;
    if (perSeed) {
      const xs = s.seedX || s.x;
      for (const seed of s.seeds) g.append(svg("path", { d: this.path(xs, seed), class: "seed" }));
    } else if (s.low) {
      g.append(svg("path", { d: this.area(s), class: "band" }));
    }
    if (!s.points) {
      g.append(svg("path", { d: this.path(s.x, s.y), class: "mean", "stroke-dasharray": look.dash }));
    }
    s.x.forEach((x, i) => {
      const centre = { cx: this.x.at(x), cy: s.y[i] === null ? 0 : this.y.at(s.y[i]) };
      if ((s.dots || s.points) && s.y[i] !== null)
        g.append(svg("circle", { ...centre, r: s.size || 3, class: s.open ? "ring" : "dot" }));
      if (s.held && s.held[i] !== null) g.append(this.cross(x, s.held[i]));
      if (s.diverged && s.diverged[i])
        g.append(svg("circle", { cx: centre.cx, cy: MARGIN.top + 3 + 8 * row, r: 2.5, class: "ring" }));
    });
    return g;
  }

  cross(x, y) {
    const cx = this.x.at(x);
    if (y > this.y.high) {
      const top = MARGIN.top;
      return svg("path", { d: `M${cx - 4} ${top + 6}L${cx} ${top}L${cx + 4} ${top + 6}Z`, class: "dot" });
    }
    const cy = this.y.at(y);
    return svg("path", {
      d: `M${cx - 3.5} ${cy - 3.5}l7 7m0 -7l-7 7`,
      class: "cross",
    });
  }

  // --- Reading values ------------------------------------------------------------------------

  stops() {
    const all = new Set(this.visible().flatMap((s) => s.x));
    return [...all].filter((v) => v !== null && !(this.x.log && v <= 0)).sort((a, b) => a - b);
  }

  point(event) {
    const box = this.plot.getBoundingClientRect();
    const ratio = this.size.width / box.width;
    const [px, py] = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    const stops = this.stops();
    if (!stops.length) return;
    const near = stops.reduce((a, b) =>
      Math.abs(this.x.at(b) - px) < Math.abs(this.x.at(a) - px) ? b : a,
    );
    this.read(near, py);
  }

  key(event) {
    const stops = this.stops();
    const now = stops.indexOf(this.at);
    const pace = Math.max(1, Math.round(stops.length / 20));
    const next = {
      ArrowRight: now < 0 ? 0 : Math.min(stops.length - 1, now + (event.shiftKey ? 1 : pace)),
      ArrowLeft: now < 0 ? stops.length - 1 : Math.max(0, now - (event.shiftKey ? 1 : pace)),
      Home: 0,
      End: stops.length - 1,
    }[event.key];
    if (event.key === "Escape") this.leave();
    if (next === undefined || !stops.length) return;
    event.preventDefault();
    this.read(stops[next], null);
    this.chart.say([...this.tip.children].map((row) => row.textContent).join("; "));
  }

  read(x, py) {
    this.at = x;
    const percent = this.spec.y.percent ? " %" : "";
    const at = `${this.spec.x.short || this.label("x")}: ${x.toLocaleString("en-GB", { maximumSignificantDigits: 4 })}`;
    const rows = [html("div", { class: "where" }, at)];
    const marks = [];
    for (const s of this.visible()) {
      const i = s.x.indexOf(x);
      if (i < 0) continue;
      const look = this.chart.look(s);
      const name = html("span", { class: "who" }, html("i", { style: look.style }), look.label);
      rows.push(html("div", {}, name, ` ${this.value(s, i, percent)}`));
      if (s.y[i] !== null && s.y[i] <= this.y.high)
        marks.push(svg("circle", { cx: this.x.at(x), cy: this.y.at(s.y[i]), r: 4, class: "dot", style: look.style }));
    }
    const seed = py === null ? null : this.nearest(x, py);
    if (seed) {
      rows.push(html("div", { class: "where" }, seed.text));
      marks.unshift(seed.path);
    }
    const px = this.x.at(x);
    const { height, width } = this.size;
    this.cursor.replaceChildren(
      svg("line", { x1: px, x2: px, y1: MARGIN.top, y2: height - MARGIN.bottom }),
      ...marks,
    );
    this.tip.replaceChildren(...rows);
    this.tip.hidden = false;
    const box = this.plot.clientWidth;
    const place = (px / width) * box;
    const wide = this.tip.offsetWidth;
    const left = place + 14 + wide > box ? place - wide - 14 : place + 14;
    this.tip.style.left = `${Math.max(0, Math.min(left, box - wide))}px`;
  }

  value(s, i, percent) {
    const lost = s.diverged && s.diverged[i] ? `${s.diverged[i]} of ${s.runs} runs diverged` : "";
    if (s.y[i] === null) return lost || "diverged";
    const half = s.low && s.low[i] !== null ? ` ± ${decimals((s.high[i] - s.low[i]) / 2)}` : "";
    const notes = [s.note, s.held && s.held[i] !== null ? `α from other seeds: ${decimals(s.held[i])}` : null];
    const extra = [...notes, lost].filter(Boolean).join("; ");
    return `${decimals(s.y[i])}${half}${percent}${extra ? ` (${extra})` : ""}`;
  }

  nearest(x, py) {
    if (!this.chart.state.seeds) return null;
    let found = null;
    for (const s of this.visible()) {
      if (!s.seeds) continue;
      const xs = s.seedX || s.x;
      const i = xs.reduce((a, v, j) => (Math.abs(v - x) < Math.abs(xs[a] - x) ? j : a), 0);
      s.seeds.forEach((seed, k) => {
        if (seed[i] === null) return;
        const far = Math.abs(this.y.at(seed[i]) - py);
        if (!found || far < found.far) found = { far, s, k, v: seed[i], xs };
      });
    }
    if (!found || found.far > 40) return null;
    const { s, k, v, xs } = found;
    const look = this.chart.look(s);
    return {
      text: `seed ${s.seedNames ? s.seedNames[k] : k} of ${look.label}: ${decimals(v)}`,
      path: svg("path", { d: this.path(xs, s.seeds[k]), class: "picked", style: look.style }),
    };
  }

  leave() {
    this.at = null;
    this.tip.hidden = true;
    this.cursor.replaceChildren();
  }

  table() {
    const lines = this.visible();
    const all = this.stops();
    const every = Math.max(1, Math.ceil(all.length / 21));
    const stops = all.filter((_, i) => i % every === 0 || i === all.length - 1);
    const percent = this.spec.y.percent ? " %" : "";
    const head = [this.label("x"), ...lines.map((s) => this.chart.look(s).label)];
    const rows = stops.map((x) => [
      x.toLocaleString("en-GB", { maximumSignificantDigits: 4 }),
      ...lines.map((s) => (s.x.includes(x) ? this.value(s, s.x.indexOf(x), percent) : "")),
    ]);
    const cells = (tag, texts) => texts.map((text) => html(tag, tag === "th" ? { scope: "col" } : {}, text));
    return html(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": this.spec.title || "Values" },
      html(
        "table",
        {},
        html("caption", {}, `${this.spec.title || ""}: ${this.label("y")}`),
        html("thead", {}, html("tr", {}, ...cells("th", head))),
        html("tbody", {}, ...rows.map((row) => html("tr", {}, ...cells("td", row)))),
      ),
    );
  }
}
