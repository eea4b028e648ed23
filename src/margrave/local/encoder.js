"use strict";
// Makes a report in the browser, in exactly the way of the Python encoder: the same random bytes give the same report.
const margraveEncoder = (() => {
  // take(count) gives that many random bytes. A number below `bound`, each as likely as the others: as many bits as
  // the bound needs, drawn again if too large. Bounds are at most 2^48, so that every number is exact.
  function below(take, bound) {
    let bits = 0;
    while (2 ** bits < bound) bits += 1;
    const count = Math.ceil(bits / 8);
    for (;;) {
      let value = 0;
      for (const byte of count ? take(count) : []) value = value * 256 + byte;
      value %= 2 ** bits;
      if (value < bound) return value;
    }
  }

  // A set of `count` among `size` things, as a list of 0 and 1, each such set being as likely as any other.
  function chosen(take, size, count) {
    const bits = [];
    let needed = count;
    for (let place = 0; place < size; place += 1) {
      const heads = below(take, size - place) < needed;
      bits.push(heads ? 1 : 0);
      if (heads) needed -= 1;
    }
    return bits;
  }

  function cellOf(codes, shape) {
    return codes.reduce((cell, code, axis) => cell * shape[axis] + code, 0);
  }

  function parity(number) {
    let odd = 0;
    for (let rest = number; rest; rest >>= 1) odd ^= rest & 1;
    return odd;
  }

  const product = (numbers) => numbers.reduce((one, other) => one * other, 1);

  function hexNumber(value, size) {
    let digits = 1;
    while (16 ** digits < size) digits += 1;
    return value.toString(16).padStart(digits, "0");
  }

  function hexMask(bits) {
    let text = "";
    for (let place = 0; place < bits.length; place += 4) {
      const nibble = bits.slice(place, place + 4).reduce((sum, bit, index) => sum + bit * 2 ** index, 0);
      text = nibble.toString(16) + text;
    }
    return text;
  }

  // With a chance of (odds - 1)/(odds - 1 + cells) the answer itself, otherwise any of them.
  function respond(take, cell, cells, odds) {
    const truth = odds.numerator - odds.denominator;
    const drawn = below(take, truth + cells * odds.denominator);
    return drawn < truth ? cell : Math.floor((drawn - truth) / odds.denominator);
  }

  function subset(take, cell, cells, w, odds) {
    const inside = w * odds.numerator;
    const held = below(take, inside + (cells - w) * odds.denominator) < inside ? 1 : 0;
    const bits = chosen(take, cells - 1, w - held);
    bits.splice(cell, 0, held);
    return bits;
  }

  const mechanisms = {
    response(take, codes, question, odds) {
      const cells = product(question.shape);
      return hexNumber(respond(take, cellOf(codes, question.shape), cells, odds), cells);
    },
    subset(take, codes, question, odds) {
      const cells = product(question.shape);
      return hexMask(subset(take, cellOf(codes, question.shape), cells, question.w, odds));
    },
    unary(take, codes, question, odds) {
      const cells = product(question.shape);
      const own = cellOf(codes, question.shape);
      const bits = [];
      for (let place = 0; place < cells; place += 1) {
        const other = () => (below(take, odds.numerator + odds.denominator) < odds.denominator ? 1 : 0);
        bits.push(place === own ? below(take, 2) : other());
      }
      return hexMask(bits);
    },
    hadamard(take, codes, question, odds) {
      const cells = product(question.shape);
      let order = 1;
      while (order <= cells) order *= 2;
      const row = cellOf(codes, question.shape) + 1;
      const minus = below(take, odds.numerator + odds.denominator) >= odds.numerator ? 1 : 0;
      const column = below(take, order);
      return hexNumber(parity(row & column) === minus ? column : column ^ (row & -row), order);
    },
    signs(take, codes, question, odds) {
      const plus = question.shape.map((size) => (size > 2 ? chosen(take, size, Math.floor(size / 2)) : [1, 0]));
      const minus = codes.reduce((sum, code, axis) => sum + 1 - plus[axis][code], 0) % 2;
      const drawn = plus.filter((_, axis) => question.shape[axis] > 2);
      return drawn.map(hexMask).join("") + hexNumber(respond(take, minus, 2, odds), 2);
    },
    modular(take, codes, question, odds) {
      const size = question.shape[0];
      const factors = question.shape.slice(1).map(() => 1 + below(take, size - 1));
      const sum = codes.reduce((found, code, axis) => found + code * (axis ? factors[axis - 1] : 1), 0) % size;
      return factors.map((one) => hexNumber(one, size)).join("") + hexMask(subset(take, sum, size, question.w, odds));
    },
  };

  // Which question is reported on: drawn by the weights, whatever the answers are.
  function drawQuestion(take, plan) {
    let drawn = below(take, plan.weights);
    for (let index = 0; ; index += 1) {
      if (drawn < plan.questions[index].weight) return index;
      drawn -= plan.questions[index].weight;
    }
  }

  // The report of somebody whose answers, as positions among the values, are given by attribute.
  function encode(take, plan, answers, token) {
    const index = drawQuestion(take, plan);
    const question = plan.questions[index];
    const codes = question.margin.map((name) => answers[name]);
    const symbol = mechanisms[question.mechanism](take, codes, question, plan.odds);
    const number = index.toString(16).padStart(plan.digits, "0");
    return { question: index, line: [plan.plan, number, symbol, token].join(",") };
  }

  return { below, chosen, encode };
})();
if (typeof module !== "undefined") module.exports = margraveEncoder;
