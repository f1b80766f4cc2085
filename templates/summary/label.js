// Labels of people, given by keyboard; every text of a case is set as text, never as HTML.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const spoken = JSON.parse($("words").textContent);
  const say = (text, values = {}) => (spoken[text] ?? text).replace(/{(\w+)}/g, (place, name) => values[name] ?? place);
  const items = JSON.parse($("items").textContent);
  const store = "evaltools-labels:" + JSON.parse($("key").textContent);
  let state = { rater: "", at: 0, labels: {}, changed: {}, order: [] };
  try {
    state = Object.assign(state, JSON.parse(localStorage.getItem(store)) || {});
  } catch { /* a browser that keeps nothing still labels */ }

  const keep = () => {
    try { localStorage.setItem(store, JSON.stringify(state)); } catch { /* as above */ }
  };

  function show() {
    const item = items[state.at];
    const given = state.labels[state.at];
    const n = Object.keys(state.labels).length;
    $("status").textContent = say("{at} of {total}, {n} labelled", { at: state.at + 1, total: items.length, n }) +
      (given === undefined ? "" : ` · ${say("label: {given}", { given })}`);
    $("question").textContent = item.question;
    $("keys").textContent = [["1", say("yes")], ["0", say("no")], ...(item.partly ? [["5", say("partly")]] : []), ["j", say("next")],
      ["k", say("back")], ["u", say("undo")], ["d", say("download")]].map((key) => key.join(" ")).join(" · ");
    $("summary").textContent = item.summary;
    $("tags").textContent = item.tags.length ? say("Expected: {tags}", { tags: item.tags.join(", ") }) : "";
    $("contexts").replaceChildren(...item.contexts.map((text) => {
      const box = document.createElement("div");
      box.className = "text";
      box.textContent = text;
      return box;
    }));
    $("seen").textContent = given === undefined ? "" : item.evidence || say("nothing");
    $("evidence").hidden = given === undefined;
  }

  function give(label) {
    // what is said after the evidence was shown is not blind any more
    if (state.labels[state.at] !== undefined && state.labels[state.at] !== label) state.changed[state.at] = 1;
    state.labels[state.at] = label;
    state.order = [...state.order.filter((i) => i !== state.at), state.at];
  }

  function undo() {
    const last = state.order.pop();
    if (last === undefined) return;
    state.at = last;
    state.changed[last] = 1;
    delete state.labels[last];
  }

  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  function download() {
    const rows = [["case_id", "metric", "label", "rater", "stratum", "changed"]];
    items.forEach((item, i) => {
      if (state.labels[i] !== undefined) {
        rows.push([item.case_id, item.metric, state.labels[i], state.rater, item.stratum, state.changed[i] || 0]);
      }
    });
    const text = rows.map((row) => row.map((x) => cell(String(x))).join(",") + "\n").join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = "labels.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const step = (by) => { state.at = Math.min(Math.max(state.at + by, 0), items.length - 1); };
  const keys = {
    j: () => step(1), k: () => step(-1), u: undo, d: download, 1: () => give(1), 0: () => give(0),
    5: () => { if (items[state.at].partly) give(0.5); },
  };

  function begin() {
    $("who").hidden = true;
    $("work").hidden = false;
    show();
  }

  document.addEventListener("keydown", (event) => {
    if ($("work").hidden || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
    keep();
    show();
  });
  $("save").addEventListener("click", download);
  $("who").addEventListener("submit", (event) => {
    event.preventDefault();
    state.rater = $("rater").value.trim();
    if (!state.rater) return;
    keep();
    begin();
  });
  if (state.rater) begin(); else $("rater").focus();
})();
