// The gallery: rows that are searched, sorted, unfolded, and set side by side. All numbers stand in the page already.
(() => {
  "use strict";
  const spoken = JSON.parse(document.getElementById("words")?.textContent ?? "{}");
  const say = (text, values = {}) => (spoken[text] ?? text).replace(/{(\w+)}/g, (place, name) => values[name] ?? place);
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const form = document.querySelector(".g-filters");
  if (!form) return;
  const fields = all("input, select", form);
  const compare = form.querySelector(".g-compare");
  const rows = all(".g-row");
  const byId = new Map(rows.map((row) => [row.id, row]));
  const below = new Map(rows.map((row) => [row, []]));
  rows.filter((row) => row.dataset.parent).forEach((row) => below.get(byId.get(row.dataset.parent)).push(row));
  const unfolded = new Set();
  const texts = new Map();
  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, `${row.textContent} ${row.closest("table").tHead.textContent}`.toLowerCase());
    return texts.get(row);
  };
  const isTicked = (row) => row.querySelector("input").checked;

  const collator = new Intl.Collator("en", { numeric: true });
  const newest = (a, b) => collator.compare(b.dataset.started, a.dataset.started);
  const value = (row) => Number(row.dataset.value ?? -Infinity);
  const orders = new Map([
    ["best", (a, b) => (value(a) === value(b) ? newest(a, b) : value(b) - value(a))],
    ["name", (a, b) => collator.compare(a.dataset.name, b.dataset.name)],
    ["n", (a, b) => Number(b.dataset.n) - Number(a.dataset.n) || newest(a, b)],
  ]);

  const SHOWN = 500; // rows of a suite: a search narrows what is more
  let sorted = ""; // the page stands newest first
  const sort = (by) => {
    if (sorted === by) return;
    sorted = by;
    const order = orders.get(by) ?? newest;
    all(".g-suite tbody").forEach((body) => {
      const top = all(".g-row", body).filter((row) => !row.dataset.parent).sort(order);
      body.append(...top.flatMap((row) => [row, ...below.get(row).sort(order)]));
    });
  };

  const draw = () => {
    const chosen = new Map(fields.map((field) => [field.name, field.value]));
    const words = chosen.get("q").toLowerCase().split(/\s+/).filter(Boolean);
    const isComparing = compare.getAttribute("aria-pressed") === "true";
    document.body.classList.toggle("g-wide", isComparing || chosen.get("columns") === "all");
    let shown = 0;
    sort(chosen.get("sort"));
    all(".g-suite").forEach((section) => {
      const isOther = chosen.get("suite") && section.dataset.suite !== chosen.get("suite");
      let inSection = 0;
      all(".g-row", section).forEach((row) => {
        const isFolded = row.dataset.parent && !unfolded.has(row.dataset.parent);
        const fits = words.length ? words.every((word) => textOf(row).includes(word)) : !isFolded;
        row.hidden = isOther || inSection >= SHOWN || (isComparing ? !isTicked(row) : !fits);
        inSection += row.hidden ? 0 : 1;
      });
      section.hidden = !inSection;
      shown += inSection;
    });
    document.querySelector(".g-nothing").hidden = shown > 0;
    form.querySelector(".g-count").textContent = say("{n} of {total} results", { n: shown, total: rows.length });
  };

  const unfold = (row, open) => {
    unfolded[open ? "add" : "delete"](row.id);
    const button = row.querySelector(".g-fold");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "▾" : "▸";
  };
  all(".g-fold").forEach((button) => button.addEventListener("click", () => {
    const row = button.closest(".g-row");
    unfold(row, !unfolded.has(row.id));
    draw();
  }));
  const tick = () => {
    const n = rows.filter(isTicked).length;
    compare.disabled = !n;
    if (!n) compare.setAttribute("aria-pressed", "false");
  };
  rows.forEach((row) => row.querySelector("input").addEventListener("change", () => { tick(); draw(); }));
  compare.addEventListener("click", () => {
    compare.setAttribute("aria-pressed", String(compare.getAttribute("aria-pressed") !== "true"));
    draw();
  });

  // what is chosen stands in the address, so that a view can be sent to somebody; so does a row
  const follow = () => {
    const address = new URLSearchParams(location.hash.slice(1));
    fields.forEach((field) => {
      field.value = address.get(field.name) ?? "";
      if (field.selectedIndex < 0) field.selectedIndex = 0; // no such choice
    });
    const target = byId.get(new URLSearchParams(`id=${location.hash.slice(1)}`).get("id"));
    const parent = byId.get(target?.dataset.parent);
    if (parent) unfold(parent, true);
    draw();
    target?.scrollIntoView();
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    const chosen = new URLSearchParams(fields.filter((field) => field.value).map((field) => [field.name, field.value]));
    history.replaceState(null, "", chosen.size ? `#${chosen}` : location.pathname + location.search);
    draw();
  });
  addEventListener("hashchange", follow);
  form.hidden = false;
  tick();
  follow();
})();
