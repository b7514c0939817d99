// What the charts are drawn with: elements, axes, numbers as text.
//
// Everything that comes from the data reaches the page as a text node or an attribute, never as
// markup.
"use strict";

const NS = "http://www.w3.org/2000/svg";
const MOST_PERCENT = 200; // errors above it come from runs that diverge
const FEW_SEEDS = 5; // fewer are drawn as seeds, not as an interval
const MARGIN = { left: 46, right: 12, top: 10, bottom: 43 };

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const html = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(NS, tag), attributes, children);

// --- Axes ----------------------------------------------------------------------------------

function axis(low, high, start, end, log) {
  const f = log ? Math.log10 : (v) => v;
  const [a, b] = [f(low), f(high)];
  const span = b - a || 1;
  return { low, high, log, at: (v) => start + ((f(v) - a) / span) * (end - start) };
}

function ticks(scale, count) {
  if (!scale.log) {
    const raw = (scale.high - scale.low) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= raw * 0.999);
    const first = Math.ceil(scale.low / step - 1e-9);
    const found = [];
    for (let i = first; i * step <= scale.high * (1 + 1e-9) + 1e-12; i++) found.push(i * step);
    return found;
  }
  const [a, b] = [Math.log10(scale.low), Math.log10(scale.high)];
  const found = [];
  const every = Math.max(1, Math.ceil((b - a) / count));
  for (let p = Math.floor(a); p <= b; p += every) {
    for (const m of b - a < 1.3 ? [1, 2, 5] : b - a < 2.2 && every === 1 ? [1, 3] : [1]) {
      const v = m * 10 ** p;
      if (v >= scale.low * 0.999 && v <= scale.high * 1.001) found.push(v);
    }
  }
  return found;
}

// A tick's text; `most` is the largest value of its axis, which decides between 5000 and 5k.
function short(v, most) {
  const minus = (text) => text.replace("-", "−");
  if (v === 0) return "0";
  if (most >= 1e6 && Math.abs(v) >= 1e3)
    return Math.abs(v) >= 1e6 ? minus(`${+(v / 1e6).toPrecision(4)}M`) : minus(`${+(v / 1e3).toPrecision(4)}k`);
  if (most >= 1e4 && Math.abs(v) >= 1e3) return minus(`${+(v / 1e3).toPrecision(4)}k`);
  if (Math.abs(v) < 1e-3) return minus(v.toExponential(0));
  return minus(String(+v.toPrecision(4)));
}

const decimals = (v) =>
  (Math.abs(v) < 0.01 && v !== 0 ? v.toPrecision(3) : v.toFixed(2)).replace(/^-/, "−");
