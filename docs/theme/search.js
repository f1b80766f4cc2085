// Finds every word of the query anywhere in a section, so that it needs neither a server nor word boundaries.
document.addEventListener("DOMContentLoaded", () => {
  const MOST = 40, AROUND = 60;
  const plain = (text) => text.normalize("NFC").toLowerCase();
  const field = document.getElementById("properdocs-search-query");
  const list = document.getElementById("properdocs-search-results");
  const root = base_url.replace(/\/$/, "");
  let sections = null;

  function load() {
    if (document.querySelector("script[data-index]")) return;
    const script = document.createElement("script");
    script.src = `${root}/search/index.js`;
    script.dataset.index = "";
    script.onload = () => {
      sections = SECTIONS.map((s) => ({ ...s, heading: plain(s.title), body: plain(s.text) }));
      show();
    };
    document.head.append(script);
  }

  function found(words) {
    const hits = sections.filter((s) => words.every((w) => s.heading.includes(w) || s.body.includes(w)));
    const rank = (s) => words.filter((w) => !s.heading.includes(w)).length;
    return hits.sort((a, b) => rank(a) - rank(b));
  }

  function passage(section, words) {
    const at = Math.max(0, Math.min(...words.map((w) => section.body.indexOf(w)).filter((i) => i >= 0)));
    const from = Number.isFinite(at) ? Math.max(0, at - AROUND) : 0;
    return (from ? "… " : "") + section.text.slice(from, from + 3 * AROUND);
  }

  function entry(section, words) {
    const item = document.createElement("article");
    const link = document.createElement("a");
    link.href = `${root}/${section.location}`;
    link.textContent = section.title;
    const text = document.createElement("p");
    text.textContent = passage(section, words);
    item.append(link, text);
    return item;
  }

  function show() {
    const words = plain(field.value).split(/\s+/).filter(Boolean);
    if (!sections || !words.length) return list.replaceChildren();
    const hits = found(words);
    const count = document.createElement("p");
    count.textContent = hits.length > MOST ? `${hits.length} sections, the first ${MOST} shown` : `${hits.length} sections`;
    list.replaceChildren(count, ...hits.slice(0, MOST).map((s) => entry(s, words)));
  }

  field.form.addEventListener("submit", (e) => e.preventDefault());
  field.addEventListener("focus", load);
  field.addEventListener("input", show);
});
