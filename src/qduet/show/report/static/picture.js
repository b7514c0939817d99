// The picture of one panel: axes, lines, bands or seeds, marks.
"use strict";

class Picture {
  constructor(chart, spec, number) {
    this.chart = chart;
    this.spec = spec;
    for (const s of spec.series) if (typeof s.x === "string") s.x = spec.grids[s.x];
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
  }

  visible() {
    const { hidden, chosen, published } = this.chart.state;
    return this.spec.series.filter(
      (s) =>
        !hidden.has(s.group) &&
        (published || s.kind !== PUBLISHED) &&
        Object.entries(s.when || {}).every(([id, value]) => chosen[id] === value),
    );
  }

  label(which) {
    return this.spec[which].label || this.chart.first();
  }

  // Few seeds are drawn one by one: their interval would fill the panel.
  bySeed(s) {
    return s.seeds && (this.chart.state.seeds || s.seeds.length < FEW_SEEDS);
  }

  scales(lines, width, height) {
    const { x, y } = this.spec;
    const log = this.chart.state.log || Boolean(y.log);
    const numbers = (values) => values.filter((v) => v !== null && Number.isFinite(v));
    const xs = x.ticks || numbers(lines.flatMap((s) => s.x)).filter((v) => !x.log || v > 0);
    const own = (s) => [s.y, ...(this.bySeed(s) ? s.seeds : [s.low || [], s.high || []])];
    let ys = numbers(lines.flatMap((s) => own(s).flat()));
    // Where all is decided near the top, the beginning of the lines is left out.
    const later = numbers(lines.flatMap((s) => own(s).flatMap((values) => values.slice(1))));
    const [low, high] = [Math.min(...later), Math.max(...later)];
    if (!log && lines.some((s) => s.x.length > 2) && low < high && low > 0.7 * high) ys = later;
    if (y.percent && !log) ys = ys.filter((v) => v <= MOST_PERCENT);
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
      if (y0 === y1) [y0, y1] = y0 === 0 ? [0, 1] : [Math.min(y0, 0), Math.max(y0, 0)];
      const pad = (y1 - y0) * 0.05;
      if (y.max === undefined) y1 += pad;
      if (y.min === undefined) y0 -= pad;
    }
    const room = x.ticks ? (x1 - x0) * 0.04 : 0;
    this.x = axis(x0 - room, x1 + room, MARGIN.left, width - MARGIN.right, Boolean(x.log));
    this.y = axis(y0, y1, height - MARGIN.bottom, MARGIN.top, log);
  }

  draw(wanted = null) {
    const width = Math.max(150, wanted ?? (this.root.clientWidth || 320));
    const height = this.height(width);
    const lines = this.visible();
    this.scales(lines, width, height);
    this.size = { width, height };
    this.unit.textContent = this.spec.y.label; // else the choice above says it
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    drawing.append(this.axes(width, height));
    const inner = svg("g", { "clip-path": `url(#${this.clip})` });
    drawing.append(
      svg(
        "clipPath",
        { id: this.clip },
        svg("rect", {
          x: MARGIN.left - 4,
          y: MARGIN.top - 4,
          width: width - MARGIN.left - MARGIN.right + 8,
          height: height - MARGIN.top - MARGIN.bottom + 8,
        }),
      ),
      inner,
    );
    for (const [row, line] of lines.entries()) inner.append(this.line(line, row));
    this.cursor = svg("g", { class: "cursor", "clip-path": `url(#${this.clip})` });
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
    if (!this.spec.equal) return Math.round(Math.min(330, Math.max(width < 260 ? 170 : 230, width * 0.72)));
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
    const { names = [], ticks: given } = this.spec.x;
    const named = new Set(this.uncrowded(names, given));
    (given || ticks(this.x, width < 260 ? 3 : width < 330 ? 4 : 5)).forEach((v, i) => {
      const x = this.x.at(v);
      g.append(svg("line", { x1: x, x2: x, y1: bottom, y2: bottom + 4, class: "tick" }));
      if (names.length && !named.has(i)) return;
      g.append(svg("text", { x, y: bottom + 18, "text-anchor": "middle" }, names[i] ?? short(v, this.x.high)));
    });
    g.append(svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "base" }));
    const caption = { x: (left + right) / 2, y: height - 6, "text-anchor": "middle", class: "name" };
    g.append(svg("text", caption, this.label("x")));
    if (this.y.low < 0 && this.y.high > 0 && !this.y.log) {
      const zero = this.y.at(0);
      g.append(svg("line", { x1: left, x2: right, y1: zero, y2: zero, class: "zero-line" }));
    }
    return g;
  }

  // Which names of ticks have room beside each other; short ones first.
  uncrowded(names, places) {
    const kept = [];
    const half = (i) => 3.6 * names[i].length + 2;
    const far = (i, j) => Math.abs(this.x.at(places[i]) - this.x.at(places[j]));
    for (const i of [...names.keys()].sort((a, b) => names[a].length - names[b].length))
      if (kept.every((j) => far(i, j) > half(i) + half(j))) kept.push(i);
    return kept;
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
    const style = this.chart.style(s);
    const g = svg("g", { class: `series ${s.kind || ""}`, style: style.css });
    if (this.bySeed(s)) {
      const xs = s.seed_x || s.x;
      for (const seed of s.seeds) g.append(svg("path", { d: this.path(xs, seed), class: "seed" }));
    } else if (s.low) {
      g.append(svg("path", { d: this.area(s), class: "band" }));
    }
    if (s.line !== "") {
      g.append(svg("path", { d: this.path(s.x, s.y), class: "mean", "stroke-dasharray": style.dash }));
    }
    s.x.forEach((x, i) => {
      const centre = { cx: this.x.at(x), cy: s.y[i] === null ? 0 : this.y.at(s.y[i]) };
      if (s.marker && s.y[i] !== null && !(this.y.log && s.y[i] <= 0))
        g.append(svg("circle", { ...centre, r: 3, class: s.open ? "ring" : "dot" }));
      if (s.held_out && s.held_out[i] !== null) g.append(this.cross(x, s.held_out[i]));
      if (s.diverged && s.diverged[i])
        g.append(svg("circle", { cx: centre.cx, cy: MARGIN.top + 3 + 8 * row, r: 2.5, class: "ring" }));
    });
    return g;
  }

  // A cross, or a triangle at the top edge for a value beyond it.
  cross(x, y) {
    const cx = this.x.at(x);
    const cy = this.y.at(Math.min(y, this.y.high));
    const d = y > this.y.high ? "l4 7h-8z" : "m-3.5 -3.5l7 7m0 -7l-7 7";
    return svg("path", { d: `M${cx} ${cy}${d}`, class: "cross" });
  }
}
