// Over the whole run: the busy window where it changed, the p99 of reads, and free blocks.

/** What the plots of a history share; `options.of` names the columns of a run that one shows. */
function historyPlot(id, shown, options) {
  const columns = (run) => run.history[options.of];
  const scaled = options.percent ? (y) => y : Math.log10;
  const [low, high] = options.limits;
  const range = options.percent ? [0, high * 1.1 || 1] : [low - 0.06, high + 0.06];
  const written = (y) => (options.percent ? percentText(y) : latencyText(y * options.unit));
  const marks = (write) => (options.percent
    ? axis({ values: (u, splits) => splits.map(write), label: options.yLabel, size: 72 })
    : logAxis(write, { label: options.yLabel, size: 72, ...options.yAxis }));
  plot(id, {
    label: options.label + " Of " + shown.map((run) => run.name).join(", ") + ".",
    height: options.height, zoom: true, sync: "sync-history", crosshair: "x", padding: [12, 28, 0, 0],
    data: [[0, options.end], range],
    series: [{}, { paths: () => null, points: { show: false } }],
    scales: { x: { time: false }, y: { range } },
    axes: [
      axis({
        values: (u, splits) => splits.map((t) => (options.xLabel ? plainTime(t * 1e3) : "")),
        space: 90, size: options.xLabel ? 32 : 8, label: options.xLabel,
      }),
      marks((value) => (options.percent ? plainMark(value) + " %" : latencyMark(value * options.unit))),
    ],
    paint: (u, mark) => {
      clip(u);
      for (const run of shown) {
        u.ctx.strokeStyle = color(run.style.color);
        u.ctx.lineWidth = (options.apart ? 3 : 1.5) * devicePixelRatio;
        u.ctx.setLineDash(options.apart ? [] : run.style.dash.map((length) => length * devicePixelRatio));
        u.ctx.beginPath();
        traceSteps(u, columns(run), run.history.end, scaled, options.apart);
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

/** The lowest and the highest value of a column of `runs`, as they stand on its axis. */
function limitsOf(runs, of, percent) {
  const values = runs.flatMap((run) => run.history[of].y).filter((y) => percent || y > 0);
  return values.map(percent ? (y) => y : Math.log10)
    .reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
}

/** Whether values lie far apart, so that a reader asks why. */
function jumps(values) {
  const positive = values.filter((us) => us > 0).sort((a, b) => a - b);
  const at = (share) => positive[Math.floor((positive.length - 1) * share)];
  return positive.length > 0 && at(0.98) > 10 * at(0.02);
}

/** All runs in one plot. */
function sharedHistory(id, runs, options) {
  const shown = runs.filter((run) => run.history[options.of].x.length);
  if (!shown.length) return missing(id, options.none);
  historyPlot(id, shown, { ...options, limits: limitsOf(shown, options.of, options.percent) });
}

/**
 * The p99 of each run in a strip of its own, all on one axis. It jumps between what a collection
 * costs and what it does not: joined by lines and over each other, runs would hide what each does.
 */
function drawStrips(runs, end) {
  const host = document.getElementById("plots-p99");
  const shown = runs.filter((run) => run.history.p99.x.length);
  for (const old of host.querySelectorAll(".plot")) forget(old.id);
  if (!shown.length) {
    host.replaceChildren(element("p", { class: "missing" }, "No p99 over time was recorded."));
    return;
  }
  host.replaceChildren(...shown.flatMap((run) => {
    const id = "plot-p99-" + data.runs.indexOf(run);
    return [element("h4", {}, run.name + ": p99 of reads"), element("div", { class: "plot", id })];
  }));
  const limits = limitsOf(shown, "p99");
  shown.forEach((run) => historyPlot("plot-p99-" + data.runs.indexOf(run), [run], {
    of: "p99", label: "99th percentile of read latency over time.", word: "p99", unit: 1, apart: true,
    height: 92, limits, end, yAxis: { size: 92, splits: (u, i, min, max) => decadeMarks(min, max) },
  }));
}

/** The plots of those `runs` of which something was recorded; hidden if no run of the page has such. */
function drawHistory(runs) {
  const figure = document.getElementById("fig-history");
  const all = data.runs.filter((run) => run.history);
  figure.hidden = !all.length;
  if (figure.hidden) return;
  const recorded = runs.filter((run) => run.history);
  const end = Math.max(...all.map((run) => run.history.end));
  const changed = all.some((run) => run.history.window.x.length);
  const free = all.some((run) => run.history.free.x.length);
  tell("history-window", changed);
  tell("history-p99", recorded.some((run) => run.history.p99.x.length));
  tell("history-jumps", recorded.some((run) => jumps(run.history.p99.y)));
  tell("history-free", free);
  document.getElementById("plot-window").hidden = !changed;
  document.getElementById("plot-free").hidden = !free;
  if (changed) sharedHistory("plot-window", recorded, {
    of: "window", label: "Length of the busy window over time.", word: "busy window", unit: 1e3, end,
    none: "The window changed under hidden policies only.",
    height: 230, yLabel: "busy window",
  });
  drawStrips(recorded, end);
  if (free) sharedHistory("plot-free", recorded, {
    of: "free", label: "Free blocks over time.", word: "free", percent: true, end,
    none: "No free blocks over time were recorded.",
    height: 230, yLabel: "free blocks", xLabel: "simulated time",
  });
}
