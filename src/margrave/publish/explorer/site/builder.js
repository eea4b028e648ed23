// The page that builds tables in a site: from its address to a table, and from its form to an address.
"use strict";
(() => {
const { element, say } = margrave, by = (name) => document.getElementById(name);
const form = by("builder"), heading = document.querySelector("h1"), cited = by("citation").textContent;
const address = () => location.hash.slice(1) || location.search.slice(1);

/** What the form says, as the address of a view. */
function chosen() {
  const pairs = [...new FormData(form)].filter(([, value]) => value !== "");
  const shown = new Set(pairs.filter(([word]) => word === "rows" || word === "columns").map(([, name]) => name));
  return margrave.written(margrave.read(new URLSearchParams(pairs.filter(([word]) => {
    const [, name] = /^(?:join|minus)\.(.*)$/s.exec(word) ?? [];
    return name === undefined || shown.has(name);
  })).toString()));
}

/** Have the form say what a view is, and offer no attribute that is not known together with it. */
function filled(text, view) {
  const pairs = new Set([...new URLSearchParams(text)].map((pair) => JSON.stringify(pair)));
  const has = (one, value) => pairs.has(JSON.stringify([one.name, value]));
  const names = [...new Set([...view.rows, ...view.columns, ...Object.keys(view.keep)])];
  for (const one of form.elements) {
    if (one.type === "checkbox") {
      one.checked = has(one, one.value);
      const name = one.name.startsWith("keep.") ? one.name.slice(5) : one.value;
      one.disabled = !one.checked && !names.includes(name) && !margrave.knows(release, [...names, name]);
    }
    if (one.tagName !== "SELECT") continue;
    const found = [...one.options].find((option) => option.value && has(one, option.value));
    one.value = found ? found.value : one.options[0].value;
    if (found) one.closest("details")?.setAttribute("open", "");
  }
  for (const note of form.querySelectorAll("[data-unknown]")) {
    note.hidden = !note.closest("fieldset").querySelector('input[name="rows"]').disabled;
  }
}

/** To fewer attributes, and to more as far as the release goes. */
function steps(view) {
  const shown = [...view.rows, ...view.columns], names = [...new Set([...shown, ...Object.keys(view.keep)])];
  const link = (text, to) => element("li", element("a", text, { href: `#${margrave.written(to)}` }));
  const left = (map, name) => Object.fromEntries(Object.entries(map).filter(([one]) => one !== name));
  return release.attributes.flatMap(({ name, title }) => {
    if (shown.includes(name)) {
      const to = { ...view, rows: view.rows.filter((one) => one !== name), columns: view.columns.filter((one) => one !== name),
        keep: left(view.keep, name), join: left(view.join, name), minus: left(view.minus, name) };
      return [link(say("without %(name)s", { name: title }), to)];
    }
    if (names.includes(name) || !margrave.knows(release, [...names, name])) return [];
    return [link(say("by %(name)s as well", { name: title }), { ...view, rows: [...view.rows, name] })];
  });
}

let release = null;

function show() {
  const text = address();
  let view = margrave.read("");
  by("refused").hidden = true;
  try {
    view = margrave.read(text, release);
    const found = margrave.figures(release, view), permanent = `${location.href.split("#")[0]}#${margrave.written(view)}`;
    heading.textContent = margrave.titles(found.grid.slice(0, view.rows.length + view.columns.length)) || say("Total");
    by("drawing").replaceChildren(...margrave.drawn(found, view, release.level));
    by("permanent").href = permanent;
    // Where the files are on somebody's own computer is nobody else's business.
    by("citation").textContent = `${cited} ${location.protocol === "file:" ? permanent.split("/").at(-1) : permanent}`;
    margrave.offer("csv", margrave.csv(release, view, found));
    margrave.offer("json", margrave.json(release, view, found));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    by("drawing").replaceChildren();
    by("refused").textContent = error.message;
    by("refused").hidden = false;
  }
  by("links").hidden = !by("refused").hidden;
  by("steps").replaceChildren(...steps(view));
  filled(margrave.written(view), view);
}

form.addEventListener("submit", (event) => { event.preventDefault(); location.hash = chosen(); });
form.addEventListener("change", () => { location.hash = chosen(); });
addEventListener("hashchange", show);
margrave.unpacked(margrave.release).then((found) => { release = found; show(); document.body.dataset.ready = ""; });
})();
