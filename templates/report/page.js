// What the page does beyond showing itself: theme, folded code, filters of tables, sample browsers, deep links.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const spoken = JSON.parse(document.getElementById("words")?.textContent ?? "{}");
  const say = (text, values = {}) => (spoken[text] ?? text).replace(/{(\w+)}/g, (place, name) => values[name] ?? place);
  const MARKS = { matched: say("matched"), missing: say("missing"), spurious: say("spurious") };
  const store = {
    get() { try { return localStorage.getItem("evaltools-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("evaltools-theme", value); } catch { /* a page from a file may not store */ } },
  };

  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const saved = store.get();
  if (saved === "dark" || saved === "light") root.dataset.theme = saved;

  const actions = {
    theme() {
      root.dataset.theme = isDark() ? "light" : "dark";
      store.set(root.dataset.theme);
    },
    code(button) {
      const open = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(open));
      root.toggleAttribute("data-code", open);
    },
  };
  all(".bar-tools").forEach((tools) => { tools.hidden = false; });
  all("[data-do]").forEach((button) => button.addEventListener("click", () => actions[button.dataset.do](button)));

  if (matchMedia("(max-width: 70rem)").matches) all(".contents details").forEach((d) => { d.open = false; });

  // a filter above every longer table: all words must occur
  const MIN_ITEMS = 12;
  const filters = [];
  const addFilter = (place, label, items) => {
    const box = document.createElement("div");
    box.className = "et-filter";
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = say("Filter");
    input.setAttribute("aria-label", label);
    const count = document.createElement("span");
    count.setAttribute("aria-live", "polite");
    box.append(input, count);
    place.before(box);
    const run = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      const list = items();
      list.forEach((item) => {
        const text = item.textContent.toLowerCase();
        item.hidden = !words.every((word) => text.includes(word));
        shown += item.hidden ? 0 : 1;
      });
      count.textContent = words.length ? say("{n} of {total}", { n: shown, total: list.length }) : "";
    };
    input.addEventListener("input", run);
    filters.push(() => { input.value = ""; run(); });
  };
  all("table.sortable").forEach((table) => {
    if (table.tBodies[0].rows.length < MIN_ITEMS) return;
    const name = table.caption ? table.caption.textContent : say("table");
    addFilter(table.closest(".et-box") || table, say("Filter {what}", { what: name }), () => Array.from(table.tBodies[0].rows));
  });

  // sample browsers: the cards of macros.html.j2 from the JSON beside them; what comes from data is only ever text
  const el = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...children.flat(Infinity));
    return element;
  };
  const sub = (text) => el("span", { class: "et-sub" }, text);
  const place = (within) => ({ kind, id, to, tip, text, n }) => el("a", { class: `et-place et-${kind}`, id: `${within}-${id}`,
    ...(to && { href: `#${within}-${to}` }), title: tip }, text, el("sup", {}, n));
  const said = (text, within) => {
    if (typeof text === "string") return el("bdi", {}, text);
    if (text.of) {
      const pieces = text.of.map((piece) => (typeof piece === "string" ? piece : place(within)(piece)));
      return el("div", { class: "et-placed", tabindex: 0 }, el("bdi", {}, pieces));
    }
    const note = el("span", { class: "et-muted" }, `(${text[1]})`);
    return el("details", { class: "et-long" }, el("summary", {}, el("bdi", {}, text[0]), "… ", note),
      el("div", { class: "et-scroll", tabindex: 0 }, el("bdi", {}, text[2])));
  };
  const tuple = (way) => ([ref, term, polarity, marks]) => {
    const [mark, sign] = marks[way].split(" ");
    return el("li", { class: `et-tuple${mark && ` et-${mark}`}` },
      mark ? [el("span", { class: "et-mark", title: MARKS[mark] }, sign), el("span", { class: "et-hidden" }, `${MARKS[mark]}: `)] : [],
      said(ref), term === null ? [] : [" · ", term ? said(term) : el("i", { class: "et-muted" }, say("implicit"))],
      polarity ? [" ", el("span", { class: "et-chip et-pol" }, polarity)] : []);
  };
  const side = (way) => ([head, entries]) => el("div", { class: "et-side" }, sub(head),
    entries.length ? el("ul", { class: "et-tuples" }, entries.map(tuple(way))) : el("p", { class: "et-muted" }, say("none")));
  const field = ([head, lines]) => el("div", { class: "et-field" }, sub(head), " ",
    lines.length > 1 ? el("ul", { class: "et-lines" }, lines.map((text) => el("li", {}, said(text)))) : said(lines[0]));
  // `way` is the number of the way in which the tuples are marked, `name` its name in links
  const article = (card, way, name) => el("article", { class: "et-sample" },
    el("header", {}, el("a", { href: `#${card.id}${way ? BY + name : ""}` }, card.name),
      card.tags[way].map((tag) => [" ", el("span", { class: "et-chip" }, tag)])),
    el("div", { class: "et-texts" },
      card.texts.map(([head, text]) => el("div", { class: "et-text" }, head ? sub(head) : [], said(text, card.id)))),
    card.sides.length ? el("div", { class: "et-sides" }, card.sides.map(side(way))) : [], card.fields.map(field));
  const BY = "?marks=";
  const words = (value) => (typeof value === "string" ? value
    : value?.of ? value.of.map((piece) => piece.text ?? piece).join("") : Object.values(value ?? {}).map(words).join("\n"));
  const plainly = (text) => text.normalize("NFC").toLowerCase();

  // id -> shows the sample in the first browser that has it, and gives its card
  const openers = new Map();
  all(".et-samples").forEach((section) => {
    // groups: of each, all samples first, the places of its cards under each way of marking
    const { page: most, groups, marks, cards } = JSON.parse(section.querySelector(".et-data").textContent);
    // a card is twice as high on a narrow screen
    const page = matchMedia("(max-width: 40rem)").matches ? Math.max(1, Math.min(3, most - 1)) : most;
    const list = section.querySelector(".et-cards");
    const input = section.querySelector("input");
    const select = section.querySelector("select");
    const legend = section.querySelector(".et-legend");
    const chips = all("[data-group]", section);
    const texts = [];
    let group = "0", way = 0, first = 0, found = [];

    const render = () => {
      const shown = found.slice(first, first + page);
      list.replaceChildren(...shown.map((i) => {
        const card = article(cards[i], way, marks[way][0]);
        if (openers.get(cards[i].id) === own[i]) card.id = cards[i].id;
        return card;
      }));
      if (!shown.length) list.append(el("p", { class: "et-muted" }, say("no samples")));
      const some = found.length > page ? say("{n} of {total}", { n: `${first + 1}–${first + shown.length}`, total: found.length })
        : say("{n} of {total}", { n: found.length, total: cards.length });
      all(".et-pager > span", section).forEach((span) => { span.textContent = some; });
      all("[data-step]", section).forEach((button) => {
        button.hidden = found.length <= page;
        button.setAttribute("aria-disabled", found[first + page * button.dataset.step] === undefined);
      });
      chips.forEach((chip) => {
        const n = groups[chip.dataset.group][way].length, pressed = chip.dataset.group === group;
        chip.querySelector("b").textContent = n.toLocaleString("en");
        chip.setAttribute("aria-pressed", pressed);
        chip.hidden = !n && !pressed;
      });
      if (legend) legend.textContent = marks[way][1];
      if (select) select.value = way;
    };
    const filter = () => {
      const wanted = plainly(input.value).split(/\s+/).filter(Boolean);
      found = groups[group][way].filter((i) => {
        if (wanted.length) texts[i] ??= plainly(words({ ...cards[i], id: "" }));
        return wanted.every((word) => texts[i].includes(word));
      });
      first = 0;
      render();
    };
    const own = cards.map(({ id }, i) => {
      const show = (name) => {
        const wanted = Math.max(0, marks.findIndex(([known]) => known === name));
        if (wanted !== way || !found.includes(i)) { way = wanted; group = "0"; input.value = ""; filter(); }
        first = found.indexOf(i) - (found.indexOf(i) % page);
        render();
        return list.children[found.indexOf(i) - first];
      };
      if (!openers.has(id)) openers.set(id, show);
      return show;
    });
    input.addEventListener("input", filter);
    select?.addEventListener("change", () => { way = Number(select.value); filter(); });
    chips.forEach((chip) => chip.addEventListener("click", () => { group = chip.dataset.group; filter(); }));
    all("[data-step]", section).forEach((button) => button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") === "true") return;
      first += page * button.dataset.step;
      render();
      if (section.getBoundingClientRect().top < 0) section.scrollIntoView();
    }));
    all(".et-more", section).forEach((line) => line.remove());
    all(".et-filter", section).forEach((tools, i) => { tools.hidden = i ? cards.length <= page : cards.length < 4 && !chips.length && !select; });
    filter();
  });

  // deep links: open what is folded around the target, show what a filter hides, go there, mark it
  const follow = () => {
    let hash = location.hash.slice(1);
    try { hash = decodeURIComponent(hash); } catch { /* not percent-encoded */ }
    const [id, name] = hash.split(BY);
    const target = id && (openers.get(id)?.(name) ?? document.getElementById(id));
    all(".et-target").forEach((element) => element.classList.remove("et-target"));
    if (!target) return;
    for (let element = target; element; element = element.parentElement) {
      if (element.tagName === "DETAILS") element.open = true;
    }
    if (target.hidden) filters.forEach((clear) => clear());
    if (target.matches("[data-group]")) target.click();
    target.classList.add("et-target");
    target.scrollIntoView({ block: target.matches("tr, .et-sample, .et-place") ? "center" : "start" });
  };
  addEventListener("hashchange", follow);
  // a link followed once more changes no address
  addEventListener("click", ({ target }) => { if (location.hash && target.closest("a")?.hash === location.hash) follow(); });
  follow();
})();
