// Reports by the page's encoder: standard input has the encoder's path, a plan, and answers each with its tape.
const { plan, encoder, vectors } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { encode } = require(encoder);
const lines = vectors.map(({ answers, tape, token }) => {
  const bytes = Buffer.from(tape, "hex");
  let place = 0;
  const take = (count) => {
    if (place + count > bytes.length) throw new Error("the tape is at its end");
    place += count;
    return bytes.subarray(place - count, place);
  };
  return encode(take, plan, answers, token).line;
});
process.stdout.write(lines.join("\n"));
