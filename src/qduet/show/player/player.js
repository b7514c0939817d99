/* The player: an episode frame by frame, with V(s), A(s, ·) and Q(s, ·) beside the board.

   Plain JavaScript without dependencies; makes no request; all text is set as text, never as HTML.
   Load player.css with it (qduet.player.page puts both into a page).

     const player = qduet.mountPlayer(container, recording, { start: 0.4, small: true });
         container   an element; its content is replaced
         recording   the JSON document that `qduet watch` writes (parsed), see recording_file.py
         start       where it begins, as a share of its frames (0)
         small       only the board, the values and the buttons (false)
         returns at once; the recording is unpacked in the background:
     await player.ready        resolves when the first frame is shown; never rejects: a recording
                               that cannot be read is reported inside the container
     await player.load(other)  shows another recording in the same place (at `start`, paused)
     player.show(t)            goes to frame t, 0 … player.frames (the last is the final board)
     player.play(), player.pause(), player.playing, player.frame, player.frames
     player.destroy()          stops it and empties the container
     qduet.mountGallery(container, recordings, options)
                               a player with menus for game, agent and episode above it;
                               returns {player, select(index)}
     await qduet.decode(recording)
                               the arrays: {observations, action, random, executed, reward, v, adv,
                               q, target, returnToGo}, adv and q as flat [T * actions]

   Events on the container: "qduet-frame" (detail: {frame}) after each frame shown.
   Keys, while the focus is inside: space play or pause; left and right one step (with shift ten);
   home and end; + and - speed.
   Themes: follows the system, or data-theme="light" / "dark" on the root element (<html>).
*/
"use strict";
(() => {
  const SIDE = 10;
  const SPEEDS = [1, 2, 5, 10, 20, 40];
  const SVG = "http://www.w3.org/2000/svg";
  const NAMES = {
    dqn: "DQN", dueling_dqn: "Dueling DQN", rdq: "RDQ", double_dqn: "Double DQN",
    dqv: "DQV", dqv_max: "DQV-Max", bc_qvmax: "BC-QVMAX",
  };
  const isAv = (agent) => (agent.algorithm ?? "av") === "av";
  const isAlone = (agent) => isAv(agent) && agent.w === 0;
  let mounted = 0;

  // --- Reading a recording ------------------------------------------------------------------

  function layout(recording) {
    const frames = recording.frames, actions = recording.actions.length;
    const bytes = Math.ceil((recording.channels.length * SIDE * SIDE) / 8);
    const each = frames * actions;
    return [
      ["observations", 1, (frames + 1) * bytes],
      ["action", 1, frames], ["random", 1, frames], ["executed", 1, frames],
      ["reward", recording.rewards === "float32" ? 4 : 1, frames],
      ["v", 4, frames], ["adv", 4, each], ["q", 4, each],
      ["target", 4, frames], ["returnToGo", 4, frames],
    ];
  }

  async function inflate(text) {
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  function floats(planes, count) {
    const view = new DataView(new ArrayBuffer(4 * count));
    for (let i = 0; i < count; i++)
      for (let byte = 0; byte < 4; byte++) view.setUint8(4 * i + byte, planes[byte * count + i]);
    return Float32Array.from({ length: count }, (_, i) => view.getFloat32(4 * i, true));
  }

  async function decode(recording) {
    if (recording?.kind !== "qduet-recording" || recording.format !== 1)
      throw new Error("this is not a recording of qduet watch");
    const raw = await inflate(recording.data);
    const plan = layout(recording), arrays = {};
    let at = 0;
    for (const [name, width, count] of plan) {
      const part = raw.subarray(at, at + width * count);
      if (part.length !== width * count) throw new Error("the recording is incomplete");
      arrays[name] = width === 4 ? floats(part, count) : part.slice();
      at += width * count;
    }
    const seen = arrays.observations, bytes = seen.length / (recording.frames + 1);
    for (let i = bytes; i < seen.length; i++) seen[i] ^= seen[i - bytes];
    if (recording.rewards !== "float32") arrays.reward = new Int8Array(arrays.reward.buffer);
    return arrays;
  }

  // --- Small things -------------------------------------------------------------------------

  function make(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (name === "text") element.textContent = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function draw(tag, attributes, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  /* Icons are drawn: fonts lack some of the signs, or show them in colours. */
  const ICONS = {
    first: "M4 3h2v10H4zM13 3v10L6.5 8z", back: "M11.5 3v10L4.5 8z", play: "M4 2.5v11L13 8z",
    pause: "M4 3h3v10H4zM9 3h3v10H9z", on: "M4.5 3v10l7-5z", last: "M3 3v10l6.5-5zM10 3h2v10h-2z",
  };
  const icon = (name) => draw("svg", { viewBox: "0 0 16 16", class: "qp-icon", "aria-hidden": "true" },
    draw("path", { d: ICONS[name] }));

  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const words = (name) => name.replaceAll("_", " ");
  const spaced = (name) => name.replace(/(?!^)([A-Z])/g, " $1");  // SpaceInvaders
  const number = (x) => (Number.isFinite(x) ? x.toFixed(Math.abs(x) < 100 ? 2 : 1) : String(x))
    .replace("-", "−").replace(/^−(0\.?0*)$/, "$1");
  const sum = (x) => String(Number(x.toPrecision(7))).replace("-", "−");
  const thousands = (n) => n.toString().replace(/\B(?=(\d{3})+$)/g, ",");

  /* The smallest interval that holds 0 and all finite numbers of the arrays. */
  function range(...arrays) {
    let low = 0, high = 0;
    for (const array of arrays)
      for (const x of array)
        if (Number.isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
    return low === high ? [low - 1, high + 1] : [low, high];
  }

  // --- Parts of the player: each gives an element and a function that shows frame t ----------

  function boardPart(recording, arrays) {
    const { channels, colours, frames } = recording;
    const bytes = arrays.observations.length / (frames + 1);
    const cells = [];
    for (let y = 0; y < SIDE; y++)
      for (let x = 0; x < SIDE; x++)
        cells.push(draw("rect", { x: x + 0.03, y: y + 0.03, width: 0.94, height: 0.94 }));
    const svg = draw("svg", { viewBox: "0 0 10 10", role: "img", class: "qp-board" }, ...cells);
    const legend = make("ul", { class: "qp-legend", "aria-label": "what the colours show" });
    channels.forEach((name, i) => {
      const swatch = make("span", { class: "qp-swatch", "aria-hidden": "true" });
      swatch.style.backgroundColor = colours[i];
      legend.append(make("li", {}, swatch, words(name)));
    });
    const bit = (t, k) => (arrays.observations[t * bytes + (k >> 3)] >> (k & 7)) & 1;
    function show(t) {
      const counts = channels.map(() => 0);
      cells.forEach((cell, i) => {
        let colour = "#000";
        for (let c = 0; c < channels.length; c++)
          if (bit(t, c * SIDE * SIDE + i)) { colour = colours[c]; counts[c]++; }
        cell.style.fill = colour;
      });
      const there = channels.map((name, c) => [words(name), counts[c]]).filter((x) => x[1]);
      const listed = there.map(([name, n]) => `${name} in ${n} ${n === 1 ? "cell" : "cells"}`);
      svg.setAttribute("aria-label", `${spaced(recording.game)}, frame ${t}: ${listed.join(", ")}`);
    }
    return { element: make("div", { class: "qp-stage" }, svg, legend), show };
  }

  function bar(kind, [low, high]) {
    const fill = make("span", { class: `qp-fill qp-${kind}` });
    const zero = make("span", { class: "qp-zero" });
    const share = (x) => (100 * (clamp(x, low, high) - low)) / (high - low);
    zero.style.left = `${share(0)}%`;
    const track = make("span", { class: "qp-track", "aria-hidden": "true" }, fill, zero);
    const text = make("span", { class: "qp-number" });
    function set(x) {
      const end = Number.isFinite(x) ? share(x) : share(0), from = share(0);
      fill.style.left = `${Math.min(from, end)}%`;
      fill.style.width = `${Math.abs(end - from)}%`;
      text.textContent = x === null ? "–" : number(x);
    }
    return { element: make("div", { class: "qp-bar" }, track, text), set };
  }

  function valuesPart(recording, arrays) {
    const { actions, agent, frames } = recording;
    const count = actions.length;
    const alone = isAlone(agent);
    const shared = range(alone ? [] : arrays.v, arrays.q);
    const vBar = bar("v", alone ? range(arrays.v) : shared);
    const rows = actions.map((name) => {
      const mark = make("span", { class: "qp-mark" });
      const a = bar("adv", range(arrays.adv)), q = bar("q", shared);
      const element = make("tr", {}, make("th", { scope: "row" }, `${words(name)} `, mark),
        make("td", {}, a.element), make("td", {}, q.element));
      return { element, mark, a, q };
    });
    const formula = alone ? "Q = A (this agent does not use V)"
      : !isAv(agent) ? "Q and V are learnt apart; A = Q − V"
      : agent.c ? "Q = V + A − mean A" : "Q = V + A";
    const head = make("tr", {}, make("th", { scope: "col", text: "action" }),
      make("th", { scope: "col", text: "A(s, a)" }), make("th", { scope: "col", text: "Q(s, a)" }));
    const table = make("table", { class: "qp-values" },
      make("caption", { text: formula }),
      make("thead", {}, head), make("tbody", {}, ...rows.map((row) => row.element)));
    const v = make("div", { class: alone ? "qp-state qp-unused" : "qp-state" },
      make("span", { class: "qp-name", text: "V(s)" }), vBar.element);
    function show(t) {
      const over = t >= frames;
      vBar.set(over ? null : arrays.v[t]);
      const best = over ? null : Math.max(...arrays.q.subarray(t * count, (t + 1) * count));
      rows.forEach((row, i) => {
        const q = over ? null : arrays.q[t * count + i];
        const chosen = !over && arrays.action[t] === i;
        row.a.set(over ? null : arrays.adv[t * count + i]);
        row.q.set(q);
        row.element.classList.toggle("qp-chosen", chosen);
        row.element.classList.toggle("qp-best", !over && q === best);
        row.mark.textContent = chosen ? (arrays.random[t] ? "at random" : "chosen") : "";
      });
    }
    return { element: make("div", { class: "qp-panel" }, v, table), show };
  }

  function factsPart(recording, arrays) {
    const { actions, frames } = recording;
    const count = actions.length;
    const score = new Float64Array(frames + 1);
    for (let t = 0; t < frames; t++) score[t + 1] = score[t] + arrays.reward[t];
    const list = make("dl", { class: "qp-facts" });
    const fact = (name) => {
      const term = make("dt", { text: name }), value = make("dd", {});
      list.append(make("div", {}, term, value));
      return (text, note = "") => { term.textContent = name + note; value.textContent = text; };
    };
    const [points, reward] = ["score", "reward"].map(fact);
    const q = fact("Q of the choice"), target = fact("TD target r + γ max Q′");
    const realised = fact(recording.ended ? "realised return" : "return, as far as recorded");
    const executed = fact("executed");
    function show(t) {
      const over = t >= frames;
      points(sum(score[t]));
      reward(over ? "–" : number(arrays.reward[t]).replace(/\.00$/, ""));
      q(over ? "–" : number(arrays.q[t * count + arrays.action[t]]));
      target(over ? "–" : number(arrays.target[t]));
      realised(over ? "–" : number(arrays.returnToGo[t]));
      const done = over ? "" : recording.all_actions[arrays.executed[t]];
      const sticky = !over && done !== actions[arrays.action[t]];
      executed(over ? (recording.ended ? "game over" : "recording ends") : words(done),
        sticky ? " (sticky)" : "");
    }
    return { element: list, show };
  }

  function chartPart(recording, arrays, seek) {
    const { frames, actions, agent } = recording;
    const count = actions.length;
    const chosen = Float32Array.from({ length: frames },
      (_, t) => arrays.q[t * count + arrays.action[t]]);
    const lines = [["q", "Q of the choice", chosen], ["return", "realised return", arrays.returnToGo]];
    if (!isAlone(agent)) lines.unshift(["v", "V(s)", arrays.v]);
    const [low, high] = range(...lines.map((line) => line[2]));
    const y = (value) => (100 * (high - value)) / (high - low);
    const svg = draw("svg", {
      viewBox: `0 0 ${Math.max(frames, 1)} 100`, preserveAspectRatio: "none", class: "qp-chart",
      role: "img", "aria-label":
        `V, Q of the chosen action and realised return over ${frames} frames, ` +
        `from ${number(low)} to ${number(high)}; the slider below moves through them`,
    });
    for (let t = 0; t < frames; t++)
      if (arrays.reward[t]) svg.append(draw("line", {
        x1: t + 0.5, x2: t + 0.5, y1: 0, y2: 100,
        class: arrays.reward[t] > 0 ? "qp-reward" : "qp-reward qp-loss" }));
    svg.append(draw("line", { x1: 0, x2: frames, y1: y(0), y2: y(0), class: "qp-axis" }));
    for (const [kind, , values] of lines) {
      const points = Array.from(values, (value, t) =>
        `${t + 0.5},${Number.isFinite(value) ? y(value).toFixed(2) : y(0)}`);
      svg.append(draw("polyline", { points: points.join(" "), class: `qp-line qp-line-${kind}` }));
    }
    const cursor = draw("line", { y1: 0, y2: 100, class: "qp-cursor" });
    svg.append(cursor);
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      seek(Math.floor(((event.clientX - box.left) / box.width) * frames));
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      at(event);
    });
    svg.addEventListener("pointermove", (event) => { if (event.buttons & 1) at(event); });
    const key = make("ul", { class: "qp-key", "aria-label": "lines of the chart" },
      ...lines.map(([kind, name]) => make("li", {},
        make("span", { class: `qp-dash qp-dash-${kind}`, "aria-hidden": "true" }), name)),
      make("li", {}, make("span", { class: "qp-dash qp-dash-reward", "aria-hidden": "true" }), "reward"));
    const scale = make("div", { class: "qp-scale", "aria-hidden": "true" },
      make("span", { text: number(high) }), make("span", { text: number(low) }));
    const element = make("div", { class: "qp-over" }, key, make("div", { class: "qp-plot" }, scale, svg));
    const show = (t) => { for (const x of ["x1", "x2"]) cursor.setAttribute(x, Math.min(t + 0.5, frames)); };
    return { element, show };
  }

  // --- The player ---------------------------------------------------------------------------

  function title(recording) {
    const name = NAMES[recording.label] ?? recording.label;
    const trained = recording.step ? `trained for ${thousands(recording.step)} steps` : "untrained";
    const parts = [`run ${recording.seed}`, trained, `episode ${recording.episode_seed}`,
      `ε = ${recording.epsilon}`, `score ${sum(recording.score)} in ${thousands(recording.frames)} frames`];
    if (!recording.ended) parts.push("cut short by the recording's limit");
    return [`${spaced(recording.game)} · ${name}`, parts.join(" · ")];
  }

  function mountPlayer(container, recording, { start = 0, small = false } = {}) {
    const id = `qduet-player-${++mounted}`;
    const root = make("section", { class: small ? "qduet-player qp-small" : "qduet-player" });
    const state = { frame: 0, frames: 0, timer: null, due: 0, speed: 10, parts: [], turn: 0 };
    let controls = null;

    function show(t) {
      state.frame = clamp(Math.round(t) || 0, 0, state.frames);
      for (const part of state.parts) part.show(state.frame);
      controls?.update();
      container.dispatchEvent(new CustomEvent("qduet-frame", { detail: { frame: state.frame } }));
    }

    function tick(now) {
      if (now >= state.due) {
        const step = 1000 / state.speed;
        const behind = Math.max(1, Math.floor((now - state.due) / step));
        state.due = Math.max(state.due + behind * step, now);
        show(state.frame + Math.min(behind, 4));
        if (state.frame >= state.frames) return pause();
      }
      state.timer = requestAnimationFrame(tick);
    }

    function play() {
      if (state.timer !== null || !state.frames) return;
      if (state.frame >= state.frames) show(0);
      state.due = performance.now() + 1000 / state.speed;
      state.timer = requestAnimationFrame(tick);
      controls.update();
    }

    function pause() {
      if (state.timer !== null) cancelAnimationFrame(state.timer);
      state.timer = null;
      controls?.update();
    }

    const seek = (t) => { pause(); show(t); };

    function makeControls() {
      const button = (shape, name, action) => make("button",
        { type: "button", "aria-label": name, title: name, onclick: action }, icon(shape));
      const toggle = button("play", "play", () => (state.timer === null ? play() : pause()));
      toggle.classList.add("qp-toggle");
      const slider = make("input", { type: "range", min: 0, max: state.frames, step: 1, value: 0,
        "aria-label": "frame", oninput: () => seek(Number(slider.value)) });
      const speed = make("select", { id: `${id}-speed`, onchange: () => {
        state.speed = Number(speed.value);
      } }, ...SPEEDS.map((n) => make("option", { value: n, text: `${n} frames/s` })));
      const readout = make("output", { class: "qp-frame", "aria-live": "off" });
      const faster = (by) => {
        const next = clamp(SPEEDS.indexOf(state.speed) + by, 0, SPEEDS.length - 1);
        state.speed = SPEEDS[next];
        update();
      };
      function update() {
        const playing = state.timer !== null;
        const does = playing ? "pause" : "play";
        if (toggle.title !== does) {
          toggle.replaceChildren(icon(does));
          for (const name of ["aria-label", "title"]) toggle.setAttribute(name, does);
        }
        slider.value = state.frame;
        slider.setAttribute("aria-valuetext", `frame ${state.frame} of ${state.frames}`);
        speed.value = state.speed;
        readout.textContent = `${state.frame} / ${state.frames}`;
      }
      const element = make("div", { class: "qp-controls", role: "group", "aria-label": "playback" },
        make("div", { class: "qp-buttons" },
          button("first", "first frame", () => seek(0)),
          button("back", "one frame back", () => seek(state.frame - 1)), toggle,
          button("on", "one frame on", () => seek(state.frame + 1)),
          button("last", "last frame", () => seek(state.frames))),
        slider, readout,
        make("label", { class: "qp-hidden", for: `${id}-speed`, text: "speed" }), speed);
      return { element, update, faster };
    }

    function pressed(event) {
      if (!state.frames || event.ctrlKey || event.metaKey || event.altKey) return;
      const tag = event.target.tagName, far = event.shiftKey ? 10 : 1;
      const menu = tag === "SELECT";
      const actions = {
        " ": () => (state.timer === null ? play() : pause()),
        ArrowLeft: () => seek(state.frame - far), ArrowRight: () => seek(state.frame + far),
        Home: () => seek(0), End: () => seek(state.frames),
        "+": () => controls.faster(1), "=": () => controls.faster(1), "-": () => controls.faster(-1),
      };
      if (!(event.key in actions) || menu || (event.key === " " && tag === "BUTTON")) return;
      event.preventDefault();
      actions[event.key]();
    }

    function fill(shown, arrays) {
      const [name, details] = title(shown);
      root.setAttribute("aria-label", `replay: ${name}`);
      state.frames = shown.frames;
      const board = boardPart(shown, arrays), values = valuesPart(shown, arrays);
      const facts = factsPart(shown, arrays), chart = chartPart(shown, arrays, seek);
      state.parts = [board, values, facts, chart];
      controls = makeControls();
      const begin = () => show(Math.ceil(start * state.frames));
      if (small) {
        state.parts = [board, values];
        const score = `final score ${sum(shown.score)}`;
        root.replaceChildren(board.element, controls.element,
          make("p", { class: "qp-help", text: `${name} · ${score}` }), values.element);
        return begin();
      }
      const help = "space plays, ← → step (shift: ten), home and end, + and − change the speed";
      root.replaceChildren(
        make("header", {}, make("h2", { text: name }), make("p", { text: details })),
        make("div", { class: "qp-main" }, board.element,
          make("div", { class: "qp-side" }, values.element, facts.element)),
        chart.element, controls.element, make("p", { class: "qp-help", text: help }));
      begin();
    }

    async function load(next) {
      const turn = ++state.turn;
      pause();
      try {
        const arrays = await decode(next);
        if (turn === state.turn) fill(next, arrays);
      } catch (error) {
        if (turn !== state.turn) return;
        state.frames = 0;
        root.replaceChildren(make("p", { role: "alert", class: "qp-error",
          text: `This recording cannot be shown: ${error.message}` }));
      }
    }

    function destroy() {
      state.turn++;
      pause();
      root.remove();
    }

    root.addEventListener("keydown", pressed);
    root.append(make("p", { text: "loading …" }));
    container.replaceChildren(root);
    const ready = load(recording);
    return {
      ready, load, show: seek, play, pause, destroy,
      get frame() { return state.frame; },
      get frames() { return state.frames; },
      get playing() { return state.timer !== null; },
    };
  }

  function mountGallery(container, recordings, options = {}) {
    const place = make("div"), id = `qduet-gallery-${++mounted}`;
    const parts = [["game", (r) => r.game], ["agent", (r) => r.label],
      ["episode", (r) => `run ${r.seed}, ${thousands(r.step)} steps, episode ${r.episode_seed}`]];
    const menus = parts.map(([name]) => make("select", { id: `${id}-${name}`, onchange: () => pick() }));
    const bar_ = make("div", { class: "qduet-gallery" }, ...menus.map((menu, i) =>
      make("span", {}, make("label", { for: menu.id, text: parts[i][0] }), menu)));
    /* Each menu offers what the menus before it leave; a choice that is left is kept. */
    function narrow() {
      let left = recordings;
      menus.forEach((menu, i) => {
        const names = [...new Set(left.map(parts[i][1]))], before = menu.value;
        const text = (name) => (parts[i][0] === "game" ? spaced(name) : NAMES[name] ?? name);
        menu.replaceChildren(...names.map((name) => make("option", { value: name, text: text(name) })));
        menu.value = names.includes(before) ? before : names[0];
        menu.disabled = names.length < 2;
        left = left.filter((r) => parts[i][1](r) === menu.value);
      });
      return left[0];
    }
    container.replaceChildren(bar_, place);
    const player = mountPlayer(place, narrow(), options);
    const pick = () => player.load(narrow());
    function select(index) {
      menus.forEach((menu, i) => {
        const name = parts[i][1](recordings[index]);
        menu.replaceChildren(make("option", { value: name }));
        menu.value = name;
      });
      return pick();
    }
    return { player, select };
  }

  window.qduet = { ...window.qduet, mountPlayer, mountGallery, decode };
})();
