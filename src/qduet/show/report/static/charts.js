// A chart: controls and panels, from the data of chart.py. It redraws itself when its width changes.
"use strict";

class Chart {
  constructor(root, spec, name) {
    this.name = name;
    this.spec = spec;
    this.state = { hidden: new Set(), kinds: new Set(), chosen: {}, seeds: false, log: false };
    for (const select of spec.selects || []) this.state.chosen[select.id] = select.initial;
    this.panels = spec.panels.map((panel, i) => new Panel(this, panel, i));
    this.status = html("div", { class: "unseen", role: "status" });
    const grid = html("div", { class: `panels of-${Math.min(3, this.panels.length)}` });
    grid.append(...this.panels.map((panel) => panel.root));
    this.values = html("details", { class: "values" }, html("summary", {}, "Values of these panels as a table"));
    this.values.addEventListener("toggle", () => this.tabulate());
    this.about = html("p", { class: "setting about" });
    root.append(this.controls(), grid, this.about, this.values, this.status);
    this.redraw();
    let width = grid.clientWidth;
    new ResizeObserver(() => {
      if (grid.clientWidth === width) return;
      width = grid.clientWidth;
      this.redraw();
    }).observe(grid);
  }

  look(s) {
    const group = this.spec.groups.find((g) => g.id === s.group);
    const kind = (this.spec.kinds || []).find((k) => k.id === s.kind);
    return {
      style: `--light:${group.light};--dark:${group.dark}`,
      dash: s.dash ?? (kind && kind.dash ? kind.dash : group.dash),
      label: s.name || (kind && kind.suffix ? `${group.label}, ${kind.suffix}` : group.label),
    };
  }

  controls() {
    const bar = html("div", { class: "controls" });
    for (const select of this.spec.selects || []) if (select.values.length > 1) bar.append(this.select(select));
    const legend = html("fieldset", { class: "legend" }, html("legend", { class: "unseen" }, "Shown"));
    for (const group of this.spec.groups) {
      const swatch = html("i", { class: "swatch", style: `--light:${group.light};--dark:${group.dark}` });
      const mark = group.points
        ? svg("circle", { cx: 13, cy: 5, r: 4 })
        : svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-dasharray": group.dash });
      swatch.append(svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, mark));
      legend.append(this.toggle(group.label, true, (on) => this.flip("hidden", group.id, on), swatch));
    }
    bar.append(legend);
    const extra = html("fieldset", { class: "views" }, html("legend", { class: "unseen" }, "View"));
    for (const kind of this.spec.kinds || []) {
      if (kind.label) extra.append(this.toggle(kind.label, true, (on) => this.flip("kinds", kind.id, on)));
    }
    if (this.spec.seeds) extra.append(this.toggle("every seed", false, (on) => (this.state.seeds = on)));
    if (this.spec.log) extra.append(this.toggle("log scale", false, (on) => (this.state.log = on)));
    if (extra.children.length > 1) bar.append(extra);
    return bar;
  }

  flip(set, id, on) {
    if (on) this.state[set].delete(id);
    else this.state[set].add(id);
  }

  toggle(label, on, change, swatch = null) {
    const box = html("input", { type: "checkbox" });
    box.checked = on;
    box.addEventListener("change", () => {
      change(box.checked);
      this.redraw();
    });
    return html("label", {}, box, swatch, ` ${label}`);
  }

  select(select) {
    const names = select.labels || select.values;
    const options = select.values.map((value, i) => html("option", { value }, names[i]));
    const id = `${this.name}-${select.id}`;
    const node = html("select", { id }, ...options);
    node.value = select.initial;
    node.addEventListener("change", () => {
      this.state.chosen[select.id] = node.value;
      this.redraw();
    });
    return html("span", { class: "select" }, html("label", { for: id }, select.label), node);
  }

  // A text, or the one that belongs to what is selected.
  text(said) {
    return typeof said === "string" ? said : said[this.state.chosen[said.by]] || "";
  }

  say(text) {
    this.status.textContent = text;
  }

  // On paper three panels share a line, and text must not shrink with them.
  redrawForPaper() {
    const width = { 1: 600, 2: 330 }[this.panels.length] ?? 240;
    for (const panel of this.panels) panel.draw(width);
  }

  redraw() {
    for (const panel of this.panels) panel.draw();
    this.about.textContent = this.text(this.spec.about || "");
    this.about.hidden = !this.about.textContent;
    this.tabulate();
  }

  tabulate() {
    for (const old of this.values.querySelectorAll(".scroll")) old.remove();
    if (this.values.open) this.values.append(...this.panels.map((panel) => panel.table()));
  }
}
