// Latency over time, and beneath it a lane per drive with its busy windows and collections.

/** Both plots of one panel; `limits` are the latencies that all panels share. */
function drawTimeline(id, run, causes, limits) {
  const line = run.timeline;
  const sync = "sync-" + id;
  const [low, high] = limits.map(Math.log10);
  const names = { label: run.name, left: 84 };
  plot(id + "-reads", {
    label: `Latency of reads over time under ${run.name}.`,
    height: 250, zoom: true, sync, crosshair: "x", padding: [12, 14, 4, 0],
    data: [[line.start, line.end], [low, high]],
    series: [{}, { paths: () => null, points: { show: false } }],
    scales: { x: { time: false }, y: { range: [low, high] } },
    axes: [
      axis({ size: 8, values: (u, splits) => splits.map(() => ""), space: 90 }),
      logAxis(latencyMark, { label: "read latency", size: names.left - 20 }),
    ],
    paint: (u, mark) => paintReads(u, line, causes, mark),
    tip: (u, x, y) => nearestRead(u, line, causes, x, y),
  });
  const drives = 1 + Math.max(0, ...[...line.windows, ...line.collections].map((band) => band[0]));
  const every = Math.ceil(drives / 12);
  const lane = Math.max(6, Math.min(20, Math.floor(240 / drives)));
  plot(id + "-lanes", {
    label: `Busy windows and collections of each drive under ${run.name}.`,
    height: 62 + lane * drives, zoom: true, sync, crosshair: "x", padding: [2, 14, 0, 0],
    data: [[line.start, line.end], [0, drives - 1]],
    series: [{}, { paths: () => null, points: { show: false } }],
    scales: { x: { time: false }, y: { range: [-0.5, drives - 0.5] } },
    axes: [
      axis({ label: "simulated time", size: 32, space: 90, values: (u, splits) => splits.map((t) => plainTime(t)) }),
      axis({
        size: names.left, ticks: { show: false },
        splits: () => Array.from({ length: drives }, (_, i) => i),
        values: (u, splits) => splits.map((i) => ((drives - 1 - i) % every ? null : "drive " + (drives - 1 - i))),
        grid: { show: false },
      }),
    ],
    paint: (u, mark) => paintLanes(u, line, drives, mark),
    tip: (u, x, y) => bandAt(u, line, drives, x, y),
  });
}

function plainTime(ms) {
  return Number((ms / 1e3).toFixed(4)) + " s";
}

function paintReads(u, line, causes, mark) {
  const { ctx } = u;
  const px = devicePixelRatio;
  clip(u);
  const radius = (line.t.length > 1500 ? 1.6 : 2.1) * px;
  const colors = causes.map(causeColor);
  ctx.globalAlpha = 0.85;
  line.t.forEach((t, i) => {
    if (line.us[i] <= 0) return;
    ctx.fillStyle = colors[line.cause[i]];
    ctx.beginPath();
    ctx.arc(u.valToPos(t, "x", true), u.valToPos(Math.log10(line.us[i]), "y", true), radius, 0, 2 * Math.PI);
    ctx.fill();
    mark();
  });
  ctx.globalAlpha = 1;
  // A pale line beneath keeps the dark one apart from the dots.
  for (const [stroke, width] of [[color("paper"), 3.5], [color("ink"), 1.5]]) {
    ctx.strokeStyle = stroke;
    ctx.lineWidth = width * px;
    ctx.beginPath();
    traceSteps(u, line.p99, line.end);
    ctx.stroke();
  }
  if (line.p99.x.length) mark();
}

function paintLanes(u, line, drives, mark) {
  const { ctx } = u;
  const px = devicePixelRatio;
  clip(u);
  const lane = u.valToPos(0, "y", true) - u.valToPos(1, "y", true) || u.bbox.height;
  for (let drive = 0; drive < drives; drive++) {
    const middle = u.valToPos(drives - 1 - drive, "y", true);
    ctx.fillStyle = color("panel");
    ctx.fillRect(u.bbox.left, middle - lane * 0.42, u.bbox.width, lane * 0.84);
    mark();
  }
  const fill = (bands, name, share) => {
    ctx.fillStyle = color(name);
    for (const [drive, start, end] of bands) {
      const middle = u.valToPos(drives - 1 - drive, "y", true);
      const left = u.valToPos(start, "x", true);
      const width = Math.max(u.valToPos(end, "x", true) - left, px);
      ctx.fillRect(left, middle - lane * share / 2, width, lane * share);
      mark();
    }
  };
  fill(line.windows, "band", 0.84);
  fill(line.collections, "vermillion", 0.5);
}

/** The read closest to the pointer, if it is close. */
function nearestRead(u, line, causes, x, y) {
  let best = null;
  let distance = 14 ** 2;
  line.t.forEach((t, i) => {
    const dx = u.valToPos(t, "x") - x;
    if (Math.abs(dx) > 14 || line.us[i] <= 0) return;
    const squared = dx ** 2 + (u.valToPos(Math.log10(line.us[i]), "y") - y) ** 2;
    if (squared < distance) [best, distance] = [i, squared];
  });
  if (best === null) return null;
  const cause = causes[line.cause[best]];
  return [
    { strong: true, text: `${latencyText(line.us[best])} at ${plainTime(line.t[best])}` },
    { color: causeColor(cause), text: "mostly " + cause },
  ];
}

/** What the drive under the pointer is doing. */
function bandAt(u, line, drives, x, y) {
  const time = u.posToVal(x, "x");
  const drive = drives - 1 - Math.round(u.posToVal(y, "y"));
  const at = (bands) => bands.find((band) => band[0] === drive && band[1] <= time && time < band[2]);
  const text = (name, [, start, end]) => `${name}: ${plainTime(start)} to ${plainTime(end)} (${latencyText((end - start) * 1e3)})`;
  const [window, collection] = [at(line.windows), at(line.collections)];
  const lines = [];
  if (window) lines.push({ color: color("band"), text: text("busy window", window) });
  if (collection) lines.push({ color: color("vermillion"), text: text("collecting", collection) });
  return lines.length ? [{ strong: true, text: "drive " + drive }, ...lines] : null;
}
