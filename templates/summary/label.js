// Labels of people, given by keys or buttons; every text of a case is set as text, never as HTML.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const spoken = JSON.parse($("words").textContent);
  const say = (text, values = {}) => (spoken[text] ?? text).replace(/{(\w+)}/g, (place, name) => values[name] ?? place);
  const items = JSON.parse($("items").textContent);
  const store = "evaltools-labels:" + JSON.parse($("key").textContent);
  const NONE = "";  // the question does not apply to the case
  let state = { rater: "", at: 0, labels: {}, changed: {}, notes: {}, order: [] };
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
    $("status").textContent = say("{at} of {total}, {n} labelled", { at: state.at + 1, total: items.length, n });
    $("case").textContent = item.case_id;
    $("question").textContent = item.question;
    const answers = [["1", 1, `${say("yes")} (${item.yes})`], ["0", 0, `${say("no")} (${item.no})`]];
    if (item.partly) answers.push(["5", 0.5, say("partly")]);
    answers.push(["n", NONE, say("does not apply")]);
    $("answers").replaceChildren(...answers.map(([key, label, text]) => button(key, text, given === label)));
    const moves = [["k", say("back")], ["j", say("next")], ["u", say("undo")], ["d", say("download")]];
    $("moves").replaceChildren(...moves.map(([key, text]) => button(key, text)));
    $("note").value = state.notes[state.at] ?? "";
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

  function button(key, text, pressed) {
    const made = document.createElement("button");
    made.type = "button";
    const name = document.createElement("kbd");
    name.textContent = key;
    made.append(name, text);
    if (pressed !== undefined) made.setAttribute("aria-pressed", pressed);
    made.addEventListener("click", () => press(key));
    return made;
  }

  function press(key) {
    keys[key]();
    keep();
    show();
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
    const rows = [["case_id", "metric", "label", "rater", "changed", "note"]];
    items.forEach((item, i) => {
      const note = state.notes[i] || "";
      if (state.labels[i] !== undefined || note) {
        rows.push([item.case_id, item.metric, state.labels[i] ?? NONE, state.rater, state.changed[i] || 0, note]);
      }
    });
    const text = rows.map((row) => row.map((x) => cell(String(x))).join(",") + "\n").join("");
    // the mark of UTF-8, by which spreadsheet programs read Hangul
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + text], { type: "text/csv" }));
    link.download = "labels.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const step = (by) => { state.at = Math.min(Math.max(state.at + by, 0), items.length - 1); };
  const keys = {
    j: () => step(1), k: () => step(-1), u: undo, d: download, 1: () => give(1), 0: () => give(0), n: () => give(NONE),
    5: () => { if (items[state.at].partly) give(0.5); },
  };

  function begin() {
    $("who").hidden = true;
    $("work").hidden = false;
    show();
  }

  // a Hangul keyboard sends ㅓ, or nothing that can be read, for the key j
  const pressed = ({ key, code }) => (Object.hasOwn(keys, key) ? key : code.replace(/^(Key|Digit|Numpad)/, "").toLowerCase());

  document.addEventListener("keydown", (event) => {
    const key = pressed(event);
    const writing = event.target.matches("input, textarea");
    if ($("work").hidden || writing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, key)) return;
    event.preventDefault();
    press(key);
  });
  $("note").addEventListener("input", () => { state.notes[state.at] = $("note").value; keep(); });
  $("who").addEventListener("submit", (event) => {
    event.preventDefault();
    state.rater = $("rater").value.trim();
    if (!state.rater) return;
    keep();
    begin();
  });
  if (state.rater) begin(); else $("rater").focus();
})();
