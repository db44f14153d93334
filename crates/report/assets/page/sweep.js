// Curves of metrics over a parameter: a line and a band per policy.

const data = JSON.parse(document.getElementById("data").textContent);
assignStyles(data.policies);

/** How the numbers of a metric are written and whether their axis is logarithmic. */
const SWEPT_UNITS = {
  microseconds: { text: latencyText, mark: latencyMark, log: true },
  percent: { text: percentText, mark: (x) => plainMark(x) + " %", log: false },
  number: { text: threeDigits, mark: plainMark, log: false },
};

const placeOf = (position) => (data.logarithmic ? Math.log10(position) : position);
const places = data.values.map(([, position]) => placeOf(position));

/** The range of an axis with a little room at both ends. */
function roomy(values, share) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = high > low ? (high - low) * share : 0.5;
  return [low - room, high + room];
}

/** The values whose texts have room on the axis, at about eight pixels a letter. */
function readable(u) {
  let last = -Infinity;
  return places.filter((place, i) => {
    const at = u.valToPos(place, "x");
    const half = 4 * data.values[i][0].length + 4;
    if (at - half < last) return false;
    last = at + half;
    return true;
  });
}

function drawFigure(figure, index) {
  const unit = SWEPT_UNITS[figure.unit];
  // Zero has no logarithm; it is drawn at a nanosecond.
  const height = (value) => (unit.log ? Math.log10(Math.max(value, 1e-3)) : value);
  const curves = data.policies.map((policy, i) => ({ ...policy, spreads: figure.curves[i] }));
  const shown = curves.filter((one) => one.spreads.some(Boolean));
  drawLineLegend(`legend-${index}`, shown);
  if (!shown.length) {
    missing(figure.id, "No run has this metric.");
    return;
  }
  const extremes = shown.flatMap((one) => one.spreads.filter(Boolean).flatMap((s) => [s.low, s.high]));
  const range = roomy(extremes.map(height), 0.06);
  if (!unit.log && range[0] < 0 && Math.min(...extremes) >= 0) range[0] = 0;
  plot(figure.id, {
    label: `${figure.metric} by ${data.parameter}, a line for each policy.`,
    height: 380, crosshair: "x",
    data: [places, ...shown.map((one) => one.spreads.map((s) => (s ? height(s.median) : null)))],
    series: [{}, ...shown.map((one) => ({
      stroke: color(one.style.color), width: one.style.width, dash: one.style.dash,
      points: { show: true, size: 7, fill: color("paper"), stroke: color(one.style.color), width: 1.5 },
    }))],
    scales: { x: { time: false, range: roomy(places, 0.04) }, y: { range } },
    axes: [
      axis({
        label: data.parameter, size: 34,
        splits: (u) => readable(u),
        values: (u, splits) => splits.map((place) => data.values[places.indexOf(place)][0]),
      }),
      unit.log
        ? logAxis(unit.mark, { label: figure.metric, size: 68 })
        : axis({ label: figure.metric, size: 68, values: (u, splits) => splits.map(unit.mark) }),
    ],
    paint: (u, mark) => shown.forEach((one) => {
      mark();
      if (one.spreads.some((s) => s && s.low < s.high)) paintBand(u, one, height);
    }),
    tip: (u, x) => {
      const nearest = places.reduce((best, place, i) =>
        Math.abs(u.valToPos(place, "x") - x) < Math.abs(u.valToPos(places[best], "x") - x) ? i : best, 0);
      const lines = shown
        .map((one) => ({ one, spread: one.spreads[nearest] }))
        .filter((entry) => entry.spread)
        .sort((a, b) => b.spread.median - a.spread.median)
        .map(({ one, spread }) => ({
          color: color(one.style.color),
          text: one.name + ": " + unit.text(spread.median) + (spread.few ? " ~" : "")
            + (spread.low < spread.high ? ` (${unit.text(spread.low)} to ${unit.text(spread.high)})` : ""),
        }));
      return lines.length ? [{ strong: true, text: data.parameter + " " + data.values[nearest][0] }, ...lines] : null;
    },
  });
}

/** From the lowest seed to the highest, or over the interval of one, for each stretch without a gap. */
function paintBand(u, one, height) {
  const { ctx } = u;
  clip(u);
  ctx.fillStyle = color(one.style.color);
  ctx.strokeStyle = ctx.fillStyle;
  ctx.globalAlpha = 0.16;
  const at = (i, value) => [u.valToPos(places[i], "x", true), u.valToPos(height(value), "y", true)];
  let stretch = [];
  const close = () => {
    if (stretch.length) {
      ctx.beginPath();
      stretch.forEach((i) => ctx.lineTo(...at(i, one.spreads[i].high)));
      stretch.reverse().forEach((i) => ctx.lineTo(...at(i, one.spreads[i].low)));
      ctx.closePath();
      // A single value has no area.
      stretch.length > 1 ? ctx.fill() : ctx.stroke();
    }
    stretch = [];
  };
  one.spreads.forEach((spread, i) => (spread ? stretch.push(i) : close()));
  close();
  ctx.globalAlpha = 1;
}

hintAtMore();
keepDrawn(() => data.figures.forEach(drawFigure));
