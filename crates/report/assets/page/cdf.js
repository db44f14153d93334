// Distribution functions of latency, as the steps they are: on an axis of nines, and the slowest 5 %.

/** A share of requests that is too small to show, and its number of nines. */
const LEAST_SHARE = 0.001;
const LEAST_NINES = -Math.log10(1 - LEAST_SHARE);

/** The share of requests that took no time at all. */
function instantShare(run) {
  const last = run.cdf.y.findLastIndex((us) => us <= 0);
  return last < 0 ? null : 1 - 10 ** -run.cdf.x[last];
}

/** Where the axis begins: the fastest of the latencies that a share of the requests of a run has. */
function fastest(runs, fromNines) {
  const first = (run) => run.cdf.y.find((us, i) => us > 0 && run.cdf.x[i] >= fromNines);
  return Math.min(...runs.map(first).filter((us) => us > 0));
}

/** Plots one panel; `yOf` turns nines into the height on the axis and `ninesOf` back. */
function cdfPanel(id, runs, panel) {
  const inside = runs.flatMap((run) => run.cdf.y.filter((us, i) => us > 0 && run.cdf.x[i] >= panel.fromNines));
  if (!inside.length) {
    missing(id, `All ${panel.what}s took no time.`);
    return;
  }
  const fast = Math.log10(fastest(runs, Math.max(panel.fromNines, LEAST_NINES)));
  const high = Math.log10(Math.max(...inside)) + 0.08;
  // No time at all has no logarithm: it stands to the left of the axis.
  const withZero = panel.fromNines === 0 && runs.some((run) => instantShare(run) >= LEAST_SHARE);
  const zero = fast - 0.12 * (high - fast);
  const low = withZero ? zero - 0.02 * (high - fast) : fast - 0.05;
  const toX = (us) => (us > 0 ? Math.max(Math.log10(us), low - 1) : withZero ? zero : low - 1);
  plot(id, {
    label: panel.label + " Curves of " + runs.map((run) => run.name).join(", ") + ".",
    height: 360, crosshair: "both",
    data: [[low, high], panel.range],
    series: [{}, { paths: () => null, points: { show: false } }],
    scales: { x: { time: false, range: [low, high] }, y: { range: panel.range } },
    axes: [
      axis({
        label: panel.what + " latency", size: 34, space: 60,
        splits: (u, i, min, max) => (withZero ? [zero] : []).concat(logMarks(withZero ? fast - 0.02 : min, max)),
        values: (u, splits) => splits.map((mark) => (withZero && mark === zero ? "0" : latencyMark(10 ** mark))),
      }),
      axis({ label: panel.what + "s that took at most as long", size: 68, ...panel.axis }),
    ],
    paint: (u, mark) => {
      clip(u);
      runs.forEach((run) => paintDistribution(u, run, panel, toX, mark));
      if (panel.rings) rings(u, runs, panel, toX);
    },
    tip: (u, x, y) => {
      const nines = panel.ninesOf(u.posToVal(y, "y"));
      const lines = runs
        .map((run) => ({ run, us: latencyAt(run.cdf, nines) }))
        .filter((entry) => entry.us !== null)
        .sort((a, b) => b.us - a.us)
        .map(({ run, us }) => ({ color: color(run.style.color), text: run.name + ": " + latencyText(us) }));
      return lines.length ? [{ strong: true, text: percentileText(nines) + " of " + panel.what + "s" }, ...lines] : null;
    },
  });
}

/** The share stays what it was until the next latency that some request took. */
function paintDistribution(u, run, panel, toX, mark) {
  const { ctx } = u;
  const place = (us, nines) => [u.valToPos(toX(us), "x", true), u.valToPos(panel.yOf(nines), "y", true)];
  ctx.strokeStyle = color(run.style.color);
  ctx.lineWidth = run.style.width * devicePixelRatio;
  ctx.setLineDash(run.style.dash.map((length) => length * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(...place(run.cdf.y[0], 0));
  let before = 0;
  run.cdf.x.forEach((nines, i) => {
    ctx.lineTo(...place(run.cdf.y[i], before));
    ctx.lineTo(...place(run.cdf.y[i], nines));
    before = nines;
  });
  ctx.stroke();
  ctx.setLineDash([]);
  mark();
}

/** The latency that a share of requests, given in nines, did not exceed; null beyond the last. */
function latencyAt(cdf, nines) {
  const next = cdf.x.findIndex((x) => x >= nines);
  return next < 0 ? null : cdf.y[next];
}

/** Draws hollow rings at percentiles with few samples beyond. */
function rings(u, runs, panel, toX) {
  for (const run of runs) {
    for (const entry of run.percentiles.filter((p) => p.few)) {
      const nines = -Math.log10(1 - entry.p / 100);
      const x = u.valToPos(toX(entry.us), "x", true);
      const y = u.valToPos(panel.yOf(nines), "y", true);
      u.ctx.beginPath();
      u.ctx.arc(x, y, 4 * devicePixelRatio, 0, 2 * Math.PI);
      u.ctx.fillStyle = color("paper");
      u.ctx.strokeStyle = color(run.style.color);
      u.ctx.lineWidth = 1.5 * devicePixelRatio;
      u.ctx.fill();
      u.ctx.stroke();
    }
  }
}

/** Who answered requests in no time, and what such requests are. */
function tellInstant(runs, what) {
  const parts = runs.map((run) => ({ run, share: instantShare(run) })).filter(({ share }) => share !== null);
  const of = ({ run, share }) => `${run.name} ${share < 0.0002 ? "less than 0.02 %" : percentText(100 * share)}`;
  const why = what === "read"
    ? "Such a read asked no drive: the host still had the data in its memory, from a write that was under way or in its write cache."
    : "Such a write was acknowledged as soon as it stood in the write cache of the host.";
  tell("instant", parts.length > 0, `${what[0].toUpperCase()}${what.slice(1)}s of 0 µs: ${parts.map(of).join(", ")}. ${why}`);
}

/** Draws both panels of `what`, reads unless it says otherwise. */
function drawCdf(runs, what = "read") {
  const shown = runs.filter((run) => run.cdf.x.length > 0);
  tellInstant(shown, what);
  tell("cdf-rings", shown.some((run) => run.percentiles.some((p) => p.few)));
  if (!shown.length) {
    missing("plot-cdf", "No distribution was recorded.");
    missing("plot-cdf-tail", "No distribution was recorded.");
    return;
  }
  const last = Math.max(...shown.map((run) => run.cdf.x.at(-1)));
  const marks = [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8].filter((nines) => nines <= last);
  cdfPanel("plot-cdf", shown, {
    what, label: `Distribution of ${what} latency on an axis of nines.`,
    rings: true, fromNines: 0, range: [0, last + 0.1],
    yOf: (nines) => nines, ninesOf: (y) => Math.max(0, y),
    axis: { splits: () => marks, values: (u, splits) => splits.map(percentileText) },
  });
  cdfPanel("plot-cdf-tail", shown, {
    what, label: `Distribution of the slowest 5 % of ${what}s.`,
    fromNines: 1.3, range: [95, 100.05],
    yOf: (nines) => 100 * (1 - 10 ** -nines),
    ninesOf: (y) => -Math.log10(Math.max(1e-9, 1 - y / 100)),
    axis: { splits: () => [95, 96, 97, 98, 99, 100], values: (u, splits) => splits.map((p) => "p" + p) },
  });
}
