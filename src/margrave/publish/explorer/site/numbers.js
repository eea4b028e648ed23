// The numbers of a view, each with its interval, from what a site ships (shipped.py), by the steps of figures.py and
// view.py: tests hold both to the same numbers. A classic script, since browsers load no modules from a folder.
"use strict";
globalThis.margrave = (() => {
const LEAST = 0.25, HEAVIEST = 3;
const CHOICES = {
  share: ["none", "rows", "columns", "all"], order: ["declared", "largest", "smallest"],
  chart: ["table", "bars", "heat", "panels"], numbers: ["published", "unbiased"],
};
/** A message in the language of the page, with its values filled in. */
const words = globalThis.document ? JSON.parse(document.getElementById("words").textContent) : {};
const say = (text, values = {}) => (words[text] ?? text).replace(/%\((\w+)\)s/g, (_, name) => values[name]);
const refuse = (text, values) => { throw new RangeError(say(text, values)); };

/** The view that an address names; see view.py. */
function read(address, release = { published: true }) {
  const view = { rows: [], columns: [], keep: {}, join: {}, minus: {} }, groups = {};
  for (const [word, known] of Object.entries(CHOICES)) view[word] = known[0];
  if (!release.published) view.numbers = "unbiased";
  for (const [word, value] of new URLSearchParams(address)) {
    if (value === "") continue;
    const [, kind, name] = /^(keep|join|minus)\.(.*)$/s.exec(word) ?? [];
    if (word === "rows" || word === "columns") view[word].push(value);
    else if (Object.hasOwn(CHOICES, word) && CHOICES[word].includes(value)) view[word] = value;
    else if (kind === "keep") (view.keep[name] ??= []).push(value);
    else if (kind === "minus" && !Object.hasOwn(view.minus, name)) view.minus[name] = value;
    else if (kind === "join" && value.indexOf(":") > 0) {
      const cut = value.indexOf(":");
      ((groups[name] ??= {})[`g${value.slice(0, cut)}`] ??= []).push(value.slice(cut + 1));
    } else refuse("The address of this view cannot be read.");
  }
  for (const [name, found] of Object.entries(groups)) {
    const large = Object.values(found).filter((group) => group.length > 1);
    if (large.length) view.join[name] = large;
  }
  return view;
}

/** A view as its address, in the order of view.py. */
function written(view) {
  const pairs = [...view.rows.map((name) => ["rows", name]), ...view.columns.map((name) => ["columns", name])];
  for (const name of Object.keys(view.keep).sort()) pairs.push(...view.keep[name].map((value) => [`keep.${name}`, value]));
  for (const name of Object.keys(view.join).sort()) {
    view.join[name].forEach((group, at) => pairs.push(...group.map((value) => [`join.${name}`, `${at + 1}:${value}`])));
  }
  for (const name of Object.keys(view.minus).sort()) pairs.push([`minus.${name}`, view.minus[name]]);
  for (const [word, known] of Object.entries(CHOICES)) if (view[word] !== known[0]) pairs.push([word, view[word]]);
  return new URLSearchParams(pairs).toString();
}

const KINDS = { "<i4": Int32Array, "<f4": Float32Array, "<f8": Float64Array };
async function numbersIn([kind, text]) {
  const packed = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return Float64Array.from(new KINDS[kind](await new Response(stream).arrayBuffer()));
}

const sized = (attributes) => ({ attributes, cells: attributes.reduce((all, one) => all * one.values.length, 1) });

/** The bars of the cells of each table, by its attributes: errors, and then half-widths. */
async function barsOf({ attributes, published }) {
  const numbers = await numbersIn(published.bars), found = new Map();
  let from = 0;
  for (const margin of published.parts) {
    const to = from + 2 * sized(attributes.filter(({ name }) => margin.includes(name))).cells;
    found.set(margin.join("\n"), numbers.subarray(from, to));
    from = to;
  }
  return found;
}

/** A release with its numbers unpacked: published are the table and then each simulation. */
async function unpacked(release) {
  const found = { ...release, published: null, unbiased: null };
  if (release.published) {
    const one = { ...release.published, ...sized(release.attributes), tables: await numbersIn(release.published.counts) };
    for (let at = one.cells; at < one.tables.length; at++) one.tables[at] += one.tables[at % one.cells];
    one.bars = await barsOf(release);
    found.published = one;
  }
  if (release.unbiased) {
    found.unbiased = await Promise.all(release.unbiased.map(async (one) => ({
      ...one, ...sized(release.attributes.filter(({ name }) => one.margin.includes(name))),
      counts: await numbersIn(one.counts), weights: await numbersIn(one.weights),
    })));
  }
  return found;
}

const code = (attribute, value) => {
  const found = attribute.values.indexOf(value);
  return found < 0 ? refuse("%(name)s has no value %(value)s.", { name: attribute.name, value }) : found;
};

/** An attribute with its groups in the declared order; a group stands where its first value would. */
function axis(attribute, keep, join) {
  const kept = new Set(keep ? keep.map((value) => code(attribute, value)) : attribute.values.keys());
  const groups = new Map([...kept].map((one) => [one, [one]]));
  for (const values of join ?? []) {
    const codes = [...new Set(values.map((value) => code(attribute, value)))].filter((one) => kept.has(one));
    codes.sort((one, other) => one - other);
    codes.forEach((one) => groups.delete(one));
    if (codes.length) groups.set(codes[0], codes);
  }
  const ordered = [...groups].sort((one, other) => one[0] - other[0]).map((one) => one[1]);
  const labels = ordered.map((group) => group.map((one) => attribute.labels[one]).join(" + "));
  const words = ordered.map((group) => group.map((one) => attribute.values[one]).join("|"));
  return { name: attribute.name, title: attribute.title, size: attribute.values.length, groups: ordered, labels, words };
}
const complete = (one) => one.groups.length === 1 && one.groups[0].length === one.size;
const together = (one) => ({ ...one, labels: [""], groups: [one.groups.flat().sort((a, b) => a - b)] });
const totalled = (grid, over) => grid.map((one, at) => (over.includes(at) ? together(one) : one));
/** The attributes that matter, in the order of the release. */
const marginOf = (release, grid) => {
  const names = grid.filter((one) => !complete(one)).map((one) => one.name);
  return release.attributes.map((one) => one.name).filter((name) => names.includes(name));
};
const knows = (release, names) => release.known.some((table) => names.every((name) => table.includes(name)));

/** The axes of a view, those shown first, then those only filtered by. */
function axes(release, view) {
  const named = new Map(release.attributes.map((one) => [one.name, one]));
  const shown = [...view.rows, ...view.columns];
  if (new Set(shown).size < shown.length) refuse("An attribute can be down or across, and only once.");
  const find = (name) => named.get(name) ?? refuse("The release has no attribute %(name)s.", { name });
  const hidden = Object.keys(view.keep).filter((name) => !shown.includes(name)).sort();
  const found = [
    ...shown.map((name) => axis(find(name), view.keep[name], view.join[name])),
    ...hidden.map((name) => together(axis(find(name), view.keep[name]))),
  ];
  const names = marginOf(release, found);
  if (!knows(release, names)) {
    refuse("The release says nothing about %(names)s together: leave one of them out.", { names: names.map((name) => named.get(name).title).join(", ") });
  }
  return found;
}

/** For each cell of a table, the number of a grid that it belongs to; −1 for none. */
function places({ attributes, cells }, grid) {
  const found = new Int32Array(cells);
  let step = cells, stride = grid.reduce((all, one) => all * one.groups.length, 1);
  const steps = attributes.map((one) => (step /= one.values.length));
  for (const one of grid) {
    stride /= one.groups.length;
    const at = attributes.findIndex((other) => other.name === one.name);
    if (at < 0) continue;
    const moved = new Int32Array(one.size).fill(-1);
    one.groups.forEach((group, number) => group.forEach((value) => { moved[value] = number * stride; }));
    for (let cell = 0; cell < cells; cell++) {
      const here = moved[Math.floor(cell / steps[at]) % one.size];
      found[cell] = here < 0 || found[cell] < 0 ? -1 : found[cell] + here;
    }
  }
  return found;
}

/** Sums over the groups of a grid, of each of many tables. */
function sums(table, grid, numbers) {
  const length = grid.reduce((all, one) => all * one.groups.length, 1), place = places(table, grid), found = [];
  for (let from = 0; from < numbers.length; from += table.cells) {
    const one = new Float64Array(length);
    for (let cell = 0; cell < table.cells; cell++) if (place[cell] >= 0) one[place[cell]] += numbers[from + cell];
    found.push(one);
  }
  return found;
}

/** For each number, the place of the total over some axes that it belongs to. */
function owners(grid, over) {
  let found = [0];
  for (const [at, one] of grid.entries()) {
    const size = one.groups.length;
    found = found.flatMap((before) => Array.from({ length: size }, (_, number) =>
      over.includes(at) ? before : before * size + number));
  }
  return found;
}

/** What each number of a table is a share of. */
function wholes(table, owner) {
  const found = new Float64Array(table.length);
  table.forEach((value, at) => { found[owner[at]] += value; });
  return table.map((_, at) => found[owner[at]]);
}

/** For each number, the place of the one that is taken away from it. */
function bases(grid, base) {
  const sizes = grid.map((one) => one.groups.length), all = (some) => some.reduce((one, other) => one * other, 1);
  const along = base.map(([at, group]) => [all(sizes.slice(at + 1)), sizes[at], group]);
  return Array.from({ length: all(sizes) }, (_, at) =>
    along.reduce((to, [step, size, group]) => to + (group - (Math.floor(at / step) % size)) * step, at));
}

const rounded = (value) => Math.round(value * 1e6) / 1e6 + 0;
const NONE = { value: null, error: null, low: null, high: null };
const interval = (value, width, error, least = -Infinity, most = Infinity) => ({
  value: rounded(value), error: rounded(error),
  low: rounded(Math.max(value - width, least)), high: rounded(Math.min(value + width, most)),
});

/** The table that has the attributes of a grid which matter. */
const tableOf = (release, grid) => {
  const names = marginOf(release, grid);
  return sized(release.attributes.filter((one) => names.includes(one.name)));
};

/** Which sums have a cell that is neither exact nor empty. */
function open(release, grid) {
  const table = tableOf(release, grid), names = table.attributes.map((one) => one.name).join("\n");
  const sure = release.published.sure.find(([margin]) => margin.join("\n") === names)?.[1];
  return sums(table, grid, Float64Array.from({ length: table.cells }, (_, at) => (sure?.[at] === "1" ? 0 : 1)))[0];
}

/** Cells as they are: their bars are shipped. */
function plain(release, grid) {
  const { published } = release, table = tableOf(release, grid);
  const every = grid.map((one) => complete(one) ? one : axis(release.attributes.find((other) => other.name === one.name)));
  const [counts] = sums(published, every, published.tables.subarray(0, published.cells));
  const bars = published.bars.get(table.attributes.map((one) => one.name).join("\n"));
  const [errors, widths] = sums(table, every, bars);
  let found = [0];
  grid.forEach((one, at) => {
    const size = every[at].groups.length;
    const codes = complete(one) ? [0] : one.groups.map((group) => group[0]);
    found = found.flatMap((before) => codes.map((number) => before * size + number));
  });
  return found.map((at) => interval(counts[at], widths[at], errors[at], 0));
}

/** Published sums, shares and differences: each is judged by its own simulations. */
function derived(release, grid, along, base) {
  const { factor, student, whole } = release.published;
  const tables = sums(release.published, grid, release.published.tables), owner = along && owners(grid, along);
  const below = tables.map((table) => (along ? wholes(table, owner) : null));
  let numbers = tables.map((table, number) =>
    along ? table.map((value, at) => (below[number][at] > 0 ? value / below[number][at] : NaN)) : table);
  const from = base && bases(grid, base), unsure = open(release, grid), any = along ? wholes(unsure, owner) : unsure;
  if (base) numbers = numbers.map((table) => table.map((value, at) => value - table[from[at]]));
  const ends = along ? [base ? -1 : 0, 1] : [base ? -Infinity : 0, Infinity];
  return Array.from(numbers[0], (value, at) => {
    if (Number.isNaN(value)) return NONE;
    const least = along ? 1 / Math.max(below[0][at], 1) : 1;
    const errors = numbers.slice(1).map((table) => (factor * (table[at] - value)) ** 2);
    const mean = errors.reduce((one, other) => one + other, 0) / errors.length;
    const size = Math.max(Math.sqrt(mean), LEAST * least);
    const width = whole && tables[0][at] === 0 ? Math.max(size * student, least) : size * student;
    const touched = any[at] || (base && any[from[at]]);
    if (Number.isNaN(mean)) return interval(value, Infinity, size, ...ends);
    return touched && !(base && from[at] === at) ? interval(value, width, size, ...ends) : interval(value, 0, 0);
  });
}

/** Unbiased numbers: by variance and fourth cumulant of their noise. */
function unbiased(release, grid, along, base) {
  const names = marginOf(release, grid), z = release.normal;
  const table = release.unbiased.find(({ margin }) => names.every((name) => margin.includes(name)));
  const values = sums(table, grid, table.counts)[0], outputs = sums(table, grid, table.weights);
  const owner = along && owners(grid, along), below = along && wholes(values, owner), from = base && bases(grid, base);
  const ratio = (one) => (along ? one.map((value, at) => (below[at] > 0 ? value / below[at] : NaN)) : one);
  const less = (one) => (base ? one.map((value, at) => value - one[from[at]]) : one);
  const shares = ratio(values), numbers = less(shares);
  const variance = new Float64Array(values.length), fourth = new Float64Array(values.length);
  outputs.forEach((output, number) => {
    const all = along && wholes(output, owner);
    const slope = less(ratio(along ? output.map((value, at) => value - shares[at] * all[at]) : output));
    slope.forEach((value, at) => {
      variance[at] += value ** 2 * table.variances[number];
      fourth[at] += value ** 4 * table.fourths[number];
    });
  });
  return Array.from(numbers, (value, at) => {
    if (Number.isNaN(value)) return NONE;
    // Weights are shipped in single precision: what is left of a sum of them may be no noise at all.
    const error = variance[at] > 1e-9 * (along ? 1 / Math.max(below[at], 1) ** 2 : 1) ? Math.sqrt(variance[at]) : 0;
    const tails = error ? Math.min(fourth[at] / variance[at] ** 2, HEAVIEST) : 0;
    return interval(value, error * (z + (tails * (z ** 3 - 3 * z)) / 24), error);
  });
}

/** The numbers of a grid with their intervals. */
function numbersOf(release, kind, grid, along, base) {
  if (kind === "unbiased") return unbiased(release, grid, along, base);
  const single = grid.every((one) => complete(one) || one.groups.every((group) => group.length === 1));
  return single && !along && !base ? plain(release, grid) : derived(release, grid, along, base);
}

/** The numbers of a view, and its totals; see figures.py. */
function figures(release, view) {
  if (!release[view.numbers]) refuse("Numbers of this kind cannot be computed here: choose others.");
  const grid = axes(release, view);
  const down = view.rows.map((_, at) => at), across = view.columns.map((_, at) => at + down.length);
  const along = { none: null, rows: across, columns: down, all: [...down, ...across] }[view.share];
  const taken = Object.entries(view.minus).map(([name, text]) => {
    const at = [...down, ...across].find((one) => grid[one].name === name);
    if (at === undefined) refuse("Differences are along an attribute that is down or across.");
    const value = code(release.attributes.find((one) => one.name === name), text);
    const group = grid[at].groups.findIndex((one) => one.includes(value));
    return group < 0 ? refuse("What differences are taken from is filtered out.") : [at, group];
  }), base = taken.length ? taken : null;
  const of = (axes_, ...more) => numbersOf(release, view.numbers, axes_, ...more);
  const found = { grid, cells: of(grid, along, base), rows: null, columns: null, total: null,
    base: taken.map(([at, group]) => `${grid[at].title}: ${grid[at].labels[group]}`).join(" · ") };
  if (along || base) return found;
  if (across.length) found.rows = of(totalled(grid, across));
  if (down.length) found.columns = of(totalled(grid, down));
  if (across.length && down.length) found.total = of(totalled(grid, [...down, ...across]));
  return found;
}

return { say, read, written, unpacked, figures, marginOf, knows, rounded };
})();
