// The gallery: cards that filter and sort, a comparison of ticked cards, a browser of summary cases.
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
  // a name may break after its underscores, dashes and slashes
  const bdi = (text) => el("bdi", {}, ...text.split(/(?<=[_\-/.])(?=\w)/).flatMap((part, i) => (i ? [el("wbr"), part] : [part])));
  const chip = (text, kind = "") => el("span", { class: `et-chip ${kind}` }, bdi(text));

  const show = (value) =>
    value === null ? "N/A" : Math.abs(value) >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 0 })
      : Number.isInteger(value) && Math.abs(value) > 1 ? String(value) : value.toFixed(3).replace("-", "−");
  const interval = (low, high) => (low === null || high === null ? "" : `[${show(low)}, ${show(high)}]`);
  const percent = (level) => `${Math.round(level * 1000) / 10}%`;
  const date = (started) =>
    `${started.slice(0, 16).replace("T", " ")} ${started.slice(19).replace(/^(\+00:00|Z)$/, "UTC")}`.trim();
  const titleOf = (suite, metric) => data.suites[suite].titles[metric] || metric;
  const titleOn = (card, metric) => card.titles[metric] || titleOf(card.suite, metric);
  const anyTitle = (metric) => {
    const suite = Object.values(data.suites).find((s) => s.titles[metric]);
    return suite ? suite.titles[metric] : metric;
  };
  const betterOf = (suite, metric) => (data.suites[suite].metrics[metric] || [metric, "none"])[1];
  const ARROWS = { higher: ["↑", "higher is better"], lower: ["↓", "lower is better"] };
  const arrow = (better) =>
    ARROWS[better] ? ["\u00a0", el("span", { title: ARROWS[better][1], "aria-hidden": "true" }, ARROWS[better][0]),
      el("span", { class: "et-hidden" }, ` (${ARROWS[better][1]})`)] : [];

  // --- state: every choice stands in the address, so that a view can be sent to somebody

  const FIELDS = ["q", "kind", "suite", "condition", "seed", "verdict", "status", "sort",
    "crun", "cq", "cmetric", "ctag", "cverdict", "csort", "card", "case"];
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

  const byId = new Map(data.cards.map((card) => [card.id, card]));
  const cases = new Map(data.cases.map((run) => [run.card, run]));

  const verdictsOf = (card) => {
    const found = new Set(card.verdicts.map((v) => v[1]));
    card.thresholds.forEach((t) => found.add(t[5]));
    found.delete("");
    return [...found];
  };
  const rank = (items, key) => {
    const order = items.map((item, i) => i).sort((a, b) => collator.compare(key(items[a]), key(items[b])) || a - b);
    const ranks = new Array(items.length);
    order.forEach((i, place) => { ranks[i] = place; });
    return ranks;
  };

  // --- a list of cards on the table component: one visible column of nodes, hidden columns of numbers to sort by

  const cardList = (target, { items, label, noun, build, sorts, matches }) => {
    const table = el("table", { class: "g-list" });
    target.replaceChildren(table);
    const list = new DataTable(table, {
      data: items.map((item, i) => ({ i })),
      columns: [
        { title: label, data: "i", render: (i, type) => (type === "display" ? build(items[i]) : i) },
        ...sorts.map((sort) => ({ title: "", data: "i", visible: false, type: "num", render: (i) => sort.key(i) })),
      ],
      order: [[1, sorts[0].order]],
      autoWidth: false,
      deferRender: true,
      pageLength: PAGE,
      layout: { topStart: "info", topEnd: null, bottomStart: null, bottomEnd: { paging: { boundaryNumbers: true } } },
      language: {
        zeroRecords: `No ${noun} fit these filters.`, emptyTable: `There are no ${noun} yet.`,
        info: `_START_ to _END_ of _TOTAL_ ${noun}`, infoEmpty: `0 ${noun}`, infoFiltered: "(of _MAX_)",
      },
      // one column of cards is a list: said so to those who do not see it
      drawCallback() {
        table.setAttribute("role", "presentation");
        table.removeAttribute("aria-describedby");
        table.tBodies[0].setAttribute("role", "list");
        table.tBodies[0].setAttribute("aria-label", label);
        target.querySelectorAll(".dt-paging nav").forEach((nav) => nav.setAttribute("aria-label", `Pages of ${noun}`));
        Array.from(table.tBodies[0].rows).forEach((row) => {
          row.setAttribute("role", "listitem");
          Array.from(row.cells).forEach((cell) => cell.setAttribute("role", "presentation"));
        });
      },
    });
    table.removeAttribute("aria-describedby");
    list.search.fixed("filters", (text, row) => matches(items[row.i]));
    return {
      update(sortName) {
        const at = Math.max(0, sorts.findIndex((s) => s.name === sortName));
        list.order([[at + 1, sorts[at].order]]).draw();
      },
      reveal(i) {
        const at = list.rows({ search: "applied", order: "applied" }).indexes().toArray().indexOf(i);
        if (at >= 0) list.page(Math.floor(at / PAGE)).draw("page");
        return at >= 0;
      },
    };
  };

  const wordsIn = (words, text) => words.every((w) => text.includes(w));
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

  // --- filters

  const controls = [];
  const addSearch = (form, field, label) => {
    const input = el("input", { type: "search", id: `f-${field}`, autocomplete: "off", spellcheck: "false" });
    controls.push({ field, input, part: form.dataset.filters });
    form.append(el("label", { class: "g-search" }, el("span", {}, label), input));
  };
  const addSelect = (form, field, label, options, all = "All") => {
    if (!options.length) return;
    const input = el("select", { id: `f-${field}` },
      all ? el("option", { value: "" }, all) : null,
      options.map((o) => el("option", { value: o.value ?? o }, o.label ?? o)));
    controls.push({ field, input, part: form.dataset.filters });
    form.append(el("label", {}, el("span", {}, label), input));
  };
  const addClear = (form, fields) => {
    const button = el("button", { type: "button" }, "Clear filters");
    button.addEventListener("click", () => { fields.forEach((f) => { state[f] = ""; }); changed(form.dataset.filters); });
    form.append(button);
    form.addEventListener("submit", (event) => event.preventDefault());
  };
  const distinct = (values) => [...new Set(values)].filter(Boolean).sort(collator.compare);

  // --- cards

  const picks = new Map();
  const setPick = (id, on) => {
    state.compare = state.compare.filter((other) => other !== id);
    if (on) state.compare.push(id);
    changed("comparison");
  };

  const numbersTable = (card, rows, caption) => el("table", { class: "g-numbers" },
    el("caption", { class: "et-hidden" }, caption),
    el("thead", { class: "et-hidden" }, el("tr", {},
      ["Metric", card.kind === "aggregate" ? "Mean" : "Value", `${percent(card.level)} interval`]
        .map((t) => el("th", { scope: "col" }, t)))),
    el("tbody", {}, rows.map(([metric, value, low, high, n]) => el("tr", {},
      el("th", { scope: "row" }, bdi(titleOn(card, metric)), arrow(betterOf(card.suite, metric)),
        n !== null && n !== card.n ? el("span", { class: "et-sub" }, card.kind === "aggregate" ? `${show(n)}\u00a0seeds` : `n\u00a0=\u00a0${show(n)}`) : null),
      el("td", { class: "g-value" }, show(value)),
      el("td", { class: "g-interval" }, interval(low, high) || (value === null ? "" : "no interval"))))));
  const numbers = (card) => {
    if (!card.rows.length) return [el("p", { class: "et-muted" }, "No headline metrics.")];
    const more = card.rows.length > LEAD + 1 ? card.rows.slice(LEAD) : [];
    const first = numbersTable(card, more.length ? card.rows.slice(0, LEAD) : card.rows, "Headline metrics");
    return more.length ? [first, el("details", { class: "g-more" }, el("summary", {}, `${more.length} more`),
      numbersTable(card, more, "More headline metrics"))] : [first];
  };

  const KIND = { better: "et-good", worse: "et-error", tied: "et-info", "not measured": "et-warning",
    met: "et-good", missed: "et-error" };
  const verdictLine = (card) => {
    const parts = [];
    if (card.verdicts.length) {
      const counts = new Map();
      card.verdicts.forEach(([, verdict]) => counts.set(verdict, (counts.get(verdict) || 0) + 1));
      parts.push(el("p", { class: "g-verdicts" }, el("span", { class: "et-sub" }, "against ", bdi(card.verdicts[0][2])), " ",
        [...counts].flatMap(([verdict, n]) => [chip(`${n} ${verdict}`, KIND[verdict]), " "])));
    }
    const judged = card.thresholds.filter((t) => t[5]);
    if (judged.length) {
      parts.push(el("ul", { class: "g-thresholds" }, judged.map(([metric, threshold, value, , , verdict, , failed]) => el("li", {},
        chip(verdict, KIND[verdict]), " ", bdi(titleOn(card, metric)), " ", el("span", { class: "g-nowrap" }, `${show(value)} ${verdict === "met" ? "≥" : "<"} ${threshold}`),
        failed ? el("span", { class: "et-sub" }, ` ${failed} failing`) : null))));
    }
    return parts;
  };

  const size = (card) =>
    card.kind === "aggregate" ? `mean of ${card.n} ${card.n === 1 ? "run" : "runs"}` : `n = ${card.n.toLocaleString("en")} (${card.unit})`;
  // a link within the page that sets some of the state and moves the focus
  const jump = (label, part, change, target) => {
    const link = el("a", { href: `#${new URLSearchParams(change)}` }, label);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      Object.assign(state, change);
      changed(part);
      go(target);
    });
    return link;
  };
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
    const facts = [
      size(card),
      date(card.started),
    ];
    const warnings = [...card.problems.map(([severity, code, n]) => `${n} × ${code} (${severity})`), ...card.notes];
    return el("article", { class: `g-card g-${card.kind}`, id: card.id, tabindex: "-1", "aria-label": card.name },
      el("header", {},
        el("h3", {}, report ? el("a", { href: report[1] }, bdi(card.name)) : bdi(card.name)),
        el("label", { class: "g-pick" }, box, " Compare")),
      el("p", { class: "g-chips" },
        [chip(data.suites[card.suite].title), card.kind === "aggregate" ? chip("aggregate", "et-info") : null,
          card.condition ? chip(card.condition) : null,
          card.seeds.length ? chip(`${card.seeds.length > 1 ? "seeds" : "seed"} ${card.seeds.join(", ")}`) : null,
          chip(card.status, { complete: "et-good", incomplete: "et-error" }[card.status] || "et-warning")]
          .filter(Boolean).flatMap((c) => [c, " "])),
      el("p", { class: "g-facts et-muted" }, facts.join(" · ")),
      numbers(card),
      verdictLine(card),
      warnings.length ? el("details", { class: "g-notes" },
        el("summary", {}, `${warnings.length} ${warnings.length === 1 ? "note" : "notes"}`),
        el("ul", {}, warnings.map((w) => el("li", {}, bdi(w))))) : null,
      el("p", { class: "g-links" }, card.links.flatMap(([label, href]) => [el("a", { href }, label), " "]),
        cases.has(card.id) ? [jump("Cases", "cases", { crun: card.id }, "cases-title"), " "] : null,
        el("a", { href: `#card=${encodeURIComponent(card.id)}`, "aria-label": `Link to ${card.name}` }, "Link")));
  };

  const texts = new Map(data.cards.map((c) => [c,
    [c.name, c.suite, data.suites[c.suite].title, c.condition, ...c.seeds.map((s) => `seed ${s}`), date(c.started)]
      .join("\n").toLowerCase()]));
  const matchesRun = (card) =>
    (!state.suite || card.suite === state.suite)
    && (!state.kind || card.kind === state.kind)
    && (!state.condition || card.condition === state.condition)
    && (!state.seed || card.seeds.includes(state.seed))
    && (!state.status || card.status === state.status)
    && (!state.verdict || verdictsOf(card).includes(state.verdict))
    && wordsIn(words(state.q), texts.get(card));

  const dateRank = rank(data.cards, (c) => c.started);
  const nameRank = rank(data.cards, (c) => c.name);
  const runSorts = [
    { name: "", label: "Newest first", order: "desc", key: (i) => dateRank[i] },
    { name: "oldest", label: "Oldest first", order: "asc", key: (i) => dateRank[i] },
    { name: "name", label: "Name", order: "asc", key: (i) => nameRank[i] },
    { name: "n", label: "Largest n first", order: "desc", key: (i) => data.cards[i].n },
    ...Object.entries(data.suites).flatMap(([suite, { title, metrics }]) => Object.entries(metrics).map(([metric, [name, better]]) => ({
      name: `${suite}.${metric}`, label: `${title}: ${name}, best first`, order: "desc",
      key: (i) => {
        const row = data.cards[i].suite === suite && data.cards[i].rows.find((r) => r[0] === metric);
        return !row || row[1] === null ? -1e300 : better === "lower" ? -row[1] : row[1];
      },
    }))),
  ];

  const runFields = ["q", "kind", "suite", "condition", "seed", "verdict", "status"];
  const runForm = document.querySelector('[data-filters="runs"]');
  addSearch(runForm, "q", "Search");
  addSelect(runForm, "sort", "Sort", runSorts.map((s) => ({ value: s.name, label: s.label })), null);
  addSelect(runForm, "suite", "Suite", Object.entries(data.suites).map(([value, s]) => ({ value, label: s.title })));
  addSelect(runForm, "kind", "Kind", distinct(data.cards.map((c) => c.kind)));
  addSelect(runForm, "condition", "Condition", distinct(data.cards.map((c) => c.condition)));
  addSelect(runForm, "seed", "Seed", distinct(data.cards.flatMap((c) => c.seeds)));
  addSelect(runForm, "verdict", "Verdict", distinct(data.cards.flatMap(verdictsOf)));
  addSelect(runForm, "status", "Status", distinct(data.cards.map((c) => c.status)));
  addClear(runForm, runFields);

  const runs = cardList(place("runs"), {
    items: data.cards, label: "Runs", noun: "results", build: buildCard, sorts: runSorts, matches: matchesRun,
  });

  if (data.incompleteTotal) {
    const rest = data.incompleteTotal - data.incomplete.length;
    place("incomplete").append(el("details", { class: "et-notice et-warning" },
      el("summary", {}, `${data.incompleteTotal} not complete: no card above stands for ${data.incompleteTotal === 1 ? "it" : "them"}`),
      el("ul", {}, data.incomplete.map(([name, why]) => el("li", {}, el("strong", {}, bdi(name)), ": ", bdi(why))),
        rest > 0 ? el("li", {}, `and ${rest} more`) : null)));
  }

  // --- comparison

  const letter = (i) => String.fromCharCode(65 + i);
  const drawn = (options) => {
    const svg = Plot.plot(options);
    svg.setAttribute("role", "img");
    // the label of the whole tells all; parts of an image have none
    svg.querySelectorAll("[aria-label], [aria-description]").forEach((part) => {
      part.removeAttribute("aria-label");
      part.removeAttribute("aria-description");
    });
    return svg;
  };
  const dots = (title, points) => drawn({
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

  const compareSuite = (suite, cards, target) => {
    const title = (metric) => titleOn(cards[0], metric);
    const metrics = Object.keys(data.suites[suite].metrics).filter((m) => cards.some((c) => c.rows.some((r) => r[0] === m)));
    const row = (card, metric) => card.rows.find((r) => r[0] === metric) || [metric, null, null, null, null];
    const head = el("tr", {}, el("th", { scope: "col" }, "Metric"), cards.map((card) =>
      el("th", { scope: "col", class: "et-num" }, el("span", { class: "g-letter" }, card.letter), " ", bdi(card.name))));
    const table = el("table", { class: "et-table g-compare" }, el("caption", { class: "et-hidden" }, `Comparison: ${data.suites[suite].title}`), el("thead", {}, head));
    target.append(el("h3", {}, data.suites[suite].title),
      el("div", { class: "et-box", tabindex: "0", role: "region", "aria-label": `Comparison table: ${data.suites[suite].title}` }, table));
    // the paired verdict of two aggregates stands here if both are on the page and one is the other's baseline
    const paired = (card, metric) => {
      const [, verdict, baseline] = card.verdicts.find((v) => v[0] === metric) || [];
      const other = cards.find((c) => c !== card && c.kind === "aggregate" && c.condition === baseline);
      return other ? chip(`${verdict} against ${other.letter}`, KIND[verdict]) : null;
    };
    const cell = (card, metric) => {
      const [, value, low, high, n] = row(card, metric);
      return el("span", {}, el("strong", {}, show(value)), el("span", { class: "et-sub" }, interval(low, high) || (value === null ? "" : "no interval")),
        n === null ? null : el("span", { class: "et-sub" }, card.kind === "aggregate" ? `${show(n)} seeds` : `n = ${show(n)}`), paired(card, metric));
    };
    new DataTable(table, {
      data: metrics.map((metric, i) => ({ i })),
      columns: [
        { data: "i", type: "num", render: (i, type) => (type === "display"
          ? el("span", {}, title(metrics[i]), arrow(betterOf(suite, metrics[i])), el("span", { class: "et-sub" }, el("code", {}, metrics[i]))) : i) },
        ...cards.map((card) => ({ data: "i", type: "num", className: "et-num",
          render: (i, type) => (type === "display" ? cell(card, metrics[i]) : row(card, metrics[i])[1] ?? -1e300) })),
      ],
      order: [[0, "asc"]], paging: false, autoWidth: false, searching: false,
      layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
    });
    target.append(el("div", { class: "g-plots" }, metrics.map((metric) => el("figure", {},
      el("figcaption", {}, title(metric), arrow(betterOf(suite, metric))),
      dots(title(metric), cards.map((card) => {
        const [, value, low, high] = row(card, metric);
        return { key: card.letter, colour: card.colour, mark: card.mark, value, low, high };
      }))))));
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
    clear.addEventListener("click", () => { state.compare = []; changed("comparison"); go("runs-title"); });
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

  // --- cases of summary runs

  const allCases = data.cases.flatMap((run) => run.rows.map((row) => ({ ...row, run, parent: byId.get(run.card) })));
  const ALL = "all";
  // without a choice the newest run is shown
  const chosenRun = () => (state.crun === ALL ? null : cases.get(state.crun) || data.cases[0]);
  const scoreOf = (item, metric) => item.scores[item.run.metrics.indexOf(metric)] || null;
  const FITS = {
    failing: (s) => s[1] && s[2] === false, passing: (s) => s[2] === true && s[1],
    "not measured": (s) => !s[1], "judged by a model": (s) => s[3] !== null,
  };
  const caseTexts = new Map(allCases.map((item) => [item, [item.case, item.answer || "", item.contexts || "", ...item.tags,
    ...item.scores.flatMap((s) => (s ? s[5].flat() : []))].join("\n").toLowerCase()]));
  const matchesCase = (item) => {
    const run = chosenRun();
    const scores = state.cmetric ? [scoreOf(item, state.cmetric)].filter(Boolean) : item.scores.filter(Boolean);
    const fits = FITS[state.cverdict];
    return (!run || item.run === run)
      && (!state.cmetric || scores.length > 0)
      && (!state.ctag || item.tags.includes(state.ctag))
      && (!fits || (state.cverdict === "passing" && !state.cmetric
        ? !scores.some(FITS.failing) : scores.some(fits)))
      && wordsIn(words(state.cq), caseTexts.get(item));
  };
  const caseMetrics = [...new Set(data.cases.flatMap((run) => run.metrics))];
  const caseRank = rank(allCases, (item) => item.case);
  const caseSorts = [
    { name: "", label: "Failing first", order: "asc", key: (i) => i },
    { name: "case", label: "Case id", order: "asc", key: (i) => caseRank[i] },
    ...caseMetrics.map((metric) => ({ name: metric, label: `${anyTitle(metric)}, lowest first`, order: "asc",
      key: (i) => { const s = scoreOf(allCases[i], metric); return s && s[0] !== null ? s[0] : 9; } })),
  ];

  const verdictOf = (s) => (!s[1] ? ["not measured", "et-warning"] : s[2] === false ? ["fails", "et-error"] : s[2] ? ["passes", "et-good"] : ["", ""]);
  const text = (label, value) => el("div", { class: "et-side" }, el("span", { class: "et-sub" }, label), el("div", { class: "et-text" }, bdi(value || "(empty)")));
  const buildCase = (item) => el("article", { class: "g-card g-case", id: item.id, tabindex: "-1", "aria-label": `Case ${item.case}` },
    el("header", {}, el("h3", {}, el("a", { href: `#case=${encodeURIComponent(item.id)}` }, bdi(item.case))),
      el("span", { class: "g-facts et-muted" }, bdi(item.parent.name))),
    item.tags.length ? el("p", { class: "g-chips" }, item.tags.flatMap((t) => [chip(t), " "])) : null,
    item.answer === undefined ? el("p", { class: "et-muted" }, "The texts of this case are not in units.parquet.")
      : el("div", { class: "et-sides" }, text("Summary", item.answer), text("Contexts", item.contexts)),
    el("table", { class: "g-numbers g-scores" }, el("caption", { class: "et-hidden" }, `Scores of case ${item.case}`),
      el("thead", { class: "et-hidden" }, el("tr", {}, ["Metric and evidence", "Score", "Verdict"].map((t) => el("th", { scope: "col" }, t)))),
      el("tbody", {}, item.scores.map((s, i) => {
        if (!s) return null;
        const [verdict, kind] = verdictOf(s);
        return el("tr", {},
          el("th", { scope: "row" }, anyTitle(item.run.metrics[i]),
            s[3] !== null ? el("span", { class: "et-sub" }, ` judge ${show(s[3])}, decided by ${s[4]}`) : null,
            s[5].map(([what, found]) => el("span", { class: "g-evidence" }, what ? `${what}: ` : "", bdi(found)))),
          el("td", { class: "g-value" }, show(s[0])),
          el("td", {}, verdict ? chip(verdict, kind) : ""));
      }).filter(Boolean))));

  const shares = (tallies, width) => {
    const parts = tallies.flatMap(([metric, threshold, , , , , passed, failed, unmeasured, total]) => [
      { metric: anyTitle(metric), part: "passed", n: passed },
      { metric: anyTitle(metric), part: "measured, no threshold", n: threshold === null ? total - unmeasured : 0 },
      { metric: anyTitle(metric), part: "failed", n: failed },
      { metric: anyTitle(metric), part: "not measured", n: unmeasured },
    ]).filter((p) => p.n > 0);
    const order = ["passed", "measured, no threshold", "failed", "not measured"].filter((part) => parts.some((p) => p.part === part));
    const colours = { passed: "#009e73", "measured, no threshold": "#56b4e9", failed: "#d55e00", "not measured": "#b7bdc6" };
    const names = [...new Set(parts.map((p) => p.metric))];
    return el("figure", { class: "g-shares" },
      el("figcaption", {}, "Cases by metric: ", order.flatMap((part) => {
        const swatch = el("span", { class: "g-swatch" });
        swatch.style.background = colours[part];
        return [swatch, ` ${part}  `];
      })),
      drawn({
        width, height: 30 + 40 * names.length, marginLeft: 8, marginRight: 8, marginTop: 4, marginBottom: 26,
        ariaLabel: `Cases by metric. ${parts.map((p) => `${p.metric}: ${p.n} ${p.part}`).join("; ")}`,
        style: { background: "transparent", color: "inherit", fontSize: "13px", maxWidth: "100%" },
        x: { label: null, ticks: 5 }, y: { domain: names, axis: null }, color: { domain: order, range: order.map((o) => colours[o]) },
        marks: [
          Plot.barX(parts, Plot.stackX({ order, x: "n", y: "metric", fill: "part", insetTop: 18, insetBottom: 3 })),
          Plot.text(names, { x: 0, y: (d) => d, text: (d) => d, textAnchor: "start", dy: -11, frameAnchor: "left", fill: "currentColor" }),
          Plot.text(parts, Plot.stackX({ order, x: "n", y: "metric", z: "part", text: "n", dy: 8, fill: "#000" })),
        ],
      }));
  };

  const drawCaseMetrics = () => {
    const target = place("case-metrics");
    target.replaceChildren();
    if (!data.cases.length) return;
    const run = chosenRun();
    const shown = run ? [run] : data.cases;
    const card = run && byId.get(run.card);
    const tallies = caseMetrics.map((metric) => shown.map((r) => byId.get(r.card).thresholds.find((t) => t[0] === metric)).filter(Boolean))
      .filter((rows) => rows.length)
      .map((rows) => [...rows[0].slice(0, 6), ...[6, 7, 8, 9].map((i) => rows.reduce((total, t) => total + t[i], 0))]);
    if (card) {
      target.append(el("div", { class: "et-kpis" }, tallies.map(([metric, threshold, value, low, high, verdict, , failed]) => {
        const button = el("button", { type: "button", class: "et-kpi", "aria-pressed": String(state.cmetric === metric && state.cverdict === "failing") },
          el("span", { class: "et-kpi-title" }, anyTitle(metric)),
          el("span", { class: "et-kpi-value" }, show(value)),
          el("span", { class: "et-kpi-ci" }, interval(low, high)),
          verdict ? el("span", {}, chip(`${verdict}: threshold ${threshold}`, KIND[verdict])) : el("span", { class: "et-sub" }, "no threshold"),
          verdict ? el("span", { class: "et-sub" }, failed ? `${failed} failing: show them` : "none failing") : null);
        button.addEventListener("click", () => {
          const on = state.cmetric === metric && state.cverdict === "failing";
          Object.assign(state, on ? { cmetric: "", cverdict: "" } : { cmetric: metric, cverdict: "failing" });
          changed("cases");
        });
        return button;
      })));
    }
    if (tallies.length) target.append(shares(tallies, Math.min(660, target.clientWidth || 360)));
    shown.forEach((r) => {
      const parent = byId.get(r.card);
      const csv = parent.links.find(([, href]) => href.endsWith("summary_scores.csv"));
      target.append(el("p", { class: r.problem ? "et-notice et-error" : "g-facts" }, el("strong", {}, bdi(parent.name)),
        r.problem ? `: the cases cannot be shown, ${r.problem}`
          : `: ${r.total} cases, ${r.failing} of them failing in some metric. `,
        r.problem ? "" : r.rows.length < r.total ? `This page holds ${r.rows.length} of them, failing first, to stay small; all stand in the ` : "All are below, and with their full texts in the ",
        r.problem || !csv ? "" : el("a", { href: csv[1] }, "CSV"), r.problem ? "" : "."));
    });
    if (data.caseRuns > data.cases.length) {
      target.append(el("p", { class: "et-notice et-warning" }, `Cases of the newest ${data.cases.length} of ${data.caseRuns} summary runs are on this page.`));
    }
  };

  document.querySelectorAll('[data-section="cases"]').forEach((part) => { part.hidden = !data.cases.length; });
  const caseForm = document.querySelector('[data-filters="cases"]');
  addSearch(caseForm, "cq", "Search cases");
  addSelect(caseForm, "crun", "Run", data.cases.length ? [...data.cases.map((run, i) => ({ value: i ? run.card : "", label: byId.get(run.card).name })), { value: ALL, label: "All runs on this page" }] : [], null);
  addSelect(caseForm, "cmetric", "Metric", caseMetrics.map((value) => ({ value, label: anyTitle(value) })), "Any");
  addSelect(caseForm, "ctag", "Tag", distinct(allCases.flatMap((c) => c.tags)), "Any");
  addSelect(caseForm, "cverdict", "Cases", Object.keys(FITS));
  addSelect(caseForm, "csort", "Sort", caseSorts.map((s) => ({ value: s.name, label: s.label })), null);
  addClear(caseForm, ["cq", "cmetric", "ctag", "cverdict"]);
  const caseList = data.cases.length ? cardList(place("cases"), {
    items: allCases, label: "Cases", noun: "cases", build: buildCase, sorts: caseSorts, matches: matchesCase,
  }) : null;

  // --- all together

  const sync = () => {
    controls.forEach(({ field, input }) => { if (input.value !== state[field]) input.value = state[field]; });
    picks.forEach((box, id) => { box.checked = state.compare.includes(id); });
  };
  const parts = {
    runs: () => runs.update(state.sort),
    comparison: drawComparison,
    cases: () => {
      drawCaseMetrics();
      if (caseList) caseList.update(state.csort);
    },
  };
  const draw = (...named) => {
    sync();
    named.forEach((part) => parts[part]());
  };
  const changed = (part) => {
    writeHash();
    draw(part);
  };
  controls.forEach(({ field, input, part }) => input.addEventListener("input", () => {
    state[field] = input.value;
    state.card = state.case = "";
    changed(part);
  }));

  const reveal = (list, items, id) => {
    const at = items.findIndex((item) => item.id === id);
    if (at < 0 || !list.reveal(at)) return false;
    document.querySelectorAll(".et-target").forEach((other) => other.classList.remove("et-target"));
    document.getElementById(id).classList.add("et-target");
    go(id);
    return true;
  };
  // the address decides: on opening, on going back, and when a link within the page is followed
  const follow = () => {
    readHash();
    const linked = allCases.find((item) => item.id === state.case);
    // a case's own run is shown, whichever the link names
    if (linked) state.crun = linked.run === data.cases[0] ? "" : linked.run.card;
    draw(...Object.keys(parts));
    if (linked && reveal(caseList, allCases, state.case)) return;
    if (state.card && reveal(runs, data.cards, state.card)) return;
    if (state.compare.length) document.getElementById("comparison").scrollIntoView();
  };
  document.querySelectorAll(".g-nav a, .skip").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    go(link.getAttribute("href").slice(1));
  }));
  addEventListener("beforeprint", () => document.querySelectorAll(".g-more").forEach((more) => { more.open = true; }));
  addEventListener("hashchange", () => { if (location.hash.includes("=") || !location.hash) follow(); });
  follow();
})();
