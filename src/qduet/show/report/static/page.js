// Brings the page to life: its charts, the players, the navigation, the theme, printing.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("qduet-data").textContent);
  const charts = [];
  for (const place of document.querySelectorAll("[data-chart]")) {
    const name = place.dataset.chart;
    try {
      charts.push(new Chart(place, data.charts[name], name));
    } catch (error) {
      place.replaceChildren(`This chart cannot be drawn, because its file is damaged: ${error.message}`);
    }
  }

  const replays = document.getElementById("qduet-replays");
  if (replays) {
    const recordings = JSON.parse(replays.textContent);
    const midway = { start: 0.12 }; // where there is something to see
    qduet.mountGallery(document.getElementById("qduet-player"), recordings, midway);
    const glimpse = document.getElementById("qduet-glimpse");
    if (glimpse) qduet.mountPlayer(glimpse, recordings[0], { ...midway, small: true });
  }

  const nav = document.querySelector("nav");
  const menu = nav.querySelector("button");
  const unfold = (open) => {
    nav.classList.toggle("open", open);
    menu.setAttribute("aria-expanded", String(open));
  };
  menu.addEventListener("click", () => unfold(!nav.classList.contains("open")));
  nav.addEventListener("keydown", (event) => event.key === "Escape" && unfold(false));
  const links = [...nav.querySelectorAll("li a")];
  for (const link of links) link.addEventListener("click", () => unfold(false));
  const sections = links.map((link) => document.querySelector(link.getAttribute("href")));
  const follow = () => {
    const passed = sections.filter((section) => section.getBoundingClientRect().top < innerHeight / 3);
    const ended = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    const now = ended && scrollY ? links.length - 1 : Math.max(0, passed.length - 1);
    for (const [i, link] of links.entries()) {
      if (i === now) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", follow, { passive: true });
  follow();

  const theme = document.getElementById("theme");
  theme.addEventListener("change", () => {
    if (theme.value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
  });

  const folded = [];
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("main details:not([open]):not(.values)")) {
      if (part.closest("#provenance, .aside")) continue;
      part.open = true;
      folded.push(part);
    }
    for (const chart of charts) chart.redrawForPaper();
  });
  addEventListener("afterprint", () => {
    for (const part of folded.splice(0)) part.open = false;
    for (const chart of charts) chart.redraw();
  });
  document.documentElement.dataset.ready = "yes";
})();
