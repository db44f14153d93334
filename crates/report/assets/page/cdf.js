// Distribution functions of read latency: on an axis of nines, and the last twentieth enlarged.

/** Plots one panel; `yOf` turns nines into the height on the axis and `ninesOf` back. */
function cdfPanel(id, runs, panel) {
  const tables = runs.map((run) => {
    const x = [], y = [];
    run.cdf.x.forEach((nines, i) => {
      // Times that are equal would be one point for uPlot; a billionth keeps them apart.
      const at = Math.log10(Math.max(run.cdf.y[i], 1e-3));
      x.push(x.length && at <= x.at(-1) ? x.at(-1) + 1e-9 : at);
      y.push(panel.yOf(nines));
    });
    return [x, y];
  });
  const inside = runs.flatMap((run) => run.cdf.y.filter((_, i) => run.cdf.x[i] >= panel.fromNines));
  const low = Math.log10(Math.min(...inside.filter((us) => us > 0))) - 0.05;
  const high = Math.log10(Math.max(...inside)) + 0.08;
  const series = runs.map((run) => ({
    label: run.name, stroke: color(run.style.color), width: run.style.width,
    dash: run.style.dash, spanGaps: true, points: { show: false },
  }));
  plot(id, {
    label: panel.label + " Curves of " + runs.map((run) => run.name).join(", ") + ".",
    height: 360, crosshair: "both",
    data: uPlot.join(tables),
    series: [{}, ...series],
    scales: { x: { time: false, range: [low, high] }, y: { range: panel.range } },
    axes: [
      logAxis(latencyMark, { label: panel.what + " latency", size: 34, space: 60 }),
      axis({ label: panel.what + "s that took at most as long", size: 68, ...panel.axis }),
    ],
    paint: (u, mark) => rings(u, runs, panel, mark),
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

/** The latency at a number of nines, on the line between the points; null beyond the last. */
function latencyAt(cdf, nines) {
  const next = cdf.x.findIndex((x) => x >= nines);
  if (next < 0) return null;
  if (next === 0) return cdf.y[0];
  const share = (nines - cdf.x[next - 1]) / (cdf.x[next] - cdf.x[next - 1]);
  const [a, b] = [cdf.y[next - 1], cdf.y[next]].map((us) => Math.max(us, 1e-3));
  return a * (b / a) ** share;
}

/** Counts one mark per curve; draws hollow rings at percentiles with few samples beyond. */
function rings(u, runs, panel, mark) {
  clip(u);
  for (const run of runs) {
    if (run.cdf.x.length > 1) mark();
    if (!panel.rings) continue;
    for (const entry of run.percentiles.filter((p) => p.few)) {
      const nines = -Math.log10(1 - entry.p / 100);
      const x = u.valToPos(Math.log10(Math.max(entry.us, 1e-3)), "x", true);
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

/** Draws both panels of `what`, reads unless it says otherwise. */
function drawCdf(runs, what = "read") {
  const shown = runs.filter((run) => run.cdf.x.length > 1);
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
    what, label: `Distribution of the slowest twentieth of ${what}s.`,
    fromNines: 1.3, range: [95, 100.05],
    yOf: (nines) => 100 * (1 - 10 ** -nines),
    ninesOf: (y) => -Math.log10(Math.max(1e-9, 1 - y / 100)),
    axis: { splits: () => [95, 96, 97, 98, 99, 100], values: (u, splits) => splits.map((p) => "p" + p) },
  });
}
