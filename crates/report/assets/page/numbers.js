// How numbers are written and where the marks of an axis stand.

function threeDigits(x) {
  const size = Math.abs(x);
  return size >= 99.95 ? x.toFixed(0) : size >= 9.995 ? x.toFixed(1) : x.toFixed(2);
}

function latencyText(us) {
  if (us < 999.5) return threeDigits(us) + " µs";
  if (us < 999500) return threeDigits(us / 1e3) + " ms";
  return threeDigits(us / 1e6) + " s";
}

/** The same for axes, where round numbers need no decimals. */
function latencyMark(us) {
  const [value, unit] = us < 999.5 ? [us, "µs"] : us < 999500 ? [us / 1e3, "ms"] : [us / 1e6, "s"];
  return Number(value.toPrecision(3)) + " " + unit;
}

function percentText(x) {
  if (x === 0) return "0";
  if (x < 0.001) return x.toExponential(0) + " %";
  if (x < 0.1) return x.toFixed(3) + " %";
  return threeDigits(x) + " %";
}

/** 0.1, 1, 10 without needless decimals. */
function plainMark(x) {
  return String(Number(x.toPrecision(3)));
}

/** A percentile from its nines: 3 becomes p99.9. */
function percentileText(nines) {
  const decimals = Math.max(0, Math.ceil(nines) - 1);
  return "p" + Number((100 * (1 - 10 ** -nines)).toFixed(Math.min(decimals, 7)));
}

/** Marks of a logarithmic axis, as logarithms: decades, and 2 and 5 between if there are few. */
function logMarks(min, max) {
  const steps = max - min > 2.6 ? [1] : max - min > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const marks = [];
  for (let decade = Math.floor(min) - 1; decade <= max; decade++) {
    for (const step of steps) {
      const mark = decade + Math.log10(step);
      if (mark >= min - 1e-9 && mark <= max + 1e-9) marks.push(mark);
    }
  }
  return marks;
}

/** At most three decades, or the first and the last mark where there are no two of them. */
function decadeMarks(min, max) {
  const marks = logMarks(min, max);
  const decades = marks.filter((mark) => Math.abs(mark - Math.round(mark)) < 1e-9);
  const every = Math.ceil(decades.length / 3);
  return decades.length > 1 ? decades.filter((_, i) => i % every === 0) : [...new Set([marks[0], marks.at(-1)])];
}
