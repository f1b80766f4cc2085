// What the page does beyond showing itself: theme, folded code, filters of tables, sample browsers, deep links.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const spoken = JSON.parse(document.getElementById("words")?.textContent ?? "{}");
  const say = (text, values = {}) => (spoken[text] ?? text).replace(/{(\w+)}/g, (place, name) => values[name] ?? place);
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
    all("thead th", table).forEach((head) => {
      head.tabIndex = 0;
      head.addEventListener("keydown", (event) => { if (event.key === "Enter") head.click(); });
    });
    if (table.tBodies[0].rows.length < MIN_ITEMS) return;
    const name = table.caption ? table.caption.textContent : say("table");
    addFilter(table.closest(".et-box") || table, say("Filter {what}", { what: name }), () => Array.from(table.tBodies[0].rows));
  });

  // sample browsers: all cards stand in the page, and some of them are shown at a time
  const plainly = (text) => text.normalize("NFC").toLowerCase();
  const browsers = all(".et-samples").map((section) => {
    // groups: of each, all samples first, the places of its cards
    const { page, groups } = JSON.parse(section.querySelector(".et-data").textContent);
    const list = section.querySelector(".et-cards");
    const cards = all(".et-sample", list);
    const input = section.querySelector("input");
    const more = section.querySelector(".et-more");
    const chips = all("[data-group]", section);
    const none = document.createElement("p");
    none.textContent = say("no samples");
    list.append(none);
    let group = "0", limit = page, found = [];

    // what lies beyond the limit is still found by the browser's own search, which then shows it
    const show = () => {
      cards.forEach((card) => { card.hidden = true; });
      found.forEach((card, i) => { if (i < limit) card.hidden = false; else card.setAttribute("hidden", "until-found"); });
      none.hidden = found.length > 0;
      more.hidden = found.length === cards.length && limit >= found.length;
      more.querySelector("button").hidden = limit >= found.length;
      more.querySelector("span").textContent = say("{n} of {total}", { n: Math.min(limit, found.length), total: cards.length });
    };
    const filter = () => {
      const wanted = plainly(input.value).split(/\s+/).filter(Boolean);
      found = groups[group].map((i) => cards[i]).filter((card) => {
        const text = wanted.length ? plainly(card.textContent) : "";
        return wanted.every((word) => text.includes(word));
      });
      limit = page;
      chips.forEach((chip) => chip.setAttribute("aria-pressed", chip.dataset.group === group));
      show();
    };
    const reach = (card) => {
      limit = Math.max(limit, Math.ceil((found.indexOf(card) + 1) / page) * page);
      show();
    };
    const open = (card) => {
      if (!found.includes(card)) { group = "0"; input.value = ""; filter(); }
      reach(card);
    };
    input.addEventListener("input", filter);
    chips.forEach((chip) => chip.addEventListener("click", () => { group = chip.dataset.group; filter(); }));
    more.querySelector("button").addEventListener("click", () => {
      const next = found[limit];
      limit *= 2;
      show();
      next.focus({ preventScroll: true });
    });
    list.addEventListener("beforematch", ({ target }) => reach(target.closest(".et-sample")));
    list.removeAttribute("tabindex");
    section.classList.add("et-live");
    all(".et-filter", section).forEach((tools) => { tools.hidden = cards.length < 4 && !chips.length; });
    filter();
    return { section, input, open, reach, cards: () => found };
  });

  // j and k: the next and the previous card; /: the search of the browser that is in view
  const bar = document.querySelector(".bar");
  const below = (element) => element.getBoundingClientRect().bottom > (bar?.offsetHeight ?? 0) + 8;
  const step = (by) => {
    const cards = browsers.flatMap((browser) => (browser.section.offsetParent ? browser.cards().map((card) => [card, browser]) : []));
    const now = cards.findIndex(([card]) => card === document.activeElement);
    const inView = cards.findIndex(([card]) => below(card));
    const next = cards[now < 0 ? inView : now + by];
    if (!next) return;
    const [card, browser] = next;
    browser.reach(card);
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "start" });
  };
  const keys = {
    j: () => step(1),
    k: () => step(-1),
    "/": () => {
      const seen = browsers.filter(({ section, input }) => section.offsetParent && input.offsetParent);
      (seen.find(({ section }) => below(section)) ?? seen.at(-1))?.input.focus();
    },
  };
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && typing?.type === "search") {
      typing.value = "";
      typing.dispatchEvent(new Event("input"));
      typing.blur();
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key) || !browsers.length) return;
    event.preventDefault();
    keys[event.key]();
  });

  // on paper nothing stays folded
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    folded.forEach((element) => { element.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((element) => { element.open = false; }));

  // deep links: open what is folded around the target, show what a filter hides, go there, mark it
  const follow = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* not percent-encoded */ }
    const target = id && document.getElementById(id);
    all(".et-target").forEach((element) => element.classList.remove("et-target"));
    if (!target) return;
    const card = target.closest(".et-sample");
    if (card) browsers.find(({ section }) => section.contains(card)).open(card);
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
