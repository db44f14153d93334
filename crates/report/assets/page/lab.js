// An experiment of the laboratory: bars against a yardstick, and percentiles of each application.

const data = JSON.parse(document.getElementById("data").textContent);
assignStyles(data.systems);

/** The percentiles in the order of the plots. */
const LAB_PERCENTILES = ["p50", "p95", "p99", "p99.9", "p99.99"];

function secondsText(seconds) {
  return latencyText(seconds * 1e6);
}

function drawBars(one) {
  const write = one.latency ? latencyText : secondsText;
  const groups = one.groups.map(({ name, bars }) => ({
    name,
    bars: bars.map((bar, i) => [data.systems[i], bar]).filter(([, bar]) => bar).map(([run, bar]) => ({
      run, value: bar.ratio, text: threeDigits(bar.ratio),
      tip: `${name} under ${run.name}: ${write(bar.value)}, ${threeDigits(bar.ratio)} × ${one.yardstick}`,
    })),
  }));
  const ratios = groups.flatMap((group) => group.bars.map((bar) => bar.value));
  groupedBars(one.id, {
    label: `The ${one.what} of each application as a multiple of that under ${one.yardstick}, per system.`,
    groups, log: true, from: 1, line: 1, height: 300, write: (x) => plainMark(x) + "×",
    yLabel: `÷ ${one.yardstick}`,
    limits: [Math.min(0.8, ...ratios.map((ratio) => ratio * 0.8)), Math.max(2, ...ratios.map((ratio) => ratio * 1.6))],
  });
}

/** Zero has no logarithm; it is drawn at a nanosecond. */
const latencyHeight = (us) => (us === null ? null : Math.log10(Math.max(us, 1e-3)));

/** The range of an axis of logarithms with a little room at both ends. */
function latencyRange(heights) {
  const [low, high] = [Math.min(...heights), Math.max(...heights)];
  const room = Math.max((high - low) * 0.06, 0.1);
  return [low - room, high + room];
}

function lineOf(system) {
  const { dash, width } = system.style;
  return { stroke: color(system.style.color), width, dash };
}

function drawPercentiles(one) {
  const shown = data.systems.map((system, i) => ({ system, curve: one.curves[i] })).filter(({ curve }) => curve);
  const places = LAB_PERCENTILES.map((_, i) => i);
  const heights = shown.map(({ curve }) => curve.map(latencyHeight));
  const all = heights.flat().filter((height) => height !== null);
  if (!all.length) return missing(one.id, "No percentiles were recorded.");
  plot(one.id, {
    label: `Latency at five percentiles, a line for each system: ${one.what}.`,
    height: 260, crosshair: "x",
    data: [places, ...heights],
    series: [{}, ...shown.map(({ system }) => ({
      ...lineOf(system), points: { show: true, size: 6, fill: color("paper"), stroke: color(system.style.color), width: 1.5 },
    }))],
    scales: { x: { time: false, range: [-0.3, places.length - 0.7] }, y: { range: latencyRange(all) } },
    axes: [nameAxis(LAB_PERCENTILES, { size: 28 }), logAxis(latencyMark, { size: 64 })],
    tip: (u, x) => {
      const nearest = places.reduce((best, place) =>
        Math.abs(u.valToPos(place, "x") - x) < Math.abs(u.valToPos(best, "x") - x) ? place : best, 0);
      const lines = shown
        .filter(({ curve }) => curve[nearest] !== null)
        .sort((a, b) => b.curve[nearest] - a.curve[nearest])
        .map(({ system, curve }) => ({ color: color(system.style.color), text: `${system.name}: ${latencyText(curve[nearest])}` }));
      return lines.length ? [{ strong: true, text: LAB_PERCENTILES[nearest] }, ...lines] : null;
    },
  });
}

/** The legends of a page, all of which are the same. */
function drawLegends() {
  document.querySelectorAll(".legend").forEach((legend, i) => {
    legend.id = "legend-" + i;
    drawLineLegend(legend.id, data.systems);
  });
}
