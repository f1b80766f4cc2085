// The gallery: rows that are searched, and runs that unfold below their condition.
(() => {
  "use strict";
  const spoken = JSON.parse(document.getElementById("words").textContent);
  const say = (text, values = {}) => spoken[text].replace(/{(\w+)}/g, (place, name) => values[name] ?? place);
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const form = document.querySelector(".g-filters");
  if (!form) return;
  const input = form.querySelector("input");
  const rows = all(".g-row");
  const unfolded = new Set();
  const SHOWN = 500; // rows of a suite: a search narrows what is more

  const draw = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    all(".g-suite").forEach((section) => {
      const title = section.querySelector("h2").textContent;
      let inSection = 0;
      all(".g-row", section).forEach((row) => {
        const text = words.length ? `${title} ${row.textContent}`.toLowerCase() : "";
        const isFolded = row.dataset.parent && !unfolded.has(row.dataset.parent);
        row.hidden = inSection >= SHOWN || (words.length ? !words.every((word) => text.includes(word)) : isFolded);
        inSection += row.hidden ? 0 : 1;
      });
      section.hidden = !inSection;
      shown += inSection;
    });
    form.querySelector(".g-count").textContent = say("{n} of {total} results", { n: shown, total: rows.length });
  };

  all(".g-fold").forEach((button) => button.addEventListener("click", () => {
    const { id } = button.closest(".g-row");
    const open = !unfolded.delete(id);
    if (open) unfolded.add(id);
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "▾" : "▸";
    draw();
  }));
  form.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", draw);
  form.hidden = false;
  draw();
})();
