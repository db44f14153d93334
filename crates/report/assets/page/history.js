// Over the whole run: the busy window where it changed, the p99 of reads, and free blocks.

/** One of the plots; `options.of` names the columns of a run's history that it shows. */
function historyPlot(id, runs, options) {
  const columns = (run) => run.history[options.of];
  const shown = runs.filter((run) => columns(run).x.length);
  if (!shown.length) {
    missing(id, options.none);
    return;
  }
  const scaled = options.percent ? (y) => y : Math.log10;
  const values = shown.flatMap((run) => columns(run).y).filter((y) => options.percent || y > 0).map(scaled);
  const [low, high] = values.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
  const end = Math.max(...runs.map((run) => run.history.end));
  const range = options.percent ? [0, high * 1.1 || 1] : [low - 0.06, high + 0.06];
  const written = (y) => (options.percent ? percentText(y) : latencyText(y * options.unit));
  plot(id, {
    label: options.label + " Lines of " + shown.map((run) => run.name).join(", ") + ".",
    height: options.height, zoom: true, sync: "sync-history", crosshair: "x", padding: [12, 28, 0, 0],
    data: [[0, end], range],
    series: [{}, { paths: () => null, points: { show: false } }],
    scales: { x: { time: false }, y: { range } },
    axes: [
      axis({ values: (u, splits) => splits.map((t) => (options.xLabel ? plainTime(t * 1e3) : "")), space: 90, ...options.xAxis, label: options.xLabel }),
      options.percent
        ? axis({ values: (u, splits) => splits.map((y) => plainMark(y) + " %"), label: options.yLabel, size: 72 })
        : logAxis((value) => latencyMark(value * options.unit), { label: options.yLabel, size: 72 }),
    ],
    paint: (u, mark) => {
      clip(u);
      for (const run of shown) {
        u.ctx.strokeStyle = color(run.style.color);
        u.ctx.lineWidth = 1.5 * devicePixelRatio;
        u.ctx.setLineDash(run.style.dash.map((length) => length * devicePixelRatio));
        u.ctx.beginPath();
        traceSteps(u, columns(run), run.history.end, scaled);
        u.ctx.stroke();
        mark();
      }
    },
    tip: (u, x) => {
      const at = u.posToVal(x, "x");
      const lines = shown
        .filter((run) => at <= run.history.end)
        .map((run) => ({ run, value: columns(run).y[columns(run).x.findLastIndex((t) => t <= at)] }))
        .filter(({ value }) => value !== undefined)
        .sort((a, b) => b.value - a.value)
        .map(({ run, value }) => ({
          color: color(run.style.color), text: `${run.name}: ${options.word} ${written(value)}`,
        }));
      return lines.length ? [{ strong: true, text: "at " + plainTime(at * 1e3) }, ...lines] : null;
    },
  });
}

/** The plots of those `runs` of which something was recorded; hidden if no run of the page has such. */
function drawHistory(runs) {
  document.getElementById("fig-history").hidden = !data.runs.some((run) => run.history);
  const recorded = runs.filter((run) => run.history);
  if (document.getElementById("fig-history").hidden) return;
  const changed = data.runs.some((run) => run.history && run.history.window.x.length);
  document.getElementById("plot-window").hidden = !changed;
  if (changed) historyPlot("plot-window", recorded, {
    of: "window", label: "Length of the busy window over time.", word: "busy window", unit: 1e3,
    none: "The window changed under hidden policies only.",
    height: 230, yLabel: "busy window", xAxis: { size: 8 },
  });
  historyPlot("plot-p99", recorded, {
    of: "p99", label: "99th percentile of read latency over time.", word: "p99", unit: 1,
    none: "No p99 over time was recorded.",
    height: 230, yLabel: "p99 of reads", xAxis: { size: 8 },
  });
  historyPlot("plot-free", recorded, {
    of: "free", label: "Free blocks over time.", word: "free", percent: true,
    none: "No free blocks over time were recorded.",
    height: 230, yLabel: "free blocks", xLabel: "simulated time", xAxis: { size: 32 },
  });
}
