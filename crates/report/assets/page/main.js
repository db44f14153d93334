// Reads the data, builds legends and choices, and draws everything, again when a choice changes.

const data = JSON.parse(document.getElementById("data").textContent);
assignStyles(data.runs);
const hidden = new Set();
const choice = { busy: "busy", percentile: null, scale: "share", timelines: [] };

const shownRuns = () => data.runs.filter((run) => !hidden.has(run));

function drawLegends() {
  for (const legend of document.querySelectorAll("[data-legend=policies]")) {
    legend.replaceChildren(...data.runs.map((run) => {
      const { dash, width } = run.style;
      const shape = legend.dataset.shape === "bar" ? box(color(run.style.color), 11) : ["line", {
        x1: 0, x2: 24, y1: 6, y2: 6, stroke: color(run.style.color),
        "stroke-width": width * 1.4, "stroke-dasharray": dash.map((d) => d * 0.8).join(" "),
      }];
      const button = element("button", { type: "button", "aria-pressed": String(!hidden.has(run)) }, swatch(shape), run.name);
      button.addEventListener("click", () => {
        hidden.has(run) ? hidden.delete(run) : hidden.add(run);
        if (hidden.size === data.runs.length) hidden.clear();
        drawAll();
      });
      return button;
    }));
  }
  const entry = (shapes, text) => element("span", {}, swatch(...shapes), text);
  for (const legend of document.querySelectorAll("[data-legend=causes]")) {
    const present = data.causes.filter((_, i) => data.runs.some((run) => run.causes.some((split) => split.shares[i] > 0)));
    tell("cause-hatching", present.some((cause) => causeLook(cause).isHatched));
    legend.replaceChildren(...present.map((cause) => entry(causeBox(causeLook(cause)), cause)));
  }
  const dominant = new Set(choice.timelines.flatMap((run) => run.timeline.cause));
  const bands = (what) => choice.timelines.some((run) => run.timeline[what].length);
  tell("lanes-windows", bands("windows"));
  tell("lanes-collections", bands("collections"));
  tell("lanes-both", bands("windows") && bands("collections"));
  for (const legend of document.querySelectorAll("[data-legend=timeline]")) {
    legend.replaceChildren(
      ...data.causes.map((cause, i) => (dominant.has(i) ? entry([causeMark(causeLook(cause))], "mostly " + data.phrases[i]) : null)).filter(Boolean),
      entry([["line", { x1: 0, x2: 24, y1: 6, y2: 6, stroke: color("ink"), "stroke-width": 2 }]], "p99 of the interval"),
      ...(bands("windows") ? [entry([["rect", { x: 3, y: 1, width: 18, height: 10, fill: color("band"), stroke: color("blue") }]], "busy window")] : []),
      ...(bands("collections") ? [entry([box(color("vermillion"), 6)], "collection")] : []),
    );
  }
}

/** Radio buttons for `choice[key]`. */
function radios(hostId, title, key, options) {
  const labels = options.map(([value, text]) => {
    const input = element("input", { type: "radio", name: hostId });
    input.checked = choice[key] === value;
    input.addEventListener("change", () => { choice[key] = value; drawAll(); });
    return element("label", {}, input, text);
  });
  document.getElementById(hostId).replaceChildren(
    element("fieldset", {}, element("legend", {}, title), ...labels));
}

function buildChoices() {
  if (data.runs.some((run) => run.failed.slice(1).some((share) => share > 0))) {
    radios("choose-busy", "Members that", "busy", [
      ["busy", "were, or would have been, busy"],
      ["failed", "were sent a read that met a collection"],
    ]);
  }
  const percentiles = [...new Set(data.runs.flatMap((run) => run.causes.map((split) => split.p)))].sort((a, b) => a - b);
  if (!percentiles.length) return;
  choice.percentile = percentiles.includes(99.9) ? 99.9 : percentiles.at(-1);
  radios("choose-percentile", "Percentile", "percentile", percentiles.map((p) => [p, "p" + p]));
  radios("choose-scale", "Bars show", "scale", [["share", "shares"], ["latency", "latency"]]);
}

/** Up to two timelines under each other, each with a choice of the policy. */
function buildTimelines() {
  const host = document.getElementById("timelines");
  const recorded = data.runs.filter((run) => run.timeline);
  if (!recorded.length) {
    host.append(element("p", { class: "missing" }, "No timeline was recorded."));
    return;
  }
  const named = (policy) => recorded.find((run) => run.policy.toLowerCase() === policy);
  const first = named("base") || recorded[0];
  const second = named("ioda") || recorded.find((run) => run !== first);
  choice.timelines = [...new Set([first, second].filter(Boolean))];
  choice.timelines.forEach((chosen, i) => {
    const select = element("select", { "aria-label": "Policy of timeline " + (i + 1) },
      ...recorded.map((run) => new Option(run.name, data.runs.indexOf(run), run === chosen, run === chosen)));
    select.addEventListener("change", () => { choice.timelines[i] = data.runs[select.value]; drawAll(); });
    const id = "timeline-" + i;
    host.append(element("div", { class: "timeline" },
      element("div", { class: "controls" }, element("label", {}, "Policy", select)),
      element("div", { class: "plot", id: id + "-reads" }),
      element("div", { class: "plot", id: id + "-lanes" })));
  });
  const thinned = recorded.filter((run) => run.timeline.t.length < run.timeline.recorded);
  if (thinned.length) {
    const { timeline } = thinned[0];
    document.getElementById("timeline-thinning").textContent =
      `To keep the page small, at most ${timeline.t.length} of up to ${Math.max(...thinned.map((run) => run.timeline.recorded))} recorded reads are drawn: the slowest, and an even sample of the rest.`;
  }
}

function latencyLimits() {
  const all = data.runs.filter((run) => run.timeline).flatMap((run) => [...run.timeline.us, ...run.timeline.p99.y]);
  const positive = all.filter((us) => us > 0);
  const [low, high] = positive.reduce(([a, b], us) => [Math.min(a, us), Math.max(b, us)], [Infinity, 0]);
  return high > 0 ? [low * 0.85, high * 1.25] : [10, 1000];
}

function drawAll() {
  const runs = shownRuns();
  drawLegends();
  drawCdf(runs);
  drawRatios(runs, data.ideal === null ? null : data.runs[data.ideal]);
  drawBusy(runs, choice.busy);
  drawCauses(runs, data.causes, choice.percentile, choice.scale);
  drawCosts(runs);
  drawHistory(runs);
  const limits = latencyLimits();
  choice.timelines.forEach((run, i) => drawTimeline("timeline-" + i, run, data, limits));
}

/** Puts the numbers behind each plot right under it. */
function placeNumbers() {
  for (const [numbers, figure] of [["numbers-busy", "fig-busy"], ["numbers-causes", "fig-causes"], ["numbers-drives", "fig-cost"]]) {
    const table = document.getElementById(numbers);
    if (table) document.getElementById(figure).append(table);
  }
}

placeNumbers();
hintAtMore();
buildChoices();
buildTimelines();
keepDrawn(drawAll);
