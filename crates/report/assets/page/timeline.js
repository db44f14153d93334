// Latency over time, and beneath it a lane per drive with its busy windows and collections.

/** Both plots of one panel; `limits` are the latencies that all panels share. */
function drawTimeline(id, run, { causes, phrases }, limits) {
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
    tip: (u, x, y) => nearestRead(u, line, { causes, phrases }, x, y),
  });
  const drives = 1 + Math.max(0, ...[...line.windows, ...line.collections].map((band) => band[0]));
  const every = Math.ceil(drives / 12);
  const lane = Math.max(6, Math.min(20, Math.floor(240 / drives)));
  plot(id + "-lanes", {
    label: `Busy windows and collections of each drive under ${run.name}.`,
    height: 62 + lane * drives, rows: drives, zoom: true, sync, crosshair: "x", padding: [2, 14, 0, 0],
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
  // Beneath the dots, of which it would hide those that lie on it.
  ctx.strokeStyle = color("ink");
  ctx.lineWidth = 1.5 * px;
  ctx.beginPath();
  traceSteps(u, line.p99, line.end);
  ctx.stroke();
  if (line.p99.x.length) mark();
  const radius = (line.t.length > 1500 ? 1.6 : 2.1) * px;
  const looks = causes.map(causeLook);
  ctx.globalAlpha = 0.85;
  line.t.forEach((t, i) => {
    if (line.us[i] <= 0) return;
    const { fill, isHatched } = looks[line.cause[i]];
    const [x, y] = [u.valToPos(t, "x", true), u.valToPos(Math.log10(line.us[i]), "y", true)];
    ctx.fillStyle = fill;
    ctx.beginPath();
    if (isHatched) [[0, -1], [1, 0], [0, 1], [-1, 0]].forEach(([dx, dy]) => ctx.lineTo(x + 1.7 * radius * dx, y + 1.7 * radius * dy));
    else ctx.arc(x, y, radius, 0, 2 * Math.PI);
    ctx.fill();
    mark();
  });
  ctx.globalAlpha = 1;
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
  const fill = (bands, name, share, edge) => {
    ctx.fillStyle = color(name);
    for (const [drive, start, end] of bands) {
      const middle = u.valToPos(drives - 1 - drive, "y", true);
      const left = u.valToPos(start, "x", true);
      const width = Math.max(u.valToPos(end, "x", true) - left, px);
      ctx.fillRect(left, middle - lane * share / 2, width, lane * share);
      // The outline tells a band from its lane whatever the colours of the screen.
      if (edge && width > 3 * px) {
        ctx.strokeStyle = color(edge);
        ctx.lineWidth = px;
        ctx.strokeRect(left + px / 2, middle - lane * share / 2 + px / 2, width - px, lane * share - px);
      }
      mark();
    }
  };
  fill(line.windows, "band", 0.84, "blue");
  fill(line.collections, "vermillion", 0.5);
}

/** The read closest to the pointer, if it is close. */
function nearestRead(u, line, { causes, phrases }, x, y) {
  let best = null;
  let distance = 14 ** 2;
  line.t.forEach((t, i) => {
    const dx = u.valToPos(t, "x") - x;
    if (Math.abs(dx) > 14 || line.us[i] <= 0) return;
    const squared = dx ** 2 + (u.valToPos(Math.log10(line.us[i]), "y") - y) ** 2;
    if (squared < distance) [best, distance] = [i, squared];
  });
  if (best === null) return null;
  const cause = line.cause[best];
  return [
    { strong: true, text: `${latencyText(line.us[best])} at ${plainTime(line.t[best])}` },
    { color: causeLook(causes[cause]).fill, text: "mostly " + phrases[cause] },
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
