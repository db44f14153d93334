// The frame that all plots share: size, axes, tooltip, and the count of plots drawn.

const FONT = "12px system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
const drawn = new Set();
const plots = new Map();

/** An axis in the colours of the page. */
function axis(options) {
  return {
    stroke: color("muted"), font: FONT, labelFont: FONT, labelSize: 20, labelGap: 2, gap: 5,
    grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("grid"), width: 1, size: 5 },
    ...options,
  };
}

/** An axis whose values are logarithms to the base of ten. */
function logAxis(write, options) {
  return axis({
    splits: (u, i, min, max) => logMarks(min, max),
    values: (u, splits) => splits.map((mark) => write(10 ** mark)),
    ...options,
  });
}

/** An axis of names at 0, 1, 2 …, without grid. */
function nameAxis(names, options) {
  return axis({
    splits: () => names.map((_, i) => i),
    values: () => names,
    grid: { show: false }, ticks: { show: false },
    ...options,
  });
}

/**
 * Draws a plot into the element `id`, in place of the one that is there.
 *
 * `options.crosshair` is absent, "x" for an upright line under the pointer, or "both".
 * `options.paint(u, mark)` draws what uPlot has no shape for, and calls `mark` once per shape; a
 * plot without a mark counts as not drawn. `options.tip(u, x, y)` returns the lines of the
 * tooltip at a place in CSS pixels of the plotting area: [{ color, text, strong }] or null. Keys go
 * from one to the next of `options.rows` rows, if it has any.
 */
function plot(id, options) {
  const host = document.getElementById(id);
  forget(id);
  host.replaceChildren();
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  const u = new uPlot({
    width: host.clientWidth, height: options.height, padding: options.padding || [12, 28, 0, 0],
    legend: { show: false },
    scales: options.scales, axes: options.axes, series: options.series,
    cursor: {
      drag: { x: !!options.zoom, y: false }, points: { show: false },
      x: options.crosshair !== undefined, y: options.crosshair === "both",
      ...(options.sync ? { sync: { key: options.sync, scales: ["x", null] } } : {}),
    },
    hooks: {
      draw: [(u) => {
        let marks = 0;
        u.ctx.save();
        // uPlot leaves the dashes of the last curve behind.
        u.ctx.setLineDash([]);
        options.paint?.(u, () => marks++);
        u.ctx.restore();
        if (!options.paint) marks = u.series.length - 1;
        host.dataset.marks = marks;
        if (marks > 0) drawn.add(id);
        root.dataset.plots = drawn.size;
      }],
      setCursor: [(u) => showTip(u, tip, options.tip)],
    },
  }, options.data, host);
  // Only the plot under the pointer shows a tooltip, not those whose cursor follows along.
  u.over.addEventListener("mouseenter", () => { tip.wanted = true; });
  u.over.addEventListener("mouseleave", () => { tip.wanted = false; tip.hidden = true; });
  u.over.appendChild(tip);
  if (options.tip) answerKeys(u, tip, options);
  u.root.setAttribute("role", "img");
  u.root.setAttribute("aria-label", options.label);
  plots.set(id, u);
  return u;
}

/** Takes a plot away. */
function forget(id) {
  plots.get(id)?.destroy();
  plots.delete(id);
}

/** Says why there is no plot. */
function missing(id, reason) {
  forget(id);
  const note = document.createElement("p");
  note.className = "missing";
  note.textContent = reason;
  document.getElementById(id).replaceChildren(note);
}

function showTip(u, tip, lines) {
  const { left, top } = u.cursor;
  const content = lines && tip.wanted && left >= 0 ? lines(u, left, top) : null;
  tip.hidden = !content;
  if (!content) return;
  tip.replaceChildren(...content.map((line) => {
    const row = document.createElement(line.strong ? "b" : "div");
    if (line.color) {
      const swatch = document.createElement("i");
      swatch.setAttribute("aria-hidden", "true");
      swatch.style.background = line.color;
      row.append(swatch);
    }
    row.append(line.text);
    return row;
  }));
  const { clientWidth: width, clientHeight: height } = u.over;
  const right = left + 14 + tip.offsetWidth > width;
  tip.style.left = Math.max(0, right ? left - 14 - tip.offsetWidth : left + 14) + "px";
  tip.style.top = Math.max(0, Math.min(top + 10, height - tip.offsetHeight)) + "px";
}

/**
 * Traces a line that holds each value of a logarithmic plot until the next, the last to `end`. The
 * values are joined by upright lines, unless they are to stand `apart`.
 */
function traceSteps(u, columns, end, scaled = Math.log10, apart = false) {
  columns.x.forEach((t, i) => {
    const until = columns.x[i + 1] ?? end;
    const y = u.valToPos(scaled(Math.max(columns.y[i], 1e-3)), "y", true);
    u.ctx[i && !apart ? "lineTo" : "moveTo"](u.valToPos(t, "x", true), y);
    u.ctx.lineTo(u.valToPos(until, "x", true), y);
  });
}

/** Limits drawing to the plotting area. */
function clip(u) {
  const { left, top, width, height } = u.bbox;
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
}

/** A font of `size` CSS pixels on the canvas. */
function canvasFont(size, weight) {
  return `${weight || 400} ${size * devicePixelRatio}px system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif`;
}
