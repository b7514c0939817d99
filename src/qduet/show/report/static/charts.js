// A chart: controls and panels, from the data of chart.py. It redraws itself when its width changes.
"use strict";

const DASHES = { "-": "", "--": "6 4", ":": "1.5 4", "-.": "7 4 1.5 4" };
const PUBLISHED = "published"; // the kind of series of other people

class Chart {
  constructor(root, spec, name) {
    this.name = name;
    this.spec = spec;
    this.series = spec.panels.flatMap((panel) => panel.series);
    this.state = { hidden: new Set(), published: true, chosen: {}, seeds: false, log: false };
    for (const select of spec.selects) this.state.chosen[select.id] = select.initial;
    this.panels = spec.panels.map((panel, i) => new Panel(this, panel, i));
    this.status = html("div", { class: "unseen", role: "status" });
    const grid = html("div", { class: `panels of-${{ 1: 1, 2: 2, 5: 5 }[this.panels.length] ?? 3}` });
    grid.append(...this.panels.map((panel) => panel.root));
    this.values = html("details", { class: "values" }, html("summary", {}, "Values of these panels as a table"));
    this.values.addEventListener("toggle", () => this.tabulate());
    root.append(this.controls(), grid, this.values, this.status);
    this.redraw();
    let width = grid.clientWidth;
    new ResizeObserver(() => {
      if (grid.clientWidth === width) return;
      width = grid.clientWidth;
      this.redraw();
    }).observe(grid);
  }

  style(s) {
    const group = this.spec.groups.find((g) => g.id === s.group);
    const theirs = s.kind === PUBLISHED;
    return {
      css: `--light:${group.light};--dark:${group.dark}`,
      dash: theirs ? "5 3" : DASHES[s.line ?? group.line],
      label: [group.label, s.detail, theirs ? PUBLISHED : null].filter(Boolean).join(", "),
    };
  }

  controls() {
    const bar = html("div", { class: "controls" });
    for (const select of this.spec.selects) if (select.values.length > 1) bar.append(this.select(select));
    const legend = html("fieldset", { class: "legend" }, html("legend", { class: "unseen" }, "Shown"));
    for (const group of this.spec.groups) {
      const swatch = html("i", { class: "swatch", style: `--light:${group.light};--dark:${group.dark}` });
      const own = this.series.filter((s) => s.group === group.id);
      const mark = own.length && own.every((s) => s.line === "")
        ? svg("circle", { cx: 13, cy: 5, r: 4 })
        : svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-dasharray": DASHES[group.line] });
      swatch.append(svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, mark));
      legend.append(this.toggle(group.label, true, (on) => this.flip(group.id, on), swatch));
    }
    bar.append(legend);
    const extra = html("fieldset", { class: "views" }, html("legend", { class: "unseen" }, "View"));
    if (this.series.some((s) => s.kind === PUBLISHED))
      extra.append(this.toggle(PUBLISHED, true, (on) => (this.state.published = on)));
    if (this.series.some((s) => s.seeds?.length >= FEW_SEEDS)) extra.append(this.toggle("every seed", false, (on) => (this.state.seeds = on)));
    if (this.spec.panels.every((panel) => !panel.equal && !panel.y.log))
      extra.append(this.toggle("log scale", false, (on) => (this.state.log = on)));
    if (extra.children.length > 1) bar.append(extra);
    return bar;
  }

  flip(group, on) {
    if (on) this.state.hidden.delete(group);
    else this.state.hidden.add(group);
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

  // The name of what is selected first.
  first() {
    const [select] = this.spec.selects;
    return select ? select.labels[select.values.indexOf(this.state.chosen[select.id])] : "";
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
    this.tabulate();
  }

  tabulate() {
    for (const old of this.values.querySelectorAll(".scroll")) old.remove();
    if (this.values.open) this.values.append(...this.panels.map((panel) => panel.table()));
  }
}
