// Lets a reader choose workload, statistic and policies; bars as a table, distributions as plots.

const data = JSON.parse(document.getElementById("data").textContent);
const runs = data.policies.map((policy) => ({ ...policy, policy: policy.name, name: policy.label }));
assignStyles(runs);
const byId = (id) => document.getElementById(id);

/** What can be chosen, the first being what is shown unless the address says otherwise. */
const options = {
  workload: data.workloads.map((workload) => workload.name),
  statistic: ["p99.9", ...data.statistics.filter((name) => name !== "p99.9")],
  direction: ["read", "write"],
  unit: data.ideal === null ? ["latency"] : ["ratio", "latency"],
  scale: ["log", "linear"],
  order: ["survey", "value"],
};
const choice = { hidden: new Set() };

/** Takes what the address says, and the first of the options for the rest. */
function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  for (const [key, values] of Object.entries(options)) {
    choice[key] = values.includes(words.get(key)) ? words.get(key) : values[0];
  }
  const named = words.get("policies")?.split(",");
  choice.hidden = new Set(named ? data.policies.map((p) => p.name).filter((name) => !named.includes(name)) : []);
}

/** The address of what is shown, without what is shown anyway. */
function address() {
  const words = new URLSearchParams();
  for (const [key, values] of Object.entries(options)) {
    if (choice[key] !== undefined && choice[key] !== values[0]) words.set(key, choice[key]);
  }
  if (choice.hidden.size) {
    words.set("policies", data.policies.map((p) => p.name).filter((name) => !choice.hidden.has(name)).join(","));
  }
  return "#" + words;
}

/** Draws what is chosen and keeps it in the address, without a step of its history. */
function changed() {
  if (address() !== (location.hash || "#")) location.replace(address());
  drawAll();
}

function choose(key, value) {
  choice[key] = value;
  changed();
}

/** The policies that are shown and have something to show. */
function shown() {
  const workload = data.workloads.find((one) => one.name === choice.workload);
  const { nines, policies } = workload[choice.direction];
  const index = data.statistics.indexOf(choice.statistic);
  const ideal = data.ideal === null ? null : policies[data.ideal];
  const all = runs.map((run, i) => {
    const own = policies[i];
    if (!own || choice.hidden.has(run.policy)) return null;
    const unit = choice.unit === "ratio" && ideal ? ideal.median[index] : 1;
    return {
      ...run, seeds: own.seeds, few: own.few[index], us: own.median[index],
      ratio: ideal?.median[index] > 0 ? own.median[index] / ideal.median[index] : null,
      value: own.median[index] / unit, low: own.low[index] / unit, high: own.high[index] / unit,
      cdf: { x: nines, y: own.curve }, percentiles: [],
    };
  }).filter(Boolean);
  if (choice.order === "value") all.sort((a, b) => a.value - b.value);
  return { workload, all };
}

/** From a value to the share of the track that its bar takes. */
function scaleOf(all) {
  const highest = Math.max(...all.map((one) => one.high));
  if (choice.scale === "linear") return (value) => value / highest;
  const lowest = Math.min(...all.map((one) => one.low).filter((value) => value > 0));
  // Bars of ratios stand on 1, or on the fastest if that is faster than Ideal.
  const start = choice.unit === "ratio" ? Math.min(1, lowest) : lowest / 1.5;
  const span = Math.log10(Math.max(highest, start * 1.1) / start);
  return (value) => Math.max(0, Math.log10(Math.max(value, start) / start) / span);
}

function drawBars({ workload, all }) {
  const toShare = all.length ? scaleOf(all) : null;
  const rows = all.map((one) => {
    const bar = element("div", { class: "bar" });
    bar.style.width = Math.max(0.3, 100 * toShare(one.value)) + "%";
    bar.style.background = color(one.style.color);
    const whisker = element("div", { class: "whisker" });
    whisker.style.left = 100 * toShare(one.low) + "%";
    whisker.style.width = 100 * (toShare(one.high) - toShare(one.low)) + "%";
    const known = (one.seeds > 1 || one.low < one.high) && one.value > 0;
    const spread = known ? "± " + percentText((50 * (one.high - one.low)) / one.value) : "–";
    return element("tr", { "data-policy": one.policy },
      element("th", { scope: "row", title: one.summary + " (" + one.level + ")" }, one.name),
      element("td", { class: "track" }, element("div", { class: "lane", "aria-hidden": "true" }, bar, whisker)),
      element("td", {}, latencyText(one.us) + (one.few ? " ~" : "")),
      element("td", {}, spread),
      element("td", {}, one.ratio === null ? "–" : threeDigits(one.ratio) + "×"));
  });
  byId("bars").tBodies[0].replaceChildren(...rows);
  root.dataset.bars = rows.length;
  byId("shown").textContent = all.length
    ? `${choice.statistic} of ${choice.direction}s under ${workload.name} (${workload.description}), ${all.length} of ${runs.length} policies`
    : `Nothing to show of ${choice.direction}s under ${workload.name}.`;
}

/** Makes the controls show what is chosen. */
function showChoices() {
  byId("choose-workload").value = choice.workload;
  byId("choose-statistic").value = choice.statistic;
  for (const input of document.querySelectorAll("#choices input")) {
    input.checked = choice[input.name] === input.value;
    input.disabled = !options[input.name].includes(input.value);
  }
  for (const input of document.querySelectorAll("#policy-checks input")) {
    input.checked = !choice.hidden.has(input.value);
  }
}

function buildChoices() {
  const fill = (id, key, values) => {
    const select = byId(id);
    select.replaceChildren(...values.map((value) => new Option(value, value)));
    select.addEventListener("change", () => choose(key, select.value));
  };
  fill("choose-workload", "workload", options.workload);
  fill("choose-statistic", "statistic", data.statistics);
  for (const input of document.querySelectorAll("#choices input")) {
    input.addEventListener("change", () => choose(input.name, input.value));
  }
  byId("choices").addEventListener("submit", (event) => event.preventDefault());
  byId("policy-checks").replaceChildren(...data.policies.map((policy) => {
    const input = element("input", { type: "checkbox", value: policy.name });
    input.addEventListener("change", () => {
      choice.hidden[input.checked ? "delete" : "add"](policy.name);
      changed();
    });
    return element("label", { title: policy.summary }, input, policy.label);
  }));
  const hide = (isHidden) => {
    choice.hidden = new Set(data.policies.map((policy) => policy.name).filter(isHidden));
    changed();
  };
  byId("all-policies").addEventListener("click", () => hide(() => false));
  byId("no-policies").addEventListener("click", () => hide((name) => name !== "base" && name !== "ideal"));
}

function drawAll() {
  showChoices();
  const view = shown();
  drawBars(view);
  drawLineLegend("legend", view.all);
  drawCdf(view.all, choice.direction);
}

hintAtMore();
if (data.workloads.length) {
  readAddress();
  buildChoices();
  window.addEventListener("hashchange", () => {
    if (address() === (location.hash || "#")) return;
    readAddress();
    drawAll();
  });
  keepDrawn(drawAll);
} else {
  byId("survey").hidden = true;
  keepDrawn(() => {});
}
