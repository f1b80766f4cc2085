// The gallery: rows that are searched, sorted and unfolded, and a tray that sets ticked results side by side.
// All numbers stand in the page already; this script moves and copies nodes, and texts only become text nodes.
(() => {
  "use strict";
  const spoken = JSON.parse(document.getElementById("words")?.textContent ?? "{}");
  const say = (text, values = {}) => (spoken[text] ?? text).replace(/{(\w+)}/g, (place, name) => values[name] ?? place);
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const el = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children.flat().filter((child) => child !== null));
    return element;
  };

  const SHOWN_ROWS = 200;
  const COMPARED = 8;
  const collator = new Intl.Collator("en", { numeric: true });
  const form = document.querySelector(".g-filters");
  const tray = document.querySelector(".g-tray");
  const comparison = document.getElementById("comparison");
  const rows = all(".g-row");
  const byId = new Map(rows.map((row) => [row.dataset.id, row]));
  const children = new Map(rows.map((row) => [row, []]));
  rows.filter((row) => row.dataset.parent).forEach((row) => children.get(byId.get(row.dataset.parent)).push(row));
  const template = (row) => row.querySelector("template").content;

  // --- state: every choice stands in the address, so that a view can be sent to somebody

  const state = { q: "", suite: "", sort: "", columns: "", open: [], compare: [] };
  const LISTS = ["open", "compare"];
  const FIELDS = ["q", "suite", "sort", "columns"];
  const readAddress = () => {
    const given = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    FIELDS.forEach((field) => { state[field] = given.get(field) || ""; });
    LISTS.forEach((list) => {
      state[list] = [...new Set(given.getAll(list))].filter((id) => byId.has(id));
    });
  };
  const writeAddress = () => {
    const out = new URLSearchParams();
    FIELDS.forEach((field) => { if (state[field]) out.set(field, state[field]); });
    LISTS.forEach((list) => state[list].forEach((id) => out.append(list, id)));
    const text = out.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  };

  // --- search: names, metrics, checks and verdicts as they stand in the page

  const pageText = new Map();
  const wordsOf = (row) => {
    if (!pageText.has(row)) pageText.set(row, `${row.textContent}\n${template(row).textContent}`.toLowerCase());
    return pageText.get(row);
  };
  const matches = (row) => {
    const suite = row.closest(".g-suite").dataset.suite;
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    return (!state.suite || suite === state.suite) && words.every((word) => wordsOf(row).includes(word));
  };

  // --- rows: what is shown, in which order, unfolded or not

  const byValue = (row) => (row.dataset.value === undefined ? -Infinity : Number(row.dataset.value));
  const newest = (a, b) => collator.compare(b.dataset.started, a.dataset.started);
  const ORDERS = {
    "": newest,
    best: (a, b) => (byValue(b) === byValue(a) ? newest(a, b) : byValue(b) - byValue(a)),
    name: (a, b) => collator.compare(a.dataset.name, b.dataset.name),
    n: (a, b) => Number(b.dataset.n) - Number(a.dataset.n) || newest(a, b),
  };
  const showAll = new Set();
  const isOpen = (row) => state.open.includes(row.dataset.id);
  const setFold = (row) => {
    const fold = row.querySelector(".g-fold");
    const open = isOpen(row);
    fold.setAttribute("aria-expanded", String(open));
    fold.textContent = open ? "▾" : "▸";
  };
  const detailsOf = (row) => {
    const cell = el("td", { colspan: row.cells.length }, template(row).cloneNode(true));
    return el("tr", { class: `g-details${row.dataset.parent ? " g-child" : ""}` }, cell);
  };
  const metricRow = (row, metric) => all("tr[data-metric]", template(row)).find((tr) => tr.dataset.metric === metric);
  const metricsOf = (some) => [...new Set(some.flatMap((row) => all("tr[data-metric]", template(row)).map((tr) => tr.dataset.metric)))];
  // results of old versions have no titles: those of later ones speak for them
  const headOf = (some, metric) => {
    const cells = some.map((row) => metricRow(row, metric)).filter(Boolean).map((tr) => tr.cells[0]);
    return cells.find((cell) => cell.querySelector(".et-sub")) || cells[0];
  };
  const drawColumns = (section, shown) => {
    all(".g-more", section).forEach((cell) => cell.remove());
    if (state.columns !== "all") return;
    const leading = section.querySelector(".g-metric")?.textContent.replace("·", "").trim();
    const heads = section.querySelector(".g-table > thead > tr");
    metricsOf(shown).forEach((metric) => {
      const head = headOf(shown, metric).cloneNode(true);
      head.querySelector(".et-sub")?.remove();
      const title = head.textContent.trim();
      if (title === leading) return;
      // an arrow stays with the last word
      heads.append(el("th", { scope: "col", class: "g-more g-number" }, title.replace(/ (\S)$/, "\u00a0$1")));
      shown.forEach((row) => {
        const source = metricRow(row, metric);
        const value = source ? source.cells[2].textContent : "";
        row.append(el("td", { class: `g-more g-number ${source?.className ?? ""}` }, value));
      });
    });
  };
  const drawSection = (section, order) => {
    const body = section.querySelector(".g-table > tbody");
    const own = rows.filter((row) => row.closest(".g-suite") === section);
    const fits = new Set(own.filter(matches));
    // a run is seen under its open condition, or by itself where a search finds it
    const top = own.filter((row) => !row.dataset.parent).sort(order);
    const lines = [];
    top.forEach((row) => {
      const below = children.get(row).filter((child) => fits.has(child)).sort(order);
      if (fits.has(row)) lines.push([row, isOpen(row) ? below : []]);
      else if (below.length) lines.push(...below.map((child) => [child, []]));
    });
    const limit = showAll.has(section) ? lines.length : SHOWN_ROWS;
    own.forEach((row) => { row.hidden = true; setFold(row); });
    all(".g-details", body).forEach((details) => details.remove());
    const shown = lines.slice(0, limit).flatMap(([row, below]) => [row, ...below]);
    drawColumns(section, shown);
    shown.forEach((row) => {
      row.hidden = false;
      body.append(row);
      if (isOpen(row)) body.append(detailsOf(row));
    });
    const button = section.querySelector(".g-all");
    button.hidden = lines.length <= limit;
    button.textContent = say("Show all {n}", { n: lines.length });
    section.hidden = !lines.length;
    return fits.size;
  };
  const draw = () => {
    document.body.classList.toggle("g-wide", state.columns === "all");
    const order = ORDERS[state.sort] || newest;
    const counts = all(".g-suite").map((section) => drawSection(section, order));
    const total = counts.reduce((sum, n) => sum + n, 0);
    document.querySelector(".g-nothing").hidden = !rows.length || total > 0;
    if (form) form.querySelector(".g-count").textContent = total === rows.length ? say("{n} results", { n: total }) : say("{n} of {total} results", { n: total, total: rows.length });
    rows.forEach((row) => { row.querySelector("input").checked = state.compare.includes(row.dataset.id); });
  };

  // --- side by side

  const letter = (i) => String.fromCharCode(65 + i);
  const nameOf = (row) => el("bdi", {}, row.querySelector(".g-who :is(a, bdi)").textContent);

  const cellOf = (row, metric) => {
    const source = metricRow(row, metric);
    if (!source) return el("td", {}, "–");
    const [strip, value, interval, n, verdict] = Array.from(source.cells).slice(1).map((cell) => Array.from(cell.cloneNode(true).childNodes));
    return el("td", { class: source.className }, value, " ", el("span", { class: "g-interval" }, interval), strip, el("span", { class: "et-sub" }, n), verdict);
  };
  const sideBySide = (section, picked) => {
    const heads = picked.map((row, i) => el("th", { scope: "col" }, el("span", { class: "g-letter" }, letter(i)), " ", nameOf(row)));
    const title = section.querySelector("h2").firstChild.textContent;
    const lines = metricsOf(picked).map((metric) =>
      el("tr", { "data-metric": metric }, headOf(picked, metric).cloneNode(true), picked.map((row) => cellOf(row, metric))));
    return [el("h3", {}, title),
      el("div", { class: "g-scroll", tabindex: "0", role: "region", "aria-label": say("Comparison table: {what}", { what: title }) },
        el("table", { class: "g-compare" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, say("Metric")), heads)), el("tbody", {}, lines)))];
  };
  const drawTray = () => {
    const picked = state.compare.map((id) => byId.get(id));
    tray.hidden = comparison.hidden = !picked.length;
    if (!picked.length) return;
    const clear = el("button", { type: "button" }, say("Clear the comparison"));
    clear.addEventListener("click", () => { state.compare = []; changed(); });
    const studies = new Set(picked.map((row) => row.dataset.study));
    const [study] = studies;
    const paired = picked.length > 1 && studies.size === 1 && study ? el("a", { href: study }, say("Open the paired study")) : null;
    const look = el("a", { href: "#comparison" }, say("Compare side by side"));
    look.addEventListener("click", (event) => { event.preventDefault(); comparison.focus(); comparison.scrollIntoView(); });
    const names = picked.flatMap((row, i) => [i ? ", " : "", nameOf(row)]);
    tray.replaceChildren(el("b", {}, say("{n} ticked", { n: picked.length })), el("span", {}, names), look, ...(paired ? [paired] : []), clear);
    const shown = picked.slice(0, COMPARED);
    const place = document.querySelector('[data-place="comparison"]');
    place.replaceChildren();
    if (picked.length > shown.length) place.append(el("p", { class: "et-notice et-warning" }, say("The first {n} of {total} selected results are shown.", { n: COMPARED, total: picked.length })));
    all(".g-suite").forEach((section) => {
      const own = shown.filter((row) => row.closest(".g-suite") === section);
      if (own.length) place.append(...sideBySide(section, own));
    });
  };

  // --- all together

  const changed = () => { writeAddress(); sync(); draw(); drawTray(); };
  const sync = () => { if (form) FIELDS.forEach((field) => { const input = document.getElementById(`f-${field}`); if (input.value !== state[field]) input.value = state[field]; }); };
  const toggle = (list, id) => { state[list] = state[list].includes(id) ? state[list].filter((other) => other !== id) : [...state[list], id]; };
  rows.forEach((row) => {
    row.querySelector(".g-fold").addEventListener("click", (event) => { toggle("open", row.dataset.id); changed(); event.currentTarget.focus(); });
    row.querySelector("input").addEventListener("change", (event) => { toggle("compare", row.dataset.id); changed(); event.currentTarget.focus(); });
  });
  all(".g-all").forEach((button) => button.addEventListener("click", () => { showAll.add(button.closest(".g-suite")); draw(); }));
  if (form) {
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    FIELDS.forEach((field) => document.getElementById(`f-${field}`).addEventListener("input", (event) => { state[field] = event.target.value; changed(); }));
  }
  const follow = () => {
    readAddress();
    // a link to a run that stands under its condition unfolds the condition too
    state.open.forEach((id) => { const { parent } = byId.get(id).dataset; if (parent && !state.open.includes(parent)) state.open.push(parent); });
    sync();
    draw();
    drawTray();
    const target = state.open.length && byId.get(state.open[0]);
    all(".et-target").forEach((other) => other.classList.remove("et-target"));
    if (target && !target.hidden) {
      target.classList.add("et-target");
      target.focus({ preventScroll: true });
      target.scrollIntoView();
    } else if (state.compare.length) comparison.scrollIntoView();
  };
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); document.getElementById("content").focus(); });
  addEventListener("hashchange", () => { if (location.hash.includes("=") || !location.hash) follow(); });
  follow();
})();
