// The busy window over the whole run where it changed, and beneath it the p99 of reads.

/** One of the two plots; `options.of` names the columns of a run's history that it shows. */
function historyPlot(id, runs, options) {
  const columns = (run) => run.history[options.of];
  const shown = runs.filter((run) => columns(run).x.length);
  if (!shown.length) {
    missing(id, options.none);
    return;
  }
  const values = shown.flatMap((run) => columns(run).y).filter((y) => y > 0).map(Math.log10);
  const [low, high] = values.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
  const end = Math.max(...runs.map((run) => run.history.end));
  const range = [low - 0.06, high + 0.06];
  plot(id, {
    label: options.label + " Lines of " + shown.map((run) => run.name).join(", ") + ".",
    height: options.height, zoom: true, sync: "sync-history", crosshair: "x", padding: [12, 28, 0, 0],
    data: [[0, end], range],
    series: [{}, { paths: () => null, points: { show: false } }],
    scales: { x: { time: false }, y: { range } },
    axes: [
      axis({ values: (u, splits) => splits.map((t) => (options.xLabel ? plainTime(t * 1e3) : "")), space: 90, ...options.xAxis, label: options.xLabel }),
      logAxis((value) => latencyMark(value * options.unit), { label: options.yLabel, size: 72 }),
    ],
    paint: (u, mark) => {
      clip(u);
      for (const run of shown) {
        u.ctx.strokeStyle = color(run.style.color);
        u.ctx.lineWidth = 1.5 * devicePixelRatio;
        u.ctx.setLineDash(run.style.dash.map((length) => length * devicePixelRatio));
        u.ctx.beginPath();
        traceSteps(u, columns(run), run.history.end);
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
          color: color(run.style.color), text: `${run.name}: ${options.word} ${latencyText(value * options.unit)}`,
        }));
      return lines.length ? [{ strong: true, text: "at " + plainTime(at * 1e3) }, ...lines] : null;
    },
  });
}

/** Both plots, of those `runs` whose window changed; hidden if no run of the page has such. */
function drawHistory(runs) {
  document.getElementById("fig-history").hidden = !data.runs.some((run) => run.history);
  const changed = runs.filter((run) => run.history);
  if (document.getElementById("fig-history").hidden) return;
  historyPlot("plot-window", changed, {
    of: "window", label: "Length of the busy window over time.", word: "busy window", unit: 1e3,
    none: "The window changed under hidden policies only.",
    height: 230, yLabel: "busy window", xAxis: { size: 8 },
  });
  historyPlot("plot-p99", changed, {
    of: "p99", label: "99th percentile of read latency over time.", word: "p99", unit: 1,
    none: "No p99 over time was recorded.",
    height: 230, yLabel: "p99 of reads", xLabel: "simulated time", xAxis: { size: 32 },
  });
}
