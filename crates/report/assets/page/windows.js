// Curves of the longest window, each with the shortest window below which nothing can be promised.

const data = JSON.parse(document.getElementById("data").textContent);
const COLORS = ["blue", "vermillion", "green", "purple", "orange", "sky", "brown", "grey", "ink"];
const names = data.by_width.map((curve) => curve.name);
const hidden = new Set();
const colorOf = (i) => color(COLORS[i % COLORS.length]);

function drawLegends() {
  for (const legend of document.querySelectorAll("[data-legend=drives]")) {
    legend.replaceChildren(...names.map((name, i) => {
      const line = ["line", { x1: 0, x2: 24, y1: 6, y2: 6, stroke: colorOf(i), "stroke-width": 3 }];
      const button = element("button", { type: "button", "aria-pressed": String(!hidden.has(i)) }, swatch(line), name);
      button.addEventListener("click", () => {
        hidden.has(i) ? hidden.delete(i) : hidden.add(i);
        if (hidden.size === names.length) hidden.clear();
        drawAll();
      });
      return button;
    }));
  }
}

/** The window at `x` on the line between the points, in logarithms; null outside. */
function windowAt(curve, x, toX) {
  const next = curve.points.findIndex((point) => toX(point[0]) >= x - 1e-9);
  if (next < 0 || (next === 0 && toX(curve.points[0][0]) > x + 1e-9)) return null;
  if (next === 0) return curve.points[0][1];
  const [[x0, y0], [x1, y1]] = [curve.points[next - 1], curve.points[next]];
  return y0 * (y1 / y0) ** ((x - toX(x0)) / (toX(x1) - toX(x0)));
}

/** Where the curve crosses its shortest window, as an x on the axis; null if it does not. */
function crossing(curve, toX) {
  for (let i = 1; i < curve.points.length; i++) {
    const [[x0, y0], [x1, y1]] = [curve.points[i - 1], curve.points[i]];
    if (y0 >= curve.shortest_ms && y1 < curve.shortest_ms) {
      return toX(x0) + (toX(x1) - toX(x0)) * Math.log(curve.shortest_ms / y0) / Math.log(y1 / y0);
    }
  }
  return null;
}

/** Draws curves with their shortest windows; `options.toX` turns an x into a place on the axis. */
function drawWindows(id, curves, options) {
  const shown = curves.map((curve, i) => ({ curve, i })).filter(({ curve, i }) => !hidden.has(i) && curve.points.length > 1);
  if (!shown.length) {
    missing(id, "No load or width sets a bound here.");
    return;
  }
  const { toX } = options;
  const xs = shown.flatMap(({ curve }) => [...curve.points.map((point) => point[0]), ...curve.asked.map((load) => load.at)]).map(toX);
  const ys = shown.flatMap(({ curve }) => [curve.shortest_ms, ...curve.points.map((point) => point[1])]).map(Math.log10);
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  // Half a diamond has room at either end on a telephone.
  const margin = (last - first) * (options.asked ? 0.035 : 0.012);
  const [left, right] = [first - margin, last + margin];
  const [low, high] = [Math.min(...ys) - 0.08, Math.max(...ys) + 0.08];
  plot(id, {
    label: options.label + " Curves of " + shown.map(({ curve }) => curve.name).join(", ") + ".",
    height: 380, crosshair: "both",
    data: [[left, right], [low, high]],
    series: [{}, { paths: () => null, points: { show: false } }],
    scales: { x: { time: false, range: [left, right] }, y: { range: [low, high] } },
    axes: [
      options.axis({ label: options.xLabel, size: 34, space: 40 }),
      logAxis((ms) => latencyMark(ms * 1e3), { label: "busy window", size: 72 }),
    ],
    paint: (u, mark) => {
      clip(u);
      for (const { curve, i } of shown) paintCurve(u, curve, colorOf(i), toX, mark);
      if (options.asked) paintAsked(u, shown, toX);
    },
    tip: (u, x) => {
      const at = options.snap(u.posToVal(x, "x"));
      const lines = shown
        .map(({ curve, i }) => ({ curve, i, ms: windowAt(curve, at, toX) }))
        .filter((entry) => entry.ms !== null)
        .sort((a, b) => b.ms - a.ms)
        .map(({ curve, i, ms }) => ({
          color: colorOf(i),
          text: `${curve.name}: ${latencyText(ms * 1e3)}, ` + (ms < curve.shortest_ms
            ? `too short for a collection of ${latencyText(curve.shortest_ms * 1e3)}`
            : `at least ${latencyText(curve.shortest_ms * 1e3)}`),
        }));
      for (const { curve, i } of shown) {
        const asked = curve.asked.filter((load) => Math.abs(u.valToPos(toX(load.at), "x") - x) < 6);
        lines.push(...asked.map((load) => ({ color: colorOf(i), text: `${curve.name}: the load asked for, ${load.name}` })));
      }
      return lines.length ? [{ strong: true, text: options.xText(at) }, ...lines] : null;
    },
  });
}

function paintCurve(u, curve, stroke, toX, mark) {
  const { ctx } = u;
  const px = devicePixelRatio;
  const place = (x, ms) => [u.valToPos(x, "x", true), u.valToPos(Math.log10(ms), "y", true)];
  const line = (points, width, dash) => {
    ctx.beginPath();
    ctx.setLineDash(dash.map((length) => length * px));
    ctx.lineWidth = width * px;
    points.forEach(([x, ms], i) => ctx[i ? "lineTo" : "moveTo"](...place(x, ms)));
    ctx.stroke();
    ctx.setLineDash([]);
  };
  ctx.strokeStyle = stroke;
  const end = crossing(curve, toX);
  const points = curve.points.map(([x, ms]) => [toX(x), ms]);
  const feasible = points.filter(([, ms]) => ms >= curve.shortest_ms);
  const below = points.filter(([, ms]) => ms < curve.shortest_ms);
  if (end !== null) {
    feasible.push([end, curve.shortest_ms]);
    below.unshift([end, curve.shortest_ms]);
  }
  if (feasible.length > 1) line(feasible, 2.5, []);
  if (below.length > 1) line(below, 2, [2, 4]);
  ctx.globalAlpha = 0.6;
  line([[u.scales.x.min, curve.shortest_ms], [u.scales.x.max, curve.shortest_ms]], 1, [7, 5]);
  ctx.globalAlpha = 1;
  mark();
  if (end !== null) {
    const [x, y] = place(end, curve.shortest_ms);
    const arm = 5 * px;
    ctx.lineWidth = 2.5 * px;
    ctx.beginPath();
    for (const side of [1, -1]) {
      ctx.moveTo(x - arm, y - side * arm);
      ctx.lineTo(x + arm, y + side * arm);
    }
    ctx.stroke();
  }
  const own = windowAt(curve, toX(curve.own), toX);
  if (own !== null) {
    ctx.beginPath();
    ctx.arc(...place(toX(curve.own), own), 4.5 * px, 0, 2 * Math.PI);
    ctx.fillStyle = color("paper");
    ctx.lineWidth = 2 * px;
    ctx.fill();
    ctx.stroke();
  }
}

/** More loads than this are marked on their curves only. */
const MOST_ASKED_LINES = 4;

/** The loads that were asked for, those at one place together: [{ at, words }]. */
function askedPlaces(shown) {
  const places = new Map();
  for (const { curve } of shown) {
    for (const load of curve.asked) places.set(load.at, [...(places.get(load.at) || []), { curve, load }]);
  }
  return [...places].map(([at, loads]) => {
    const names = new Set(loads.map(({ load }) => load.name));
    const isOfAll = loads.length === shown.length && names.size === 1;
    return { at, words: isOfAll ? [...names][0] : loads.map(({ curve, load }) => `${curve.name}: ${load.name}`).join(", ") };
  });
}

/** A diamond where a load that was asked for meets its curve, and an upright line with its name if there are few. */
function paintAsked(u, shown, toX) {
  const { ctx } = u;
  const px = devicePixelRatio;
  const { top, height, left, width } = u.bbox;
  const places = askedPlaces(shown);
  const rows = [];
  ctx.font = canvasFont(12, 600);
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  for (const { at, words } of places.length > MOST_ASKED_LINES ? [] : places) {
    const x = u.valToPos(toX(at), "x", true);
    ctx.strokeStyle = color("muted");
    ctx.lineWidth = px;
    ctx.setLineDash([2 * px, 3 * px]);
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    ctx.setLineDash([]);
    const room = ctx.measureText(words).width;
    // Beside the line by more than half a diamond, which may lie at the same height.
    const from = Math.max(left, x + room + 10 * px > left + width ? x - room - 9 * px : x + 9 * px);
    let row = 0;
    while (rows.some((box) => box.row === row && box.to > from - 6 * px && box.from < from + room + 6 * px)) row++;
    rows.push({ row, from, to: from + room });
    // Curves may run behind it.
    ctx.strokeStyle = color("paper");
    ctx.lineWidth = 4 * px;
    ctx.strokeText(words, from, top + (3 + 15 * row) * px);
    ctx.fillStyle = color("ink");
    ctx.fillText(words, from, top + (3 + 15 * row) * px);
  }
  for (const { curve, i } of shown) {
    for (const load of curve.asked) {
      const ms = windowAt(curve, toX(load.at), toX);
      if (ms === null) continue;
      const [x, y] = [u.valToPos(toX(load.at), "x", true), u.valToPos(Math.log10(ms), "y", true)];
      ctx.fillStyle = colorOf(i);
      ctx.beginPath();
      [[0, -7], [7, 0], [0, 7], [-7, 0]].forEach(([dx, dy]) => ctx.lineTo(x + dx * px, y + dy * px));
      ctx.fill();
    }
  }
  tell("asked", places.length > 0);
  tell("asked-lines", places.length > 0 && places.length <= MOST_ASKED_LINES);
}

function drawAll() {
  drawLegends();
  drawWindows("plot-width", data.by_width, {
    label: "Busy window under a burst over the number of drives.",
    xLabel: "drives in the array", toX: (x) => x, snap: Math.round,
    xText: (x) => `${x} drives`,
    axis: (rest) => axis({ incrs: [1, 2, 4, 5, 10], ...rest }),
  });
  drawWindows("plot-load", data.by_load, {
    label: "Longest busy window over the load.",
    xLabel: "drive writes per day of eight hours", toX: Math.log10, snap: (x) => x,
    asked: true, xText: (x) => `${threeDigits(10 ** x)} drive writes per day`,
    axis: (rest) => logAxis(plainMark, rest),
  });
}

hintAtMore();
keepDrawn(drawAll);
