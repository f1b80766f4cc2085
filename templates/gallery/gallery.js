// The gallery: cards or a dense table that filter and sort, and a comparison of ticked results.
// Text from data only ever becomes text nodes. The table component sees numbers and nodes, never text.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const spoken = JSON.parse(document.getElementById("words")?.textContent ?? "{}");
  const say = (text, values = {}) => (spoken[text] ?? text).replace(/{(\w+)}/g, (place, name) => values[name] ?? place);
  // words that stand in the data: kinds, verdicts, statuses, labels of links
  const NAMES = new Map(Object.entries(data.words.names));
  const named = (word) => NAMES.get(word) ?? word;
  const PAGE = 24;
  const LEAD = 6;
  const COMPARED = 8;
  const ROWS = 200;
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
    element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined));
    return element;
  };
  // a name may break after its underscores, dashes and slashes, a number may not
  const bdi = (text) => el("bdi", {}, ...text.split(/(?<=[_\-/.])(?=\p{L})/u).flatMap((part, i) => (i ? [el("wbr"), part] : [part])));
  const chip = (text, kind = "") => el("span", { class: `et-chip ${kind}` }, bdi(text));

  const show = (value, digits = 3) =>
    value === null ? "N/A" : Math.abs(value) >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 0 })
      : Number.isInteger(value) && Math.abs(value) > 1 ? String(value) : value.toFixed(digits).replace("-", "−");
  const count = (n) => n.toLocaleString("en", { maximumFractionDigits: 1 });
  const interval = (low, high, digits = 3) => (low === null || high === null ? "" : `[${show(low, digits)}, ${show(high, digits)}]`);
  const percent = (level) => `${Math.round(level * 1000) / 10}%`;
  const date = (started) =>
    `${started.slice(0, 16).replace("T", " ")} ${started.slice(19).replace(/^(\+00:00|Z)$/, "UTC")}`.trim();
  const ARROWS = { higher: ["↑", say("higher is better")], lower: ["↓", say("lower is better")] };
  const arrow = (better) =>
    ARROWS[better] ? ["\u00a0", el("span", { title: ARROWS[better][1], "aria-hidden": "true" }, ARROWS[better][0]),
      el("span", { class: "et-hidden" }, ` (${ARROWS[better][1]})`)] : [];

  // --- data: rows with their metrics, and what stands under each suite

  const suites = new Map();
  data.cards.forEach((card) => {
    card.rows = card.rows.map(([i, value, low, high, n, blocked = false]) => {
      const [name, title, better] = data.metrics[i];
      return { name, title, better, value, low, high, n, blocked, digits: card.digits[name] };
    });
    if (!suites.has(card.suite)) suites.set(card.suite, { title: card.suite, metrics: new Map() });
    const suite = suites.get(card.suite);
    if (card.suiteTitle) suite.title = card.suiteTitle;
    // results of the first edition have no titles: those of later ones speak for them
    card.rows.forEach((row) => { if (!suite.metrics.has(row.name) || row.title !== row.name) suite.metrics.set(row.name, row); });
  });
  const suiteTitle = (card) => suites.get(card.suite).title;
  const byId = new Map(data.cards.flatMap((card) => [card.id, card.also].filter(Boolean).map((id) => [id, card])));

  // --- state: every choice stands in the address, so that a view can be sent to somebody

  const FIELDS = ["q", "kind", "suite", "condition", "seed", "verdict", "status", "sort", "reverse", "view", "card"];
  const KEPT = new Set(["sort", "reverse", "view", "card"]);
  const LISTS = ["compare", "open"];
  const state = { compare: [], open: [] };
  const readHash = () => {
    const given = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    FIELDS.forEach((f) => { state[f] = given.get(f) || ""; });
    LISTS.forEach((l) => { state[l] = [...new Set(given.getAll(l).filter((id) => byId.has(id)).map((id) => byId.get(id).id))]; });
  };
  const writeHash = () => {
    const out = new URLSearchParams();
    FIELDS.forEach((f) => { if (state[f]) out.set(f, state[f]); });
    LISTS.forEach((l) => state[l].forEach((id) => out.append(l, id)));
    const text = out.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  };

  const verdictsOf = (card) => [...card.verdicts, ...card.judged].map((v) => v[1]);
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
  const addSelect = (field, label, options, all = say("All")) => {
    if (!options.length) return;
    addControl(field, label, el("select", { id: `f-${field}` },
      all ? el("option", { value: "" }, all) : null,
      options.map((o) => el("option", { value: o.value ?? o }, o.label ?? o))));
  };
  const distinct = (values) => [...new Set(values)].filter(Boolean).sort(collator.compare);
  const said = (values) => distinct(values).map((value) => ({ value, label: named(value) }));

  // --- cards

  const picks = new Map();
  const ticks = new Map();
  const pickBox = (card, boxes) => {
    const box = el("input", { type: "checkbox", "aria-label": say("Compare {name}", { name: card.name }) });
    box.checked = state.compare.includes(card.id);
    box.addEventListener("change", () => setPick(card.id, box.checked));
    boxes.set(card.id, box);
    return box;
  };
  const setPick = (id, on) => {
    state.compare = state.compare.filter((other) => other !== id);
    if (on) state.compare.push(id);
    changed(drawComparison);
  };

  const numbersTable = (card, rows, caption) => el("table", { class: "g-numbers" },
    el("caption", { class: "et-hidden" }, caption),
    el("thead", { class: "et-hidden" }, el("tr", {},
      [say("Metric"), card.kind === "aggregate" ? say("Mean") : say("Value"), say("{level} interval", { level: percent(card.level) })]
        .map((t) => el("th", { scope: "col" }, t)))),
    el("tbody", {}, rows.map(({ title, better, value, low, high, n, blocked, digits }) => el("tr", { class: blocked ? "g-blocked" : null },
      el("th", { scope: "row" }, bdi(title), arrow(better),
        n !== null && n !== card.n ? el("span", { class: "et-sub" }, `n\u00a0=\u00a0${count(n)}`) : null),
      el("td", { class: "g-value" }, blocked ? struck(value) : show(value)),
      el("td", { class: "g-interval" }, blocked ? "" : interval(low, high, digits) || (value === null ? "" : say("no interval")))))));
  const numbers = (card) => {
    const rows = card.rows.filter((row) => !row.blocked);
    const blocked = card.rows.filter((row) => row.blocked);
    if (!card.rows.length) return [el("p", { class: "et-muted" }, say("no headline metrics"))];
    const more = rows.length > LEAD + 1 ? rows.slice(LEAD) : [];
    const first = numbersTable(card, [...(more.length ? rows.slice(0, LEAD) : rows), ...blocked], say("Metrics"));
    return more.length ? [first, el("details", { class: "g-more" }, el("summary", {}, say("{n} more", { n: more.length })),
      numbersTable(card, more, say("More metrics")))] : [first];
  };

  // what was found when the run was scored: the worst in sight, the rest folded; nothing where nobody looked
  const LEVELS = new Map(Object.entries(data.words.levels));
  const lead = (level) => LEVELS.get(level)[0];
  const struck = (value) => [el("s", {}, show(value)), el("span", { class: "et-hidden" }, ` (${lead("blocking").toLowerCase()})`)];
  const checkLine = ([level, code, message, help]) => el("div", { class: `et-check et-${LEVELS.get(level)[1]}` },
    el("strong", {}, lead(level)), " ", el("span", {}, bdi(message), help ? [" ", el("code", {}, bdi(help))] : []));
  const strip = (card) => {
    if (!card.checks) return null;
    const fine = card.checks.every(([level]) => level === "info");
    const rest = fine ? card.checks : card.checks.slice(1);
    return el("div", { class: "g-checks", role: "group", "aria-label": say("checks") },
      fine ? el("div", { class: "et-check et-good" }, el("strong", {}, data.words.fine)) : checkLine(card.checks[0]),
      rest.length ? el("details", {}, el("summary", {}, fine ? say("{n} to note", { n: rest.length }) : say("{n} more", { n: rest.length })), rest.map(checkLine)) : null);
  };

  const KIND = new Map(Object.entries(data.words.kinds));
  const MEANING = new Map(Object.entries(data.words.meaning));
  const verdictChip = (verdict, text) => {
    const found = chip(text, `et-${KIND.get(verdict) || "info"}`);
    if (MEANING.has(verdict)) found.title = MEANING.get(verdict);
    return found;
  };
  const judgedLine = (card) => (card.judged.length ? el("p", { class: "g-verdicts" },
    card.judged.flatMap(([title, verdict, said]) => {
      const found = chip(`${title}: ${named(verdict)}`, `et-${KIND.get(verdict) || "info"}`);
      if (said) found.title = said;
      return [found, " "];
    })) : null);
  const verdictLine = (card) => {
    if (!card.verdicts.length && !card.explored.length) return null;
    const counts = new Map();
    card.verdicts.forEach(([, verdict]) => counts.set(verdict, (counts.get(verdict) || 0) + 1));
    const chips = (found) => found.flatMap(([verdict, n]) => [verdictChip(verdict, `${n} ${named(verdict)}`), " "]);
    return el("p", { class: "g-verdicts" },
      card.verdicts.length ? [el("span", { class: "et-sub" }, bdi(say("against {what}", { what: card.verdicts[0][2] }))), " ", chips([...counts])] : [],
      card.explored.length ? [el("span", { class: "et-sub", title: say("outside the headline, with no correction for their number") }, say("exploratory:")), " ", chips(card.explored)] : []);
  };

  const meanOf = (card) => (card.runs === 1 ? say("mean of 1 run") : say("mean of {n} runs", { n: card.runs }));
  const size = (card) =>
    `${card.kind === "aggregate" ? `${meanOf(card)}, ` : ""}n = ${card.n.toLocaleString("en")} (${card.unit})`;
  const go = (id) => {
    const target = document.getElementById(id);
    if (!target) return;
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView();
  };

  const titled = (card) => {
    const report = ["Report", "Study: Report"].map((l) => card.links.find(([label]) => label === l)).find(Boolean);
    return report ? el("a", { href: report[1] }, bdi(card.name)) : bdi(card.name);
  };
  const linkTo = (card, ...children) =>
    el("a", { href: `#card=${encodeURIComponent(card.id)}`, "aria-label": say("Link to {name}", { name: card.name }) }, ...children);
  const buildCard = (card) => {
    const warnings = [...card.problems.map(([severity, code, n]) => `${n} × ${code} (${named(severity)})`), ...card.notes];
    return el("article", { class: `g-card g-${card.kind}`, id: card.id, tabindex: "-1", "aria-label": card.name },
      el("header", {},
        el("h3", {}, titled(card)),
        el("label", { class: "g-pick" }, pickBox(card, picks), ` ${say("Compare")}`)),
      el("p", { class: "g-chips" },
        [chip(suiteTitle(card)), card.kind === "aggregate" ? chip(named("aggregate"), "et-info") : null,
          card.condition ? chip(card.condition) : null,
          card.seeds.length ? chip(`${card.seeds.length > 1 ? say("seeds") : say("seed")} ${card.seeds.join(", ")}`) : null,
          chip(named(card.status), { complete: "et-good", incomplete: "et-error" }[card.status] || "et-warning")]
          .filter(Boolean).flatMap((c) => [c, " "])),
      el("p", { class: "g-facts et-muted" }, `${size(card)} · ${date(card.started)}`),
      el("p", { class: "g-found et-sub", "data-of": card.id }, ...foundIn(card)),
      strip(card),
      numbers(card),
      judgedLine(card),
      verdictLine(card),
      warnings.length ? el("details", { class: "g-notes" },
        el("summary", {}, warnings.length === 1 ? say("1 note") : say("{n} notes", { n: warnings.length })),
        el("ul", {}, warnings.map((w) => el("li", {}, bdi(w))))) : null,
      el("p", { class: "g-links" }, card.links.flatMap(([label, href]) => [el("a", { href }, named(label)), " "]),
        linkTo(card, say("Link"))));
  };

  // texts of samples: a line each, that of a run's samples once whatever the number of its runs
  const lines = data.texts.map((text) => text.split("\n"));
  const lowered = data.texts.map((text) => text.toLowerCase());
  let asked = "";
  let answers = new Map();
  const samplesWith = (i, found) => {
    if (asked !== state.q) { asked = state.q; answers = new Map(); }
    if (!answers.has(i)) answers.set(i, lines[i].filter((line) => { const low = line.toLowerCase(); return found.every((word) => low.includes(word)); }).map((line) => line.split(" ")[0]));
    return answers.get(i);
  };
  const SHOWN = 5;
  const foundIn = (card) => {
    const all = words(state.q || "");
    if (!all.length || all.every((word) => texts.get(card).includes(word))) return "";
    const ids = [...new Set(card.texts.flatMap((i) => samplesWith(i, all)))];
    return ids.length ? [ids.length === 1 ? say("1 sample with these words:") : say("{n} samples with these words:", { n: count(ids.length) }), " ", bdi(ids.slice(0, SHOWN).join(", ")), ids.length > SHOWN ? ", …" : ""] : "";
  };

  const texts = new Map(data.cards.map((c) => [c,
    [c.name, c.alsoName || "", c.suite, suiteTitle(c), c.condition, named(c.status), ...c.seeds.map((s) => `seed ${s}`), date(c.started),
      ...c.rows.flatMap((row) => [row.name, row.title]), ...(c.checks || []).flatMap((check) => check.slice(1))]
      .join("\n").toLowerCase()]));
  const matches = (card) =>
    (!state.suite || card.suite === state.suite)
    && (!state.kind || card.kind === state.kind)
    && (!state.condition || card.condition === state.condition)
    && (!state.seed || card.seeds.includes(state.seed))
    && (!state.status || card.status === state.status)
    && (!state.verdict || verdictsOf(card).includes(state.verdict))
    && words(state.q).every((word) => texts.get(card).includes(word) || card.texts.some((i) => lowered[i].includes(word)));

  const rowOf = (card, name) => card.rows.find((row) => row.name === name);
  const dateRank = rank(data.cards, (c) => c.started);
  const nameRank = rank(data.cards, (c) => c.name);
  const sorts = [
    { name: "", label: say("Newest first"), order: "desc", key: (i) => dateRank[i] },
    { name: "oldest", label: say("Oldest first"), order: "asc", key: (i) => dateRank[i] },
    { name: "name", label: say("Name"), order: "asc", key: (i) => nameRank[i] },
    { name: "n", label: say("Largest n first"), order: "desc", key: (i) => data.cards[i].n },
    ...[...suites].flatMap(([suite, { title, metrics }]) => [...metrics.values()].map((metric) => ({
      name: `${suite}.${metric.name}`, label: say("{suite}: {metric}, best first", { suite: title, metric: metric.title }), order: "desc",
      key: (i) => {
        const row = data.cards[i].suite === suite && rowOf(data.cards[i], metric.name);
        return !row || row.blocked || row.value === null ? -1e300 : metric.better === "lower" ? -row.value : row.value;
      },
    }))),
  ];

  addControl("q", say("Search"), el("input", { type: "search", id: "f-q", autocomplete: "off", spellcheck: "false" }), "g-search");
  addSelect("sort", say("Sort"), sorts.map((s) => ({ value: s.name, label: s.label })), null);
  addSelect("suite", say("Suite"), [...suites].map(([value, s]) => ({ value, label: s.title })));
  addSelect("kind", say("Kind"), said(data.cards.map((c) => c.kind)));
  addSelect("condition", say("Condition"), distinct(data.cards.map((c) => c.condition)));
  addSelect("seed", say("Seed"), distinct(data.cards.flatMap((c) => c.seeds)));
  addSelect("verdict", say("Verdict"), said(data.cards.flatMap(verdictsOf)));
  addSelect("status", say("Status"), said(data.cards.map((c) => c.status)));
  form.querySelector(".g-search").title = say("Names, metrics, checks, ids and texts of samples");
  if (data.searched !== null) form.querySelector(".g-search span").append(` (${data.searched ? say("the first {n} characters of each sample", { n: data.searched }) : say("without the texts of samples, which are too many")})`);
  const clear = el("button", { type: "button" }, say("Clear filters"));
  clear.addEventListener("click", () => {
    FIELDS.filter((f) => !KEPT.has(f)).forEach((f) => { state[f] = ""; });
    changed();
  });
  form.append(clear);
  form.addEventListener("submit", (event) => event.preventDefault());

  const NOTHING = { filtered: say("No results fit these filters."), at_all: say("There are no results yet.") };
  // the cards on the table component: one visible column of nodes, hidden columns of numbers to sort by
  const table = el("table", { class: "g-list" });
  place("runs").replaceChildren(table);
  const list = new DataTable(table, {
    data: data.cards.map((card, i) => ({ i })),
    columns: [
      { title: say("Runs"), data: "i", render: (i, type) => (type === "display" ? buildCard(data.cards[i]) : i) },
      ...sorts.map((sort) => ({ title: "", data: "i", visible: false, type: "num", render: (i) => sort.key(i) })),
    ],
    order: [[1, sorts[0].order]],
    autoWidth: false,
    deferRender: true,
    pageLength: PAGE,
    layout: { topStart: "info", topEnd: null, bottomStart: null, bottomEnd: { paging: { boundaryNumbers: true } } },
    language: {
      zeroRecords: NOTHING.filtered, emptyTable: NOTHING.at_all,
      info: say("{first} to {last} of {total} results", { first: "_START_", last: "_END_", total: "_TOTAL_" }),
      infoEmpty: say("0 results"), infoFiltered: say("(of {total})", { total: "_MAX_" }),
    },
    // one column of cards is a list: said so to those who do not see it
    drawCallback() {
      table.setAttribute("role", "presentation");
      table.removeAttribute("aria-describedby");
      table.tBodies[0].setAttribute("role", "list");
      table.tBodies[0].setAttribute("aria-label", say("Runs"));
      document.querySelectorAll(".dt-paging nav").forEach((nav) => nav.setAttribute("aria-label", say("Pages of results")));
      Array.from(table.tBodies[0].rows).forEach((row) => {
        row.setAttribute("role", "listitem");
        Array.from(row.cells).forEach((cell) => cell.setAttribute("role", "presentation"));
      });
    },
  });
  table.removeAttribute("aria-describedby");
  list.search.fixed("filters", (text, row) => matches(data.cards[row.i]));
  const order = () => {
    const at = Math.max(0, sorts.findIndex((s) => s.name === state.sort));
    return { at, desc: (sorts[at].order === "desc") !== Boolean(state.reverse) };
  };

  // the table: a suite's results by its headline metrics; a condition unfolds into its runs
  const toggle = (field, id) => {
    state[field] = state[field].includes(id) ? state[field].filter((other) => other !== id) : [...state[field], id];
  };
  const sortHeader = (name, label, suite) => {
    const by = order();
    const button = el("button", { type: "button", class: "g-sort", "data-sort": `${suite} ${name}` }, label);
    button.addEventListener("click", () => {
      const again = sorts[by.at].name === name;
      Object.assign(state, { sort: name, reverse: again && !state.reverse ? "1" : "" });
      changed();
      Array.from(document.querySelectorAll(".g-sort")).find((b) => b.dataset.sort === `${suite} ${name}`).focus();
    });
    return { button, sorted: sorts[by.at].name === name };
  };
  const numberCell = (row, [, verdict, baseline] = []) => (row.blocked ? el("td", { class: "g-blocked" }, struck(row.value))
    : el("td", {}, el("strong", {}, show(row.value)), el("span", { class: "et-sub" }, interval(row.low, row.high, row.digits)),
      verdict ? el("span", { class: "g-said", title: say("against {what}", { what: baseline }) }, verdictChip(verdict, named(verdict))) : null));
  const checkChip = (card) => {
    if (!card.checks) return null;
    const [level] = card.checks[0] || ["info"];
    const found = chip(level === "info" ? data.words.fine : lead(level), level === "info" ? "et-good" : `et-${LEVELS.get(level)[1]}`);
    if (level !== "info") found.title = card.checks[0][2];
    return found;
  };
  const RANK = say("on the primary metric, all ranks at once; conditions that share a letter are not shown to differ");
  const drawTable = () => {
    const { at, desc } = order();
    const sign = desc ? -1 : 1;
    const placeOf = new Map(data.cards.map((card, i) => [card, i]));
    const value = (card) => sorts[at].key(placeOf.get(card));
    // what has no value stands last, whatever the direction; of equals the newest first
    const sorted = (cards) => [...cards].sort((a, b) =>
      (value(a) === -1e300) - (value(b) === -1e300) || sign * (value(a) - value(b)) || dateRank[placeOf.get(b)] - dateRank[placeOf.get(a)]);
    const shown = data.cards.filter(matches);
    ticks.clear();
    const tables = [...suites].sort((a, b) => collator.compare(a[1].title, b[1].title)).map(([suite, { title }]) => {
      const cards = shown.filter((card) => card.suite === suite);
      if (!cards.length) return null;
      const ids = new Set(cards.map((card) => card.id));
      const under = new Map(cards.filter((c) => c.kind === "aggregate").map((c) => [c.id, c.of.filter((id) => ids.has(id))]));
      const nested = new Set([...under.values()].flat());
      const leads = new Set(cards.flatMap((c) => c.rows.filter((row) => !row.blocked).map((row) => row.name)));
      const metrics = [...new Map(cards.flatMap((c) => c.rows).map((row) => [row.name, suites.get(suite).metrics.get(row.name) || row])).values()]
        .sort((a, b) => leads.has(b.name) - leads.has(a.name));
      const ranked = cards.some((card) => card.rank) ? ["rank", "group"] : [];
      const line = (card, child) => {
        const inside = under.get(card.id) || [];
        const open = state.open.includes(card.id);
        const fold = inside.length ? el("button", { type: "button", class: "g-fold", "data-fold": card.id, "aria-expanded": String(open),
          "aria-label": say("Runs of {name}", { name: card.name }) }, open ? "▾" : "▸") : null;
        if (fold) fold.addEventListener("click", () => {
          toggle("open", card.id);
          changed();
          Array.from(document.querySelectorAll(".g-fold")).find((b) => b.dataset.fold === card.id).focus();
        });
        const tr = el("tr", { class: child ? "g-child" : null },
          el("th", { scope: "row" }, el("div", { class: "g-who" }, fold, pickBox(card, ticks), el("span", {}, titled(card),
            inside.length ? el("span", { class: "et-sub" }, meanOf(card)) : null))),
          el("td", {}, linkTo(card, checkChip(card) || say("card"))),
          el("td", {}, count(card.n)),
          ranked.map((name) => el("td", {}, card.rank?.[name] ?? "")),
          metrics.map((metric) => { const row = rowOf(card, metric.name); return row ? numberCell(row, card.verdicts.find((v) => v[0] === metric.name && KIND.has(v[1]))) : el("td", {}); }));
        return [tr, ...(open ? sorted(inside.map((id) => byId.get(id))).flatMap((c) => line(c, true)) : [])];
      };
      const top = sorted(cards.filter((card) => !nested.has(card.id)));
      const body = el("tbody", {}, top.slice(0, ROWS).flatMap((card) => line(card, false)));
      const th = (name, ...label) => {
        const { button, sorted: on } = sortHeader(name, el("span", {}, ...label), suite);
        return el("th", { scope: "col", "aria-sort": on ? (desc ? "descending" : "ascending") : null }, button);
      };
      const all = el("button", { type: "button" }, say("Show all {n}", { n: count(top.length) }));
      all.addEventListener("click", () => { body.replaceChildren(...top.flatMap((card) => line(card, false))); all.remove(); });
      return el("section", { class: "g-suite" }, el("h3", {}, bdi(title), el("span", { class: "et-sub" }, say("{n} of {total} results", { n: count(cards.length), total: count(data.cards.filter((c) => c.suite === suite).length) }))),
        el("div", { class: "g-dense-box", tabindex: "0", role: "region", "aria-label": say("Results: {what}", { what: title }) },
          el("table", { class: "g-dense" }, el("caption", { class: "et-hidden" }, title),
            el("thead", {}, el("tr", {}, th("name", say("Run")), el("th", { scope: "col" }, say("Checks")), th("n", "n"), ranked.map((name) => el("th", { scope: "col", title: RANK }, named(name))),
              metrics.map((metric) => th(`${suite}.${metric.name}`, bdi(metric.title), arrow(metric.better))))), body)),
        top.length > ROWS ? all : null);
    }).filter(Boolean);
    place("table").replaceChildren(...(tables.length ? tables : [el("p", { class: "dt-empty" }, data.cards.length ? NOTHING.filtered : NOTHING.at_all)]));
  };
  const views = Array.from(document.querySelectorAll("[data-view]"));
  views.forEach((button) => button.addEventListener("click", () => {
    state.view = button.dataset.view;
    state.card = "";
    changed();
  }));
  const drawRuns = () => {
    const dense = state.view === "table";
    views.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === (dense ? "table" : ""))));
    place("runs").hidden = dense;
    place("table").hidden = !dense;
    if (dense) return drawTable();
    const { at, desc } = order();
    list.order([[at + 1, desc ? "desc" : "asc"]]).draw();
    document.querySelectorAll(".g-found").forEach((place) => place.replaceChildren(...foundIn(byId.get(place.dataset.of))));
  };

  if (data.incompleteTotal) {
    const rest = data.incompleteTotal - data.incomplete.length;
    place("incomplete").append(el("details", { class: "et-notice et-warning" },
      el("summary", {}, say("Not complete, and without a card above: {n}", { n: data.incompleteTotal })),
      el("ul", {}, data.incomplete.map(([name, why]) => el("li", {}, el("strong", {}, bdi(name)), ": ", bdi(why))),
        rest > 0 ? el("li", {}, say("and {n} more", { n: rest })) : null)));
  }

  // --- comparison

  const letter = (i) => String.fromCharCode(65 + i);
  const dots = (title, points) => {
    const svg = Plot.plot({
      width: 330, height: 44 + 22 * points.length, marginLeft: 26, marginRight: 14, marginTop: 6, marginBottom: 28,
      ariaLabel: `${title}: ${points.map((p) => `${p.key} ${show(p.value)} ${interval(p.low, p.high, p.digits)}`).join("; ")}`,
      style: { background: "transparent", color: "inherit", fontSize: "12px", maxWidth: "100%" },
      x: { nice: true, ticks: 4, label: null, grid: true },
      y: { domain: points.map((p) => p.key), label: null, tickSize: 0 },
      marks: [
        Plot.ruleY(points.filter((p) => p.low !== null), { y: "key", x1: "low", x2: "high", stroke: "colour", strokeWidth: 2 }),
        Plot.dot(points.filter((p) => p.value !== null), { x: "value", y: "key", fill: "colour", symbol: "mark", r: 4.5 }),
        Plot.text(points.filter((p) => p.value === null), { y: "key", frameAnchor: "left", text: (p) => (p.blocked ? lead("blocking").toLowerCase() : named("not measured")), fill: "currentColor" }),
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

  // values of different data differ for that alone: said, with what differs and where
  const unlike = (cards) => {
    const by = (key) => {
      const groups = new Map();
      cards.filter(key).forEach((card) => groups.set(key(card), [...(groups.get(key(card)) || []), card.letter]));
      return groups.size > 1 ? [...groups].map(([hash, letters]) => `${letters.join(", ")}: ${hash.includes("+") ? say("not the same in every run") : hash}`).join(" · ") : "";
    };
    const roles = distinct(cards.flatMap((card) => card.inputs.slice(1).map(([role]) => role)));
    const found = [[say("samples"), by((card) => card.samples)],
      ...roles.map((role) => [role, by((card) => (card.inputs.find(([r]) => r === role) || [])[2])])].filter(([, text]) => text);
    return found.length ? el("div", { class: "et-notice et-warning g-unlike" },
      el("strong", {}, found.every(([what]) => what === say("samples")) ? say("These runs were not scored on the same samples.") : say("These runs were scored on different files.")),
      ` ${say("A difference between them may come from the data.")}`,
      el("ul", {}, found.map(([what, text]) => el("li", {}, bdi(say("{what} differ ({text})", { what, text })))))) : null;
  };

  const NONE = { value: null, low: null, high: null, n: null, blocked: false };
  const compareSuite = (suite, cards, target) => {
    const { title } = suites.get(suite);
    const metrics = [...new Map(cards.flatMap((c) => c.rows).map((row) => [row.name, row])).values()];
    const row = (card, metric) => rowOf(card, metric.name) || NONE;
    const head = el("tr", {}, el("th", { scope: "col" }, say("Metric")), cards.map((card) =>
      el("th", { scope: "col", class: "et-num" }, el("span", { class: "g-letter" }, card.letter), " ", bdi(card.name))));
    const table = el("table", { class: "et-table g-compare" }, el("caption", { class: "et-hidden" }, say("Comparison: {what}", { what: title })), el("thead", {}, head));
    const warning = unlike(cards);
    target.append(el("h3", {}, title), ...(warning ? [warning] : []),
      el("div", { class: "et-box", tabindex: "0", role: "region", "aria-label": say("Comparison table: {what}", { what: title }) }, table));
    // the paired verdict of two aggregates stands here if both are on the page and one is the other's baseline
    const paired = (card, metric) => {
      const [, verdict, baseline] = card.verdicts.find((v) => v[0] === metric.name) || [];
      const other = cards.find((c) => c !== card && (c.kind === "aggregate" || c.also) && c.condition === baseline);
      return other ? verdictChip(verdict, say("{verdict} against {what}", { verdict: named(verdict), what: other.letter })) : null;
    };
    const cell = (card, metric) => {
      const { value, low, high, n, blocked, digits } = row(card, metric);
      if (blocked) return el("span", { class: "g-blocked" }, struck(value));
      return el("span", {}, el("strong", {}, show(value)), el("span", { class: "et-sub" }, interval(low, high, digits) || (value === null ? "" : say("no interval"))),
        n === null ? null : el("span", { class: "et-sub" }, `n = ${count(n)}`), paired(card, metric));
    };
    const titleOf = (metric) => [bdi(metric.title), arrow(metric.better)].flat();
    new DataTable(table, {
      data: metrics.map((metric, i) => ({ i })),
      columns: [
        { data: "i", type: "num", render: (i, type) => (type === "display"
          ? el("span", {}, titleOf(metrics[i]), metrics[i].title === metrics[i].name ? null : el("span", { class: "et-sub" }, el("code", {}, metrics[i].name))) : i) },
        ...cards.map((card) => ({ data: "i", type: "num", className: "et-num",
          render: (i, type) => (type === "display" ? cell(card, metrics[i]) : row(card, metrics[i]).blocked ? -1e300 : row(card, metrics[i]).value ?? -1e300) })),
      ],
      order: [[0, "asc"]], paging: false, autoWidth: false, searching: false,
      layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
    });
    target.append(el("div", { class: "g-plots" }, metrics.filter((m) => cards.some((card) => !row(card, m).blocked)).map((metric) => el("figure", {},
      el("figcaption", {}, titleOf(metric)),
      dots(metric.title, cards.map((card) => ({ key: card.letter, colour: card.colour, mark: card.mark, ...row(card, metric), ...(row(card, metric).blocked ? { value: null, low: null, high: null } : {}) })))))));
  };

  const drawComparison = () => {
    const target = place("comparison");
    const all = state.compare.map((id) => byId.get(id));
    const cards = all.slice(0, COMPARED).map((card, i) => ({ ...card, letter: letter(i), colour: COLOURS[i], mark: MARKS[i] }));
    document.querySelector('[data-badge="comparison"]').textContent = all.length ? `${say("Comparison")} (${all.length})` : say("Comparison");
    target.replaceChildren();
    if (!cards.length) {
      target.append(el("p", { class: "et-muted" }, say("Tick “Compare” on two or more cards to see their headline metrics side by side. The address then holds the selection.")));
      return;
    }
    const clear = el("button", { type: "button" }, say("Clear the comparison"));
    clear.addEventListener("click", () => { state.compare = []; changed(drawComparison); go("runs-title"); });
    target.append(
      el("ul", { class: "g-legend" }, cards.map((card) => {
        const remove = el("button", { type: "button", "aria-label": say("Remove {name} from the comparison", { name: card.name }) }, "×");
        remove.addEventListener("click", () => setPick(card.id, false));
        const swatch = el("span", { class: "g-letter" }, card.letter);
        swatch.style.borderColor = card.colour;
        return el("li", {}, swatch, el("span", {}, bdi(card.name), ` · ${size(card)}`, card.inputs.length
          ? el("span", { class: "et-sub" }, card.inputs.map(([role, n, hash]) => `${role}${n > 1 ? ` (${say("{n} files", { n })})` : ""} ${hash}`).join(" · ")) : null), remove);
      })), clear);
    if (all.length > cards.length) target.append(el("p", { class: "et-notice et-warning" }, say("The first {n} of {total} selected results are shown.", { n: COMPARED, total: all.length })));
    distinct(cards.map((c) => c.suite)).forEach((suite) => compareSuite(suite, cards.filter((c) => c.suite === suite), target));
    target.append(el("p", { class: "et-muted g-claim" },
      say("Each interval is the result's own ({level}). Overlapping intervals do not show that two results are equal; “evaltools compare A B” compares results on the same samples in pairs.",
        { level: distinct(cards.map((c) => percent(c.level))).join(", ") })));
  };

  // --- all together

  const sync = () => {
    controls.forEach(([field, input]) => { if (input.value !== state[field]) input.value = state[field]; });
    [...picks, ...ticks].forEach(([id, box]) => { box.checked = state.compare.includes(id); });
  };
  const changed = (draw = drawRuns) => {
    writeHash();
    sync();
    draw();
  };
  controls.forEach(([field, input]) => input.addEventListener("input", () => {
    state[field] = input.value;
    if (field === "sort") state.reverse = "";
    state.card = "";
    changed();
  }));

  const reveal = (given) => {
    if (state.view || !byId.has(given)) return false;
    const { id } = byId.get(given);
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
