// Two releases of a site beside each other; see compare.py.
"use strict";
(() => {
const { element, say } = margrave, by = (name) => document.getElementById(name), form = by("compare");
const loaded = new Map();

/** A release of the site, from its data, which is a script. */
function load(key) {
  if (!loaded.has(key)) {
    loaded.set(key, new Promise((done, failed) => {
      const script = element("script", [], { src: `r/${key}/data.js` });
      script.onload = () => done(margrave.unpacked(margrave.release));
      script.onerror = () => failed(new RangeError(say("This release cannot be compared here.")));
      document.head.append(script);
    }));
  }
  return loaded.get(key);
}

/** The second less the first: the noise of one release is independent of that of another. */
function apart(one, other) {
  const labels = (found) => JSON.stringify(found.grid.map((axis) => [axis.title, axis.labels]));
  if (labels(one) !== labels(other)) {
    throw new RangeError(say("The two releases name or group these values differently, so they cannot be compared."));
  }
  const width = (cell) => Math.max(cell.value - cell.low, cell.high - cell.value);
  const cells = one.cells.map((cell, at) => {
    const beside = other.cells[at];
    if (cell.value === null || beside.value === null) return { value: null, low: null, high: null };
    const value = margrave.rounded(beside.value - cell.value), half = Math.hypot(width(cell), width(beside));
    return { value, low: margrave.rounded(value - half), high: margrave.rounded(value + half) };
  });
  return { ...one, cells, rows: null, columns: null, total: null };
}

/** The attributes of both. */
function offered(one, other, view) {
  const both = one.attributes.filter(({ name }) => other.attributes.some((beside) => beside.name === name));
  for (const word of ["rows", "columns"]) {
    by(word).replaceChildren(by(word).querySelector("legend"), ...both.map(({ name, title }) => {
      const box = element("input", [], { type: "checkbox", name: word, value: name });
      box.checked = view[word].includes(name);
      return element("label", [box, ` ${title}`]);
    }));
  }
}

async function show() {
  const pairs = new URLSearchParams(location.hash.slice(1)), keys = ["one", "other"].map((word) => pairs.get(word));
  if (!keys.every(Boolean)) return;
  by("refused").hidden = by("links").hidden = true;
  by("drawings").replaceChildren();
  ["one", "other"].forEach((word, at) => { form.elements[word].value = keys[at]; pairs.delete(word); });
  try {
    const [one, other] = [await load(keys[0]), await load(keys[1])];
    const view = margrave.read(pairs.toString(), { published: one.published && other.published });
    offered(one, other, view);
    for (const word of ["share", "order", "chart", "numbers"]) form.elements[word].value = view[word];
    const found = [margrave.figures(one, view), margrave.figures(other, view)];
    const chosen = ["one", "other"].map((word) => form.elements[word].selectedOptions[0]);
    const parts = [...chosen.map((side, at) => [side.text, found[at]]), [say("The second less the first"), apart(...found)]];
    by("drawings").replaceChildren(...parts.map(([title, part]) =>
      element("section", [element("h2", title), ...margrave.drawn(part, view, one.level)])));
    const shown = [...view.rows, ...view.columns], rows = found[0].cells.map((_, at) => {
      const texts = margrave.valuesAt(found[0].grid, at), numbers = ["first", "second", "difference"].flatMap((word, which) =>
        [["", "value"], ["_low", "low"], ["_high", "high"]].map(([end, kind]) =>
          [word + end, margrave.numeral(parts[which][1].cells[at][kind])]));
      return { at: shown.map((name) => [name, texts[name]]), numbers };
    });
    const said = { one: keys[0], other: keys[1], level: one.level, view: margrave.written(view) };
    margrave.offer("csv", margrave.lined(rows));
    margrave.offer("json", margrave.indented(said, rows));
    by("permanent").href = location.href;
    by("citation").textContent = chosen.map((side) => side.dataset.cite).join(" ");
    by("links").hidden = false;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    by("refused").textContent = error.message;
    by("refused").hidden = false;
  }
}

const go = () => {
  const pairs = [...new FormData(form)].filter(([, value]) => value), keys = pairs.splice(0, 2);
  const view = margrave.written(margrave.read(new URLSearchParams(pairs).toString()));
  location.hash = [new URLSearchParams(keys).toString(), view].filter(Boolean).join("&");
};
form.addEventListener("submit", (event) => { event.preventDefault(); go(); });
addEventListener("hashchange", show);
show();
})();
