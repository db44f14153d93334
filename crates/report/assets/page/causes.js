// The latency at a percentile split by cause, as one lying bar per policy.

function drawCauses(runs, causes, percentile, scale) {
  const rows = runs
    .map((run) => ({ run, split: run.causes.find((split) => split.p === percentile) }))
    .filter((row) => row.split);
  if (!rows.length) return missing("plot-causes", "No causes were recorded.");
  const absolute = scale === "latency";
  const length = (split) => (absolute ? split.us : 100);
  const most = Math.max(...rows.map((row) => length(row.split))) || 1;
  const names = rows.map((row) => row.run.name).reverse();
  const widest = Math.max(...names.map((name) => name.length));
  const boxes = [];
  plot("plot-causes", {
    label: `Causes of delay at p${percentile} per policy: ` + rows.map(({ run, split }) => {
      const most = split.shares.indexOf(Math.max(...split.shares));
      return `${run.name} ${latencyText(split.us)}, mostly ${causes[most]}`;
    }).join("; ") + ".",
    height: 60 + 40 * rows.length, rows: rows.length, padding: [6, 92, 0, 0],
    data: [[0, most], [0, 0]],
    series: [{}, { paths: () => null, points: { show: false } }],
    scales: { x: { time: false, range: [0, most] }, y: { range: [-0.5, rows.length - 0.5] } },
    axes: [
      axis({
        label: absolute ? "read latency" : "share of the latency", size: 32, space: 80,
        values: (u, splits) => splits.map((x) => (absolute ? (x ? latencyMark(x) : "0") : x + " %")),
      }),
      nameAxis(names, { size: Math.min(180, 24 + 8 * widest), stroke: color("ink") }),
    ],
    paint: (u, mark) => {
      const { ctx } = u;
      const px = devicePixelRatio;
      boxes.length = 0;
      const row = u.valToPos(0, "y", true) - u.valToPos(1, "y", true);
      rows.forEach(({ run, split }, i) => {
        const middle = u.valToPos(rows.length - 1 - i, "y", true);
        const [top, height] = [middle - row * 0.34, row * 0.68];
        let sum = 0;
        split.shares.forEach((share, c) => {
          const left = u.valToPos(sum * length(split), "x", true);
          sum += share;
          const right = u.valToPos(sum * length(split), "x", true);
          if (share <= 0) return;
          const { fill, isHatched } = causeLook(causes[c]);
          // A gap of one pixel parts neighbours that are wide enough to spare it.
          const gap = right - left > 3 * px ? px : 0;
          ctx.fillStyle = fill;
          ctx.fillRect(left, top, right - left - gap, height);
          if (isHatched) hatch(ctx, left, top, right - left - gap, height);
          const text = Math.round(share * 100) + " %";
          ctx.font = canvasFont(11.5);
          if (right - left > ctx.measureText(text).width + 8 * px) {
            const width = ctx.measureText(text).width + 6 * px;
            if (isHatched) {
              ctx.fillStyle = fill;
              ctx.fillRect((left + right - width) / 2, middle - 8 * px, width, 16 * px);
            }
            ctx.fillStyle = textOn(fill);
            ctx.textAlign = "center";
            ctx.textBaseline = "middle";
            ctx.fillText(text, (left + right) / 2, middle + px);
          }
          mark();
          boxes.push({ left, right, top, bottom: top + height, run, split, c, share });
        });
        ctx.fillStyle = color("ink");
        ctx.font = canvasFont(12.5, 600);
        ctx.textAlign = "left";
        ctx.textBaseline = "middle";
        ctx.fillText(latencyText(split.us), u.valToPos(sum * length(split), "x", true) + 8 * px, middle + px);
      });
    },
    tip: (u, x, y) => {
      const [px, py] = [x * devicePixelRatio + u.bbox.left, y * devicePixelRatio + u.bbox.top];
      const hit = boxes.find((b) => px >= b.left && px < b.right && py >= b.top && py < b.bottom);
      if (!hit) return null;
      return [
        { strong: true, text: `${hit.run.name}, p${percentile}: ${latencyText(hit.split.us)}` },
        { color: causeLook(causes[hit.c]).fill, text: `${causes[hit.c]}: ${latencyText(hit.share * hit.split.us)} (${percentText(hit.share * 100)})` },
      ];
    },
  });
}

/** Pale stripes over a box, for causes that share their colour with another. */
function hatch(ctx, left, top, width, height) {
  const px = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.strokeStyle = color("paper");
  ctx.lineWidth = 2 * px;
  ctx.beginPath();
  for (let x = left - height; x < left + width; x += 6 * px) {
    ctx.moveTo(x, top + height);
    ctx.lineTo(x + height, top);
  }
  ctx.stroke();
  ctx.restore();
}
