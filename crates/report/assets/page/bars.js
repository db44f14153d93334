// Bars in groups, one per policy in each group: ratios, busy members, cost.

/** Numbers of busy members shown one by one. */
const MOST_GROUPS = 8;

/**
 * Draws `options.groups`: [{ name, bars: [{ run, value, hollow, text, tip }] }].
 *
 * On a logarithmic axis bars grow from `options.from`; a value of zero has no bar there and is
 * written as 0, of which the sentence `options.tellZero` tells. `options.limits` is the range in values.
 */
function groupedBars(id, options) {
  const { groups, log } = options;
  const toAxis = (value) => (log ? Math.log10(value) : value);
  const [low, high] = options.limits.map(toAxis);
  const boxes = [];
  const most = Math.max(...groups.map((group) => group.bars.length));
  plot(id, {
    label: options.label, height: options.height || 300, padding: [20, 14, 0, 0],
    data: [groups.map((_, i) => i), groups.map(() => high)],
    series: [{}, { paths: () => null, points: { show: false } }],
    scales: { x: { time: false, range: [-0.5, groups.length - 0.5] }, y: { range: [low, high] } },
    axes: [
      nameAxis(groups.map((group) => group.name.replaceAll("\n", isNarrow(id) ? "\n" : " ")), { size: isNarrow(id) ? 44 : 28, label: options.xLabel }),
      (log ? logAxis : (write, rest) => axis({ values: (u, s) => s.map(write), ...rest }))(
        options.write, { label: options.yLabel, size: 62 }),
    ],
    paint: (u, mark) => {
      const { ctx } = u;
      const px = devicePixelRatio;
      boxes.length = 0;
      const group = u.valToPos(1, "x", true) - u.valToPos(0, "x", true);
      const slot = Math.min((group * 0.84) / most, 74 * px);
      const size = slot < 30 * px ? 10 : 11.5;
      const isWritten = slot >= 11 * px;
      if (options.tellZero) tell(options.tellZero, isWritten && groups.some((group) => group.bars.some((bar) => bar.value <= 0)));
      ctx.textBaseline = "alphabetic";
      groups.forEach(({ bars }, g) => bars.forEach((bar, b) => {
        const left = u.valToPos(g, "x", true) + (b - bars.length / 2) * slot + slot * 0.07;
        const width = slot * 0.86;
        const base = u.valToPos(toAxis(options.from), "y", true);
        const none = log && bar.value <= 0;
        const top = none ? base : u.valToPos(Math.min(high, Math.max(low, toAxis(bar.value))), "y", true);
        ctx.fillStyle = ctx.strokeStyle = color(bar.run.style.color);
        // The smallest bar still shows, and grows away from the line it stands on.
        const height = Math.max(Math.abs(base - top), 1.5 * px);
        const y = top > base ? base : base - height;
        if (bar.hollow) {
          ctx.lineWidth = 2 * px;
          ctx.strokeRect(left + px, y + px, width - 2 * px, Math.max(height - 2 * px, px));
        } else {
          ctx.fillRect(left, y, width, height);
        }
        ctx.fillStyle = color("ink");
        ctx.font = canvasFont(size);
        if (isWritten) writeAbove(ctx, bar.text, left + width / 2, y - 4 * px, slot);
        mark();
        boxes.push({ left: left - slot * 0.07, right: left + slot * 0.93, bar });
      }));
      if (options.line !== undefined) rule(u, toAxis(options.line));
    },
    tip: (u, x) => {
      const at = x * devicePixelRatio + u.bbox.left;
      const hit = boxes.find((box) => at >= box.left && at < box.right);
      return hit ? [{ color: color(hit.bar.run.style.color), text: hit.bar.tip }] : null;
    },
  });
}

/** Whether a plot is so narrow that names under it need two lines. */
function isNarrow(id) {
  return document.getElementById(id).clientWidth < 480;
}

/** Writes over a bar, turned upright where the bars stand too close. */
function writeAbove(ctx, text, x, y, room) {
  if (ctx.measureText(text).width + 5 * devicePixelRatio <= room) {
    ctx.textAlign = "center";
    ctx.fillText(text, x, y);
    return;
  }
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(-Math.PI / 2);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillText(text, 0, 0);
  ctx.restore();
}

/** A horizontal line across the plot. */
function rule(u, value) {
  const y = u.valToPos(value, "y", true);
  u.ctx.strokeStyle = color("muted");
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.beginPath();
  u.ctx.moveTo(u.bbox.left, y);
  u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
  u.ctx.stroke();
}

function drawRatios(runs, ideal) {
  if (!ideal) return missing("plot-ratio", "No run of Ideal to compare with.");
  const at = (run, p) => run.percentiles.find((entry) => Math.abs(entry.p - p) < 1e-6);
  const groups = [95, 99, 99.9, 99.99]
    .filter((p) => at(ideal, p)?.us > 0)
    .map((p) => ({
      name: "p" + p,
      bars: runs.filter((run) => at(run, p)?.us > 0).map((run) => {
        const value = at(run, p).us / at(ideal, p).us;
        const hollow = at(run, p).few || at(ideal, p).few;
        const doubt = hollow ? ", fewer than 100 samples beyond" : "";
        return {
          run, value, hollow, text: threeDigits(value),
          tip: `${run.name} at p${p}: ${latencyText(at(run, p).us)}, ${threeDigits(value)} × Ideal${doubt}`,
        };
      }),
    }));
  const values = groups.flatMap((group) => group.bars.map((bar) => bar.value));
  tell("ratio-hollow", groups.some((group) => group.bars.some((bar) => bar.hollow)));
  if (!values.length) return missing("plot-ratio", "No percentiles were recorded.");
  groupedBars("plot-ratio", {
    label: "Read latency of each policy relative to Ideal at p95, p99, p99.9 and p99.99.",
    groups, log: true, from: 1, line: 1, height: 320, write: (x) => plainMark(x) + "×",
    yLabel: "latency ÷ latency of Ideal",
    limits: [Math.min(0.8, Math.min(...values) * 0.8), Math.max(2, Math.max(...values) * 1.5)],
  });
}

function drawBusy(runs, view) {
  const members = Math.max(0, ...runs.map((run) => run[view].length)) - 1;
  if (members < 1) return missing("plot-busy", "No stripe reads were recorded.");
  const largest = Math.max(...runs.map((run) => run[view].findLastIndex((share) => share > 0)));
  const last = Math.min(members, Math.max(4, Math.min(largest, MOST_GROUPS)));
  const word = view === "busy" ? "busy members" : "members that met a collection";
  const groups = [];
  for (let n = 1; n <= last; n++) {
    const name = `${n === last && last < members ? "≥ " : ""}${n}`;
    // In a wide array the last group stands for all larger numbers too.
    const share = (run) => (n < last ? run[view][n] : run[view].slice(n).reduce((a, b) => a + b, 0));
    groups.push({
      name,
      bars: runs.filter((run) => run[view].length > n).map((run) => ({
        run, value: share(run), text: percentText(share(run)).replace(" %", ""),
        tip: `${run.name}: ${percentText(share(run))} of stripe reads with ${name} ${word}`,
      })),
    });
  }
  const present = groups.flatMap((group) => group.bars.map((bar) => bar.value)).filter((v) => v > 0);
  const least = present.length ? 10 ** Math.floor(Math.log10(Math.min(...present)) - 0.3) : 0.001;
  groupedBars("plot-busy", {
    label: "Share of stripe reads by the number of busy members, per policy.",
    groups, log: true, from: least, height: 320, write: (x) => plainMark(x) + " %",
    yLabel: "stripe reads", xLabel: word, tellZero: "busy-zero", limits: [least, Math.max(1, ...present) * 2],
  });
}

function drawCosts(runs) {
  const panel = (id, title, parts, write, yLabel) => {
    const groups = parts.map(([name, value]) => ({
      name,
      bars: runs.map((run) => ({
        run, value: value(run), text: write(value(run)).replace(" %", ""),
        tip: `${run.name}: ${write(value(run))}`,
      })),
    }));
    const most = Math.max(...groups.flatMap((group) => group.bars.map((bar) => bar.value)));
    groupedBars(id, {
      label: title, groups, log: false, from: 0, height: 280, yLabel,
      write: (x) => (write === percentText ? plainMark(x) + " %" : plainMark(x)),
      limits: [0, most > 0 ? most * 1.2 : 1],
    });
  };
  if (!runs.length) {
    missing("plot-waf", "Nothing to show.");
    missing("plot-extra", "Nothing to show.");
    return;
  }
  panel("plot-waf", "Write amplification of each policy.", [
    ["per page\nthe drives got", (run) => run.waf_drives],
    ["per page\nthe host wrote", (run) => run.waf_array],
  ], threeDigits, "pages programmed");
  panel("plot-extra", "Extra reads of each policy.", [
    ["extra reads", (run) => run.extra_reads_percent],
  ], percentText, "of the reads that were needed");
}
