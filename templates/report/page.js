// What the page does beyond showing itself: theme, folded code, filters of tables and sample lists, deep links.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
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
      all(".code-fold").forEach((fold) => { fold.open = open; });
    },
  };
  all(".bar-tools").forEach((tools) => { tools.hidden = false; });
  all("[data-do]").forEach((button) => button.addEventListener("click", () => actions[button.dataset.do](button)));

  if (matchMedia("(max-width: 70rem)").matches) all(".contents details").forEach((d) => { d.open = false; });

  // a filter above every longer table and sample list: all words must occur
  const MIN_ITEMS = 10;
  const filters = [];
  const addFilter = (place, label, items) => {
    const box = document.createElement("div");
    box.className = "et-filter";
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Filter";
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
      count.textContent = words.length ? `${shown} of ${list.length}` : "";
    };
    input.addEventListener("input", run);
    filters.push(() => { input.value = ""; run(); });
  };
  all("table.sortable").forEach((table) => {
    if (table.tBodies[0].rows.length < MIN_ITEMS) return;
    const name = table.caption ? table.caption.textContent : "table";
    addFilter(table.closest(".et-box") || table, `Filter ${name}`, () => Array.from(table.tBodies[0].rows));
  });
  all(".et-samples").forEach((list) => {
    const cards = () => all(":scope > .et-sample", list);
    if (cards().length >= 4) addFilter(cards()[0], "Filter samples", cards);
  });

  // deep links: open what is folded around the target, show what a filter hides, go there, mark it
  const follow = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* not percent-encoded */ }
    const target = id && document.getElementById(id);
    all(".et-target").forEach((element) => element.classList.remove("et-target"));
    if (!target) return;
    for (let element = target; element; element = element.parentElement) {
      if (element.tagName === "DETAILS") element.open = true;
    }
    if (target.hidden) filters.forEach((clear) => clear());
    target.classList.add("et-target");
    target.scrollIntoView({ block: target.matches("tr, .et-sample") ? "center" : "start" });
  };
  addEventListener("hashchange", follow);
  follow();
})();
