// What pages of a site draw, and give to machines. Texts of releases go into a page as text only, never as markup.
"use strict";
Object.assign(globalThis.margrave, (() => {
const { say } = globalThis.margrave;
const MOST_CELLS = 1000, MOST_ROWS = 400, MOST_ACROSS = 100, STRONGEST = { table: 0.34, heat: 0.66 };
const SVG = "http://www.w3.org/2000/svg", language = document.documentElement.lang;

const element = (kind, inside = [], said = {}) => {
  const found = document.createElement(kind);
  for (const [name, value] of Object.entries(said)) found.setAttribute(name, value);
  found.append(...[inside].flat());
  return found;
};
const decimals = (digits, style) => new Intl.NumberFormat(language, {
  style, minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: "halfEven" });
const formats = { decimal: [0, 1].map((one) => decimals(one, "decimal")), percent: [0, 1].map((one) => decimals(one, "percent")) };
const write = (share) => (value, width) => {
  const digits = share ? (width >= 0.01 ? 0 : 1) : (width >= 1 || Number.isInteger(value) ? 0 : 1);
  const text = formats[share ? "percent" : "decimal"][digits].format(value);
  return text.replace("-", "−").replace(/^−(?=[0.,\s%]*$)/, "");
};

function numberCell(one, format, shade) {
  if (one.value === null) return element("td", "–");
  const width = Math.max(one.value - one.low, one.high - one.value);
  const ends = { low: format(one.low, width), high: format(one.high, width) };
  const under = one.low === one.high ? say("exact") : say("%(low)s to %(high)s", ends);
  const found = element("td", [element("b", format(one.value, width)), " ", element("small", under)]);
  if (one.low <= 0 && one.high > 0) found.className = "unsure";
  if (Math.round(50 * shade)) found.classList.add(`s${2 * Math.round(50 * shade)}`);
  return found;
}

function bar(one, least, most) {
  const at = (value) => 1 + (98 * (value - least)) / (most - least), svg = document.createElementNS(SVG, "svg");
  const add = (kind, said) => {
    const part = document.createElementNS(SVG, kind);
    for (const [name, value] of Object.entries(said)) part.setAttribute(name, value);
    svg.append(part);
  };
  for (const [name, value] of [["aria-hidden", "true"], ["width", "100%"], ["height", "22"]]) svg.setAttribute(name, value);
  const [left, right] = [at(0), at(one.value)].sort((a, b) => a - b);
  add("line", { class: "axis", x1: `${at(0)}%`, x2: `${at(0)}%`, y1: 0, y2: 22 });
  add("rect", { class: "bar", x: `${left}%`, y: 5, width: `${right - left}%`, height: 12, rx: 1 });
  if (one.low < one.high) {
    add("line", { class: "whisker", x1: `${at(one.low)}%`, x2: `${at(one.high)}%`, y1: 11, y2: 11 });
    for (const end of [one.low, one.high]) add("line", { class: "whisker", x1: `${at(end)}%`, x2: `${at(end)}%`, y1: 7, y2: 15 });
  }
  return element("td", svg, { class: "bars" });
}

/** All labels of some axes, each with every other. */
const labels = (axes, of = (one) => one.labels) => axes.reduce(
  (before, one) => before.flatMap((first) => of(one).map((label) => (first ? `${first} · ${label}` : label))), [""]);
const titles = (axes) => axes.map((one) => one.title).join(" × ");
const scrolling = (table, label) =>
  element("div", table, { class: "scroll", role: "group", tabindex: "0", "aria-label": label });
const kind = (view) => (view.numbers === "published" ? say("Published numbers") : say("Unbiased numbers"));
const caption = (view, level, base) =>
  say("%(kind)s, with %(percent)s intervals.", { kind: kind(view), percent: `${+(100 * level).toPrecision(6)} %` })
  + (base ? ` ${say("From each number that of %(base)s is taken away.", { base })}` : "");
const some = (count) => say("The first %(count)s rows; the CSV has all.", { count: formats.decimal[0].format(count) });

const th = (text, said) => element("th", text || "–", said), cols = { scope: "col" }, words = { ...cols, class: "text" };
const framed = (kind, said, ...parts) => {
  const inside = parts.map(([name, rows]) => element(name, rows));
  return scrolling(element("table", [element("caption", said), ...inside], { class: kind }), said);
};

/** A cross table of labels down and across, cells and, where they are known, totals. */
function cross({ down, across, names, cells, rows, columns, total, every = cells.flat() }, said, view) {
  const format = write(view.share !== "none"), strongest = STRONGEST[view.chart] ?? STRONGEST.table;
  const most = Math.max(...every.map((one) => one.value ?? 0), 0) || 1;
  const all = rows ? [th(say("All"), { ...cols, class: "all" })] : [];
  const head = [
    element("tr", [th(names[0], { ...words, rowspan: 2 }),
      th(names[1], { colspan: across.length + all.length, scope: "colgroup", class: "over" })]),
    element("tr", [...across.map((label) => th(label, cols)), ...all]),
  ];
  const body = cells.map((row, at) => {
    const found = row.map((one) => numberCell(one, format, (strongest * Math.max(one.value, 0)) / most));
    if (rows) { found.push(numberCell(rows[at], format)); found.at(-1).dataset.all = ""; }
    return element("tr", [th(down[at], { scope: "row" }), ...found]);
  });
  const parts = [["thead", head], ["tbody", body]];
  if (columns) {
    const below = [...columns.map((one) => numberCell(one, format)), ...(rows ? [total ? numberCell(total, format) : element("td")] : [])];
    parts.push(["tfoot", element("tr", [th(say("All"), { scope: "row" }), ...below])]);
  }
  return framed("cross", said, ...parts);
}

function bars(down, name, cells, said, view, ends) {
  const format = write(view.share !== "none");
  const number = differs(view) ? say("Difference") : view.share === "none" ? say("Count") : say("Share");
  const head = element("tr", [th(name, words), th(say("How many"), { ...cols, class: "bars" }), th(number, cols)]);
  const body = cells.map((one, at) => element("tr", [th(down[at], { scope: "row" }), bar(one, ...ends), numberCell(one, format)]));
  return framed("bar-table", said, ["thead", head], ["tbody", body]);
}

/** A table for each value of the attributes before the last two. */
function panels(found, shown, view) {
  const first = shown.slice(0, -2), [down, across] = shown.slice(-2), size = down.labels.length * across.labels.length;
  const named = labels(first, (one) => one.labels.map((label) => `${one.title}: ${label}`));
  const parts = named.slice(0, Math.max(1, Math.floor(MOST_CELLS / size)));
  return element("div", parts.map((label, at) => {
    const row = (number) => found.cells.slice(at * size + number * across.labels.length, at * size + (number + 1) * across.labels.length);
    const cells = down.labels.map((_, number) => row(number));
    return cross({ down: down.labels, across: across.labels, names: [down.title, across.title], cells, every: found.cells }, label, view);
  }), { class: "panels" });
}

/** The numbers of a view as its chart asks for; see drawing.py. */
function drawn(found, view, level) {
  const cut = view.rows.length, end = cut + view.columns.length, shown = found.grid.slice(0, end);
  const about = caption(view, level, found.base);
  if (view.chart === "panels" && end > 2) return [element("p", about, { class: "note" }), panels(found, shown, view)];
  const down = labels(found.grid.slice(0, cut)), every = labels(found.grid.slice(cut, end));
  const across = every.slice(0, MOST_ACROSS), most = Math.min(MOST_ROWS, Math.max(1, Math.floor(MOST_CELLS / across.length)));
  const row = (at) => found.cells.slice(at * every.length, at * every.length + across.length);
  const sum = (at) => found.cells.slice(at * every.length, (at + 1) * every.length).reduce((all, one) => all + (one.value ?? 0), 0);
  let order = [...down.keys()];
  if (view.order !== "declared") order.sort((a, b) => (view.order === "largest" ? sum(b) - sum(a) : sum(a) - sum(b)));
  const cutOff = order.length > most || every.length > across.length;
  order = order.slice(0, most);
  const said = about + (cutOff ? ` ${some(most)}` : ""), kept = order.map((at) => down[at]);
  const name = titles(found.grid.slice(0, cut));
  if ((view.chart === "bars" || !view.columns.length) && !found.cells.some((one) => one.value === null)) {
    const cells = order.flatMap(row), ends = [Math.min(0, ...cells.map((one) => one.low)), Math.max(1, ...cells.map((one) => one.high))];
    return across.map((label, at) => bars(kept, name, order.map((number) => row(number)[at]),
      label ? `${titles(found.grid.slice(cut, end))}: ${label}. ${said}` : said, view, ends));
  }
  return [cross({
    down: kept, across, names: [name, titles(found.grid.slice(cut, end))], cells: order.map(row),
    rows: found.rows && order.map((at) => found.rows[at]), columns: found.columns?.slice(0, across.length), total: found.total?.[0],
  }, said, view)];
}

const differs = (view) => Object.keys(view.minus).length > 0;

/** The values that a number of a grid is of. */
function valuesAt(grid, at) {
  const texts = {};
  for (const axis of [...grid].reverse()) {
    const place = at % axis.groups.length;
    at = (at - place) / axis.groups.length;
    texts[axis.name] = axis.words[place];
  }
  return texts;
}

/** A number as Python writes it. */
const written = (value, whole) => {
  if (value === null) return "";
  const text = Math.abs(value) < 1e-4 && value !== 0 ? value.toExponential().replace(/e-(\d)$/, "e-0$1") : String(value);
  return whole || /[.e]/.test(text) ? text : `${text}.0`;
};

/** One row a number, as twins.py has them: names and values as text. */
function rowsOf(release, view, found) {
  const shown = found.grid.slice(0, view.rows.length + view.columns.length);
  const single = found.grid.every((one) => one.groups.length === 1 && one.groups[0].length === one.size || one.groups.every((group) => group.length === 1));
  const plain = single && view.share === "none" && !differs(view);
  const names = globalThis.margrave.marginOf(release, found.grid);
  const whole = plain && view.numbers === "published" && release.published.whole;
  const number = plain ? "count" : `${view.share === "none" ? "count" : "share"}${differs(view) ? "_difference" : ""}`;
  const rows = found.cells.map((one, at) => {
    const texts = valuesAt(found.grid, at);
    const ordered = (plain ? names : shown.map((axis) => axis.name)).map((name) => [name, texts[name]]);
    const numbers = [[number, written(one.value, whole)], ...(plain ? [["std_error", written(one.error)]] : []),
      ["low", written(one.low)], ["high", written(one.high)]];
    return { at: ordered, numbers };
  });
  if (plain) {
    const codes = new Map(release.attributes.map((one) => [one.name, one.values]));
    const key = (row) => row.at.map(([name, value]) => codes.get(name).indexOf(value));
    rows.sort((a, b) => { const [x, y] = [key(a), key(b)], at = x.findIndex((one, n) => one !== y[n]); return at < 0 ? 0 : x[at] - y[at]; });
  }
  return { names, rows };
}
const field = (text) => (text && text === text.trim() && !/[,"\r\n]/.test(text) ? text : `"${text.replaceAll('"', '""')}"`);

const lined = (rows) => {
  const lines = [rows[0] ? [...rows[0].at, ...rows[0].numbers].map(([name]) => field(name)) : []];
  lines.push(...rows.map((row) => [...row.at.map(([, value]) => field(value)), ...row.numbers.map(([, value]) => value)]));
  return lines.map((line) => `${line.join(",")}\n`).join("");
};
/** What is said of a view, and its rows, as JSON. */
const indented = (said, rows) => JSON.stringify({ ...said, rows: rows.map((row) => Object.fromEntries(
  [...row.at, ...row.numbers.map(([name, value]) => [name, value ? Number(value) : null])])) }, null, 2);
const csv = (release, view, found) => lined(rowsOf(release, view, found).rows);
function json(release, view, found) {
  const { names, rows } = rowsOf(release, view, found);
  return indented({ private: release.private, table: names, level: release.level, view: globalThis.margrave.written(view) }, rows);
}

/** Numbers as a file that can be kept. */
function offer(kind, content) {
  const link = document.getElementById(kind), type = kind === "csv" ? "text/csv" : "application/json";
  if (link.href.startsWith("blob:")) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([content], { type }));
}

return { element, drawn, titles, csv, json, lined, indented, numeral: written, valuesAt, offer };
})());
