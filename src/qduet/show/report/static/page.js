// Brings the page to life: its charts, the theme, printing.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("qduet-data").textContent);
  const charts = [...document.querySelectorAll("[data-chart]")].map((place) => {
    const name = place.dataset.chart;
    return new Chart(place, data.charts[name], name);
  });

  const replays = document.getElementById("qduet-replays");
  if (replays) {
    const place = document.getElementById("qduet-player");
    qduet.mountGallery(place, JSON.parse(replays.textContent));
  }

  const theme = document.getElementById("theme");
  theme.addEventListener("change", () => {
    if (theme.value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
  });

  const folded = [];
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll(".item details:not([open]):not(.values)")) {
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
