// The gallery: cards that filter and sort, and a comparison of ticked cards.
// Text from data only ever becomes text nodes. The table component sees numbers and nodes, never text.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const PAGE = 24;
  const LEAD = 6;
  const COMPARED = 8;
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b", "#b5a800"];
  const MARKS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross", "times"];
  const collator = new Intl.Collator("en", { numeric: true });
  const form = document.querySelector(".g-filters");
  const place = (name) => document.querySelector(`[data-place="${name}"]`);

  const el = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
    }
    element.append(...children.flat().filter((c) => c !== null && c !== undefined));
    return element;
  };
  // a name may break after its underscores, dashes and slashes, a number may not
  const bdi = (text) => el("bdi", {}, ...text.split(/(?<=[_\-/.])(?=\p{L})/u).flatMap((part, i) => (i ? [el("wbr"), part] : [part])));
  const chip = (text, kind = "") => el("span", { class: `et-chip ${kind}` }, bdi(text));

  const show = (value) =>
    value === null ? "N/A" : Math.abs(value) >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 0 })
      : Number.isInteger(value) && Math.abs(value) > 1 ? String(value) : value.toFixed(3).replace("-", "−");
  const interval = (low, high) => (low === null || high === null ? "" : `[${show(low)}, ${show(high)}]`);
  const percent = (level) => `${Math.round(level * 1000) / 10}%`;
  const date = (started) =>
    `${started.slice(0, 16).replace("T", " ")} ${started.slice(19).replace(/^(\+00:00|Z)$/, "UTC")}`.trim();
  const ARROWS = { higher: ["↑", "higher is better"], lower: ["↓", "lower is better"] };
  const arrow = (better) =>
    ARROWS[better] ? ["\u00a0", el("span", { title: ARROWS[better][1], "aria-hidden": "true" }, ARROWS[better][0]),
      el("span", { class: "et-hidden" }, ` (${ARROWS[better][1]})`)] : [];

  // --- data: rows with their metrics, and what stands under each suite

  const suites = new Map();
  data.cards.forEach((card) => {
    card.rows = card.rows.map(([i, value, low, high, n]) => {
      const [name, title, better] = data.metrics[i];
      return { name, title, better, value, low, high, n };
    });
    if (!suites.has(card.suite)) suites.set(card.suite, { title: card.suite, metrics: new Map() });
    const suite = suites.get(card.suite);
    if (card.suiteTitle) suite.title = card.suiteTitle;
    // results of the first edition have no titles: those of later ones speak for them
    card.rows.forEach((row) => { if (!suite.metrics.has(row.name) || row.title !== row.name) suite.metrics.set(row.name, row); });
  });
  const suiteTitle = (card) => suites.get(card.suite).title;
  const byId = new Map(data.cards.map((card) => [card.id, card]));

  // --- state: every choice stands in the address, so that a view can be sent to somebody

  const FIELDS = ["q", "kind", "suite", "condition", "seed", "verdict", "status", "sort", "card"];
  const state = { compare: [] };
  const readHash = () => {
    const given = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    FIELDS.forEach((f) => { state[f] = given.get(f) || ""; });
    state.compare = given.getAll("compare").filter((id) => byId.has(id));
  };
  const writeHash = () => {
    const out = new URLSearchParams();
    FIELDS.forEach((f) => { if (state[f]) out.set(f, state[f]); });
    state.compare.forEach((id) => out.append("compare", id));
    const text = out.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  };

  const verdictsOf = (card) => card.verdicts.map((v) => v[1]);
  const rank = (items, key) => {
    const order = items.map((item, i) => i).sort((a, b) => collator.compare(key(items[a]), key(items[b])) || a - b);
    const ranks = new Array(items.length);
    order.forEach((i, place) => { ranks[i] = place; });
    return ranks;
  };

  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

  // --- filters

  const controls = [];
  const addControl = (field, label, input, kind = "") => {
    controls.push([field, input]);
    form.append(el("label", { class: kind || null }, el("span", {}, label), input));
  };
  const addSelect = (field, label, options, all = "All") => {
    if (!options.length) return;
    addControl(field, label, el("select", { id: `f-${field}` },
      all ? el("option", { value: "" }, all) : null,
      options.map((o) => el("option", { value: o.value ?? o }, o.label ?? o))));
  };
  const distinct = (values) => [...new Set(values)].filter(Boolean).sort(collator.compare);

  // --- cards

  const picks = new Map();
  const setPick = (id, on) => {
    state.compare = state.compare.filter((other) => other !== id);
    if (on) state.compare.push(id);
    changed(drawComparison);
  };

  const numbersTable = (card, rows, caption) => el("table", { class: "g-numbers" },
    el("caption", { class: "et-hidden" }, caption),
    el("thead", { class: "et-hidden" }, el("tr", {},
      ["Metric", card.kind === "aggregate" ? "Mean" : "Value", `${percent(card.level)} interval`]
        .map((t) => el("th", { scope: "col" }, t)))),
    el("tbody", {}, rows.map(({ title, better, value, low, high, n }) => el("tr", {},
      el("th", { scope: "row" }, bdi(title), arrow(better),
        n !== null && n !== card.n ? el("span", { class: "et-sub" }, `n\u00a0=\u00a0${show(n)}`) : null),
      el("td", { class: "g-value" }, show(value)),
      el("td", { class: "g-interval" }, interval(low, high) || (value === null ? "" : "no interval"))))));
  const numbers = (card) => {
    if (!card.rows.length) return [el("p", { class: "et-muted" }, "No headline metrics.")];
    const more = card.rows.length > LEAD + 1 ? card.rows.slice(LEAD) : [];
    const first = numbersTable(card, more.length ? card.rows.slice(0, LEAD) : card.rows, "Metrics");
    return more.length ? [first, el("details", { class: "g-more" }, el("summary", {}, `${more.length} more`),
      numbersTable(card, more, "More metrics"))] : [first];
  };

  const KIND = new Map(Object.entries({ better: "et-good", worse: "et-error", tied: "et-info", "not measured": "et-warning" }));
  const verdictLine = (card) => {
    if (!card.verdicts.length) return null;
    const counts = new Map();
    verdictsOf(card).forEach((verdict) => counts.set(verdict, (counts.get(verdict) || 0) + 1));
    return el("p", { class: "g-verdicts" }, el("span", { class: "et-sub" }, "against ", bdi(card.verdicts[0][2])), " ",
      [...counts].flatMap(([verdict, n]) => [chip(`${n} ${verdict}`, KIND.get(verdict)), " "]));
  };

  const size = (card) =>
    `${card.kind === "aggregate" ? `mean of ${card.runs} ${card.runs === 1 ? "run" : "runs"}, ` : ""}n = ${card.n.toLocaleString("en")} (${card.unit})`;
  const go = (id) => {
    const target = document.getElementById(id);
    if (!target) return;
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView();
  };

  const buildCard = (card) => {
    const box = el("input", { type: "checkbox", "aria-label": `Compare ${card.name}` });
    box.checked = state.compare.includes(card.id);
    box.addEventListener("change", () => setPick(card.id, box.checked));
    picks.set(card.id, box);
    const report = card.links.find(([label]) => label === "Report");
    const warnings = [...card.problems.map(([severity, code, n]) => `${n} × ${code} (${severity})`), ...card.notes];
    return el("article", { class: `g-card g-${card.kind}`, id: card.id, tabindex: "-1", "aria-label": card.name },
      el("header", {},
        el("h3", {}, report ? el("a", { href: report[1] }, bdi(card.name)) : bdi(card.name)),
        el("label", { class: "g-pick" }, box, " Compare")),
      el("p", { class: "g-chips" },
        [chip(suiteTitle(card)), card.kind === "aggregate" ? chip("aggregate", "et-info") : null,
          card.condition ? chip(card.condition) : null,
          card.seeds.length ? chip(`${card.seeds.length > 1 ? "seeds" : "seed"} ${card.seeds.join(", ")}`) : null,
          chip(card.status, { complete: "et-good", incomplete: "et-error" }[card.status] || "et-warning")]
          .filter(Boolean).flatMap((c) => [c, " "])),
      el("p", { class: "g-facts et-muted" }, `${size(card)} · ${date(card.started)}`),
      numbers(card),
      verdictLine(card),
      warnings.length ? el("details", { class: "g-notes" },
        el("summary", {}, `${warnings.length} ${warnings.length === 1 ? "note" : "notes"}`),
        el("ul", {}, warnings.map((w) => el("li", {}, bdi(w))))) : null,
      el("p", { class: "g-links" }, card.links.flatMap(([label, href]) => [el("a", { href }, label), " "]),
        el("a", { href: `#card=${encodeURIComponent(card.id)}`, "aria-label": `Link to ${card.name}` }, "Link")));
  };

  const texts = new Map(data.cards.map((c) => [c,
    [c.name, c.suite, suiteTitle(c), c.condition, ...c.seeds.map((s) => `seed ${s}`), date(c.started)]
      .join("\n").toLowerCase()]));
  const matches = (card) =>
    (!state.suite || card.suite === state.suite)
    && (!state.kind || card.kind === state.kind)
    && (!state.condition || card.condition === state.condition)
    && (!state.seed || card.seeds.includes(state.seed))
    && (!state.status || card.status === state.status)
    && (!state.verdict || verdictsOf(card).includes(state.verdict))
    && words(state.q).every((word) => texts.get(card).includes(word));

  const rowOf = (card, name) => card.rows.find((row) => row.name === name);
  const dateRank = rank(data.cards, (c) => c.started);
  const nameRank = rank(data.cards, (c) => c.name);
  const sorts = [
    { name: "", label: "Newest first", order: "desc", key: (i) => dateRank[i] },
    { name: "oldest", label: "Oldest first", order: "asc", key: (i) => dateRank[i] },
    { name: "name", label: "Name", order: "asc", key: (i) => nameRank[i] },
    { name: "n", label: "Largest n first", order: "desc", key: (i) => data.cards[i].n },
    ...[...suites].flatMap(([suite, { title, metrics }]) => [...metrics.values()].map((metric) => ({
      name: `${suite}.${metric.name}`, label: `${title}: ${metric.title}, best first`, order: "desc",
      key: (i) => {
        const row = data.cards[i].suite === suite && rowOf(data.cards[i], metric.name);
        return !row || row.value === null ? -1e300 : metric.better === "lower" ? -row.value : row.value;
      },
    }))),
  ];

  addControl("q", "Search", el("input", { type: "search", id: "f-q", autocomplete: "off", spellcheck: "false" }), "g-search");
  addSelect("sort", "Sort", sorts.map((s) => ({ value: s.name, label: s.label })), null);
  addSelect("suite", "Suite", [...suites].map(([value, s]) => ({ value, label: s.title })));
  addSelect("kind", "Kind", distinct(data.cards.map((c) => c.kind)));
  addSelect("condition", "Condition", distinct(data.cards.map((c) => c.condition)));
  addSelect("seed", "Seed", distinct(data.cards.flatMap((c) => c.seeds)));
  addSelect("verdict", "Verdict", distinct(data.cards.flatMap(verdictsOf)));
  addSelect("status", "Status", distinct(data.cards.map((c) => c.status)));
  const clear = el("button", { type: "button" }, "Clear filters");
  clear.addEventListener("click", () => {
    FIELDS.filter((f) => f !== "sort" && f !== "card").forEach((f) => { state[f] = ""; });
    changed();
  });
  form.append(clear);
  form.addEventListener("submit", (event) => event.preventDefault());

  // the cards on the table component: one visible column of nodes, hidden columns of numbers to sort by
  const table = el("table", { class: "g-list" });
  place("runs").replaceChildren(table);
  const list = new DataTable(table, {
    data: data.cards.map((card, i) => ({ i })),
    columns: [
      { title: "Runs", data: "i", render: (i, type) => (type === "display" ? buildCard(data.cards[i]) : i) },
      ...sorts.map((sort) => ({ title: "", data: "i", visible: false, type: "num", render: (i) => sort.key(i) })),
    ],
    order: [[1, sorts[0].order]],
    autoWidth: false,
    deferRender: true,
    pageLength: PAGE,
    layout: { topStart: "info", topEnd: null, bottomStart: null, bottomEnd: { paging: { boundaryNumbers: true } } },
    language: {
      zeroRecords: "No results fit these filters.", emptyTable: "There are no results yet.",
      info: "_START_ to _END_ of _TOTAL_ results", infoEmpty: "0 results", infoFiltered: "(of _MAX_)",
    },
    // one column of cards is a list: said so to those who do not see it
    drawCallback() {
      table.setAttribute("role", "presentation");
      table.removeAttribute("aria-describedby");
      table.tBodies[0].setAttribute("role", "list");
      table.tBodies[0].setAttribute("aria-label", "Runs");
      document.querySelectorAll(".dt-paging nav").forEach((nav) => nav.setAttribute("aria-label", "Pages of results"));
      Array.from(table.tBodies[0].rows).forEach((row) => {
        row.setAttribute("role", "listitem");
        Array.from(row.cells).forEach((cell) => cell.setAttribute("role", "presentation"));
      });
    },
  });
  table.removeAttribute("aria-describedby");
  list.search.fixed("filters", (text, row) => matches(data.cards[row.i]));
  const drawRuns = () => {
    const at = Math.max(0, sorts.findIndex((s) => s.name === state.sort));
    list.order([[at + 1, sorts[at].order]]).draw();
  };

  if (data.incompleteTotal) {
    const rest = data.incompleteTotal - data.incomplete.length;
    place("incomplete").append(el("details", { class: "et-notice et-warning" },
      el("summary", {}, `${data.incompleteTotal} not complete: no card above stands for ${data.incompleteTotal === 1 ? "it" : "them"}`),
      el("ul", {}, data.incomplete.map(([name, why]) => el("li", {}, el("strong", {}, bdi(name)), ": ", bdi(why))),
        rest > 0 ? el("li", {}, `and ${rest} more`) : null)));
  }

  // --- comparison

  const letter = (i) => String.fromCharCode(65 + i);
  const dots = (title, points) => {
    const svg = Plot.plot({
      width: 330, height: 44 + 22 * points.length, marginLeft: 26, marginRight: 14, marginTop: 6, marginBottom: 28,
      ariaLabel: `${title}: ${points.map((p) => `${p.key} ${show(p.value)} ${interval(p.low, p.high)}`).join("; ")}`,
      style: { background: "transparent", color: "inherit", fontSize: "12px", maxWidth: "100%" },
      x: { nice: true, ticks: 4, label: null, grid: true },
      y: { domain: points.map((p) => p.key), label: null, tickSize: 0 },
      marks: [
        Plot.ruleY(points.filter((p) => p.low !== null), { y: "key", x1: "low", x2: "high", stroke: "colour", strokeWidth: 2 }),
        Plot.dot(points.filter((p) => p.value !== null), { x: "value", y: "key", fill: "colour", symbol: "mark", r: 4.5 }),
        Plot.text(points.filter((p) => p.value === null), { y: "key", frameAnchor: "left", text: () => "not measured", fill: "currentColor" }),
      ],
    });
    svg.setAttribute("role", "img");
    // the label of the whole tells all; parts of an image have none
    svg.querySelectorAll("[aria-label], [aria-description]").forEach((part) => {
      part.removeAttribute("aria-label");
      part.removeAttribute("aria-description");
    });
    return svg;
  };

  const NONE = { value: null, low: null, high: null, n: null };
  const compareSuite = (suite, cards, target) => {
    const { title } = suites.get(suite);
    const metrics = [...new Map(cards.flatMap((c) => c.rows).map((row) => [row.name, row])).values()];
    const row = (card, metric) => rowOf(card, metric.name) || NONE;
    const head = el("tr", {}, el("th", { scope: "col" }, "Metric"), cards.map((card) =>
      el("th", { scope: "col", class: "et-num" }, el("span", { class: "g-letter" }, card.letter), " ", bdi(card.name))));
    const table = el("table", { class: "et-table g-compare" }, el("caption", { class: "et-hidden" }, `Comparison: ${title}`), el("thead", {}, head));
    target.append(el("h3", {}, title),
      el("div", { class: "et-box", tabindex: "0", role: "region", "aria-label": `Comparison table: ${title}` }, table));
    // the paired verdict of two aggregates stands here if both are on the page and one is the other's baseline
    const paired = (card, metric) => {
      const [, verdict, baseline] = card.verdicts.find((v) => v[0] === metric.name) || [];
      const other = cards.find((c) => c !== card && c.kind === "aggregate" && c.condition === baseline);
      return other ? chip(`${verdict} against ${other.letter}`, KIND.get(verdict)) : null;
    };
    const cell = (card, metric) => {
      const { value, low, high, n } = row(card, metric);
      return el("span", {}, el("strong", {}, show(value)), el("span", { class: "et-sub" }, interval(low, high) || (value === null ? "" : "no interval")),
        n === null ? null : el("span", { class: "et-sub" }, `n = ${show(n)}`), paired(card, metric));
    };
    const named = (metric) => [bdi(metric.title), arrow(metric.better)].flat();
    new DataTable(table, {
      data: metrics.map((metric, i) => ({ i })),
      columns: [
        { data: "i", type: "num", render: (i, type) => (type === "display"
          ? el("span", {}, named(metrics[i]), metrics[i].title === metrics[i].name ? null : el("span", { class: "et-sub" }, el("code", {}, metrics[i].name))) : i) },
        ...cards.map((card) => ({ data: "i", type: "num", className: "et-num",
          render: (i, type) => (type === "display" ? cell(card, metrics[i]) : row(card, metrics[i]).value ?? -1e300) })),
      ],
      order: [[0, "asc"]], paging: false, autoWidth: false, searching: false,
      layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
    });
    target.append(el("div", { class: "g-plots" }, metrics.map((metric) => el("figure", {},
      el("figcaption", {}, named(metric)),
      dots(metric.title, cards.map((card) => ({ key: card.letter, colour: card.colour, mark: card.mark, ...row(card, metric) })))))));
  };

  const drawComparison = () => {
    const target = place("comparison");
    const all = state.compare.map((id) => byId.get(id));
    const cards = all.slice(0, COMPARED).map((card, i) => ({ ...card, letter: letter(i), colour: COLOURS[i], mark: MARKS[i] }));
    document.querySelector('[data-badge="comparison"]').textContent = all.length ? `Comparison (${all.length})` : "Comparison";
    target.replaceChildren();
    if (!cards.length) {
      target.append(el("p", { class: "et-muted" }, "Tick “Compare” on two or more cards to see their headline metrics side by side. The address then holds the selection."));
      return;
    }
    const clear = el("button", { type: "button" }, "Clear the comparison");
    clear.addEventListener("click", () => { state.compare = []; changed(drawComparison); go("runs-title"); });
    target.append(
      el("ul", { class: "g-legend" }, cards.map((card) => {
        const remove = el("button", { type: "button", "aria-label": `Remove ${card.name} from the comparison` }, "×");
        remove.addEventListener("click", () => setPick(card.id, false));
        const swatch = el("span", { class: "g-letter" }, card.letter);
        swatch.style.borderColor = card.colour;
        return el("li", {}, swatch, el("span", {}, bdi(card.name), ` · ${size(card)}`), remove);
      })), clear);
    if (all.length > cards.length) target.append(el("p", { class: "et-notice et-warning" }, `The first ${COMPARED} of ${all.length} selected results are shown.`));
    distinct(cards.map((c) => c.suite)).forEach((suite) => compareSuite(suite, cards.filter((c) => c.suite === suite), target));
    target.append(el("p", { class: "et-muted g-claim" },
      `Each interval is the result's own (${distinct(cards.map((c) => percent(c.level))).join(", ")}). `
      + "Overlapping intervals do not show that two results are equal; “evaltools compare A B” compares results on the same samples in pairs."));
  };

  // --- all together

  const sync = () => {
    controls.forEach(([field, input]) => { if (input.value !== state[field]) input.value = state[field]; });
    picks.forEach((box, id) => { box.checked = state.compare.includes(id); });
  };
  const changed = (draw = drawRuns) => {
    writeHash();
    sync();
    draw();
  };
  controls.forEach(([field, input]) => input.addEventListener("input", () => {
    state[field] = input.value;
    state.card = "";
    changed();
  }));

  const reveal = (id) => {
    const card = data.cards.findIndex((c) => c.id === id);
    const at = list.rows({ search: "applied", order: "applied" }).indexes().toArray().indexOf(card);
    if (at < 0) return false;
    list.page(Math.floor(at / PAGE)).draw("page");
    document.querySelectorAll(".et-target").forEach((other) => other.classList.remove("et-target"));
    document.getElementById(id).classList.add("et-target");
    go(id);
    return true;
  };
  // the address decides: on opening, on going back, and when a link within the page is followed
  const follow = () => {
    readHash();
    sync();
    drawRuns();
    drawComparison();
    if (!reveal(state.card) && state.compare.length) document.getElementById("comparison").scrollIntoView();
  };
  document.querySelectorAll(".g-nav a, .skip").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    go(link.getAttribute("href").slice(1));
  }));
  addEventListener("beforeprint", () => document.querySelectorAll(".g-more").forEach((more) => { more.open = true; }));
  addEventListener("hashchange", () => { if (location.hash.includes("=") || !location.hash) follow(); });
  follow();
})();
