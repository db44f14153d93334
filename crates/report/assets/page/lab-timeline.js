// What happened second by second: latency and rate of each system, and what was done to it.

/** All seconds of a timeline, and where each system has them. */
function secondsOf(timeline) {
  const shown = data.systems.map((system, i) => ({ system, ...timeline.systems[i] })).filter(({ seconds }) => seconds);
  const all = [...new Set(shown.flatMap(({ seconds }) => seconds))].sort((a, b) => a - b);
  const columns = (name) => shown.map((one) => {
    const of = new Map(one.seconds.map((second, i) => [second, one[name][i]]));
    return all.map((second) => of.get(second) ?? null);
  });
  return { shown, all, columns };
}

/** One plot over time; `options` say what it is of, and how numbers are written. */
function drawSeconds(timeline, id, { shown, all }, values, options) {
  const { label, height, write, yAxis, range } = options;
  plot(id, {
    label: `${label} under ${timeline.name}, a line for each system.`,
    height: 250, crosshair: "x", zoom: true, sync: "sync-" + timeline.id,
    data: [all, ...values.map((column) => column.map(height))],
    series: [{}, ...shown.map(({ system }) => ({ ...lineOf(system), points: { show: all.length < 2 } }))],
    // A single second has a width, too.
    scales: { x: { time: false, range: (u, min, max) => (max > min ? [min, max] : [min - 1, max + 1]) }, y: { range } },
    axes: [axis({ label: "second", size: 34, space: 60 }), yAxis],
    paint: (u, mark) => paintEvents(u, shown, values, mark),
    tip: (u, x) => {
      const nearest = all.reduce((best, second, i) =>
        Math.abs(u.valToPos(second, "x") - x) < Math.abs(u.valToPos(all[best], "x") - x) ? i : best, 0);
      const lines = shown.flatMap(({ system, events }, i) => {
        const value = values[i][nearest];
        const told = events.filter(([second]) => second === all[nearest]).map(([, text]) => ", " + text).join("");
        if (value === null && !told) return [];
        return [{ color: color(system.style.color), text: `${system.name}: ${value === null ? "–" : write(value)}${told}` }];
      });
      return lines.length ? [{ strong: true, text: "second " + all[nearest] }, ...lines] : null;
    },
  });
}

/** Upright lines where something was done, and a mark for each system that has a curve. */
function paintEvents(u, shown, values, mark) {
  const { ctx } = u;
  clip(u);
  ctx.lineWidth = 1.5 * devicePixelRatio;
  shown.forEach(({ system, events }, i) => {
    if (values[i].some((value) => value !== null)) mark();
    ctx.strokeStyle = color(system.style.color);
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const [second] of events) {
      // Those of one second stand beside each other.
      const x = u.valToPos(second, "x", true) + (i - shown.length / 2) * 2 * devicePixelRatio;
      ctx.beginPath();
      ctx.moveTo(x, u.bbox.top);
      ctx.lineTo(x, u.bbox.top + u.bbox.height);
      ctx.stroke();
      mark();
    }
  });
}

function drawTimeline(timeline) {
  const seconds = secondsOf(timeline);
  const latencies = seconds.columns("p99_us");
  const heights = latencies.flat().filter((us) => us !== null).map(latencyHeight);
  if (heights.length) {
    drawSeconds(timeline, timeline.id + "-p99", seconds, latencies, {
      label: "The 99th percentile of the latency in each second", height: latencyHeight, write: latencyText,
      yAxis: logAxis(latencyMark, { label: "p99", size: 64 }), range: latencyRange(heights),
    });
  } else {
    missing(timeline.id + "-p99", "No latencies were recorded.");
  }
  const rates = seconds.columns("operations");
  const most = Math.max(1, ...rates.flat().filter((rate) => rate !== null));
  drawSeconds(timeline, timeline.id + "-rate", seconds, rates, {
    label: "Operations in each second", height: (rate) => rate, write: (rate) => String(rate),
    yAxis: axis({ label: "operations", size: 64 }), range: [0, most * 1.08],
  });
}

hintAtMore();
drawLegends();
keepDrawn(() => {
  drawLegends();
  data.bars.forEach(drawBars);
  data.percentiles.forEach(drawPercentiles);
  data.timelines.forEach(drawTimeline);
});
