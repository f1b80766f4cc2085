// What the page does beyond showing itself: theme, folded code, filters of tables and samples, deep links.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const spoken = JSON.parse(document.getElementById("words").textContent);
  const say = (text, values = {}) => spoken[text].replace(/{(\w+)}/g, (place, name) => values[name] ?? place);
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
  all(".bar-tools, .et-look").forEach((tools) => { tools.hidden = false; });
  // what a reader took out of the notebook is no place to look
  all(".et-look a").forEach((link) => { link.hidden = !document.getElementById(decodeURIComponent(link.hash.slice(1))); });
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
  all(".et-table:not(.et-strips)").forEach((table) => {
    if (table.tBodies[0].rows.length < MIN_ITEMS) return;
    const name = table.caption ? table.caption.textContent : say("table");
    addFilter(table.closest(".et-box") || table, say("Filter {what}", { what: name }), () => Array.from(table.tBodies[0].rows));
  });

  // samples: all cards stand in the page; a group and a search narrow them, and the first are shown until all are asked for
  const FIRST = 2;
  const plainly = (text) => text.normalize("NFC").toLowerCase();
  const browsers = all(".et-samples").map((section) => {
    const cards = all(".et-sample", section);
    const input = section.querySelector("input");
    const chips = all("[data-group]", section);
    const more = section.querySelector(".et-more");
    let group = 0, isWhole = false;
    const show = () => {
      const wanted = plainly(input.value).split(/\s+/).filter(Boolean);
      let n = 0;
      cards.forEach((card) => {
        const text = wanted.length ? plainly(card.textContent) : "";
        const fits = (!group || card.dataset.of.split(" ").includes(String(group))) && wanted.every((word) => text.includes(word));
        n += fits;
        // the browser's own search finds what fits and is not shown
        if (fits && (isWhole || n <= FIRST)) card.hidden = false;
        else card.setAttribute("hidden", fits ? "until-found" : "");
      });
      more.hidden = isWhole || n <= FIRST;
      section.toggleAttribute("data-first", !isWhole);
      more.textContent = say("Show all {n} cards", { n });
      section.querySelector("[role=status]").textContent = n < cards.length ? say("{n} of {total} cards", { n, total: cards.length }) : "";
      chips.forEach((chip) => chip.setAttribute("aria-pressed", Number(chip.dataset.group) === group));
    };
    const showAll = () => { isWhole = true; show(); };
    const choose = (chosen) => { group = chosen; show(); };
    const open = (card) => {
      if (card.getAttribute("hidden") === "") { input.value = ""; choose(0); }
      if (card.hidden) showAll();
    };
    input.addEventListener("input", show);
    chips.forEach((chip) => chip.addEventListener("click", () => choose(Number(chip.dataset.group))));
    more.addEventListener("click", showAll);
    section.addEventListener("beforematch", showAll);
    all(".et-filter", section).forEach((tools) => { tools.hidden = cards.length <= FIRST && !chips.length; });
    show();
    return { section, open };
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
