// A panel that can be read: by pointer, by keyboard, as a table.
"use strict";

class Panel extends Picture {
  constructor(chart, spec, number) {
    super(chart, spec, number);
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.leave());
    this.plot.addEventListener("blur", () => this.leave());
    this.plot.addEventListener("keydown", (event) => this.key(event));
  }

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

  // A place on the axis of x: its name, or the number.
  name(x) {
    const { names, ticks } = this.spec.x;
    return names ? names[ticks.indexOf(x)] : x.toLocaleString("en-GB", { maximumSignificantDigits: 4 });
  }

  read(x, py) {
    this.at = x;
    const percent = this.spec.y.percent ? " %" : "";
    const at = `${this.label("x")}: ${this.name(x)}`;
    const rows = [html("div", { class: "where" }, at)];
    const marks = [];
    for (const s of this.visible()) {
      const i = s.x.indexOf(x);
      if (i < 0) continue;
      const style = this.chart.style(s);
      const name = html("span", { class: "who" }, html("i", { style: style.css }), style.label);
      rows.push(html("div", {}, name, ` ${this.value(s, i, percent)}`));
      if (s.y[i] !== null && s.y[i] >= this.y.low && s.y[i] <= this.y.high)
        marks.push(svg("circle", { cx: this.x.at(x), cy: this.y.at(s.y[i]), r: 4, class: "dot", style: style.css }));
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
    const notes = [s.note, s.held_out && s.held_out[i] !== null ? `α from other seeds: ${decimals(s.held_out[i])}` : null];
    const extra = [...notes, lost].filter(Boolean).join("; ");
    return `${decimals(s.y[i])}${half}${percent}${extra ? ` (${extra})` : ""}`;
  }

  nearest(x, py) {
    let found = null;
    for (const s of this.visible()) {
      if (!this.bySeed(s)) continue;
      const xs = s.seed_x || s.x;
      const i = xs.reduce((a, v, j) => (Math.abs(v - x) < Math.abs(xs[a] - x) ? j : a), 0);
      s.seeds.forEach((seed, k) => {
        if (seed[i] === null) return;
        const far = Math.abs(this.y.at(seed[i]) - py);
        if (!found || far < found.far) found = { far, s, k, v: seed[i], xs };
      });
    }
    if (!found || found.far > 40) return null;
    const { s, k, v, xs } = found;
    const style = this.chart.style(s);
    return {
      text: `seed ${s.seed_names ? s.seed_names[k] : k} of ${style.label}: ${decimals(v)}`,
      path: svg("path", { d: this.path(xs, s.seeds[k]), class: "picked", style: style.css }),
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
    const head = [this.label("x"), ...lines.map((s) => this.chart.style(s).label)];
    const rows = stops.map((x) => [
      this.name(x),
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
