// Colours and strokes: one per policy and one per cause, the same in every plot.

const root = document.documentElement;

/** The present value of a colour of the style sheet, which differs between light and dark. */
function color(name) {
  return getComputedStyle(root).getPropertyValue("--" + name).trim();
}

const POLICY_STYLES = {
  base: { color: "vermillion", dash: [], width: 2 },
  iod1: { color: "purple", dash: [9, 3], width: 2 },
  iod2: { color: "orange", dash: [3, 3], width: 2 },
  iod3: { color: "blue", dash: [10, 3, 2, 3], width: 2 },
  ioda: { color: "green", dash: [], width: 3.5 },
  ideal: { color: "ink", dash: [5, 4], width: 1.5 },
};

/** For policies that have no colour of their own. */
const OTHER_STYLES = [
  { color: "sky", dash: [], width: 2 },
  { color: "brown", dash: [], width: 2 },
  { color: "yellow", dash: [6, 3], width: 2 },
  { color: "grey", dash: [], width: 2 },
  { color: "sky", dash: [3, 3], width: 2 },
  { color: "brown", dash: [9, 3], width: 2 },
  // More than a comparison has; a survey draws all policies there are.
  ...["purple", "blue", "orange", "green"].map((color) => ({ color, dash: [2, 2, 8, 2], width: 2 })),
  ...["vermillion", "purple", "blue", "grey"].map((color) => ({ color, dash: [1, 3], width: 2 })),
  ...["sky", "brown", "yellow", "grey"].map((color) => ({ color, dash: [12, 3, 2, 3, 2, 3], width: 2 })),
  ...["orange", "green", "vermillion", "blue"].map((color) => ({ color, dash: [14, 5], width: 2 })),
];

/** Gives each run its style; a policy that runs twice is dashed the second time. */
function assignStyles(runs) {
  let others = 0;
  const seen = {};
  for (const run of runs) {
    const key = run.policy.toLowerCase();
    const known = Object.hasOwn(POLICY_STYLES, key);
    const style = known ? POLICY_STYLES[key] : OTHER_STYLES[others++ % OTHER_STYLES.length];
    const again = Object.hasOwn(seen, key);
    seen[key] = true;
    run.style = known && again ? { ...style, dash: [2, 4], color: OTHER_STYLES[others++ % OTHER_STYLES.length].color } : style;
  }
}

/** Colours of the causes by a word of their name, first match wins. */
const CAUSE_COLORS = [
  ["transfer", "grey"],
  ["nand", "sky"],
  ["host reads", "blue"],
  ["host writes", "purple"],
  ["(read)", "yellow"],
  ["(program)", "orange"],
  ["(erase)", "vermillion"],
  ["fail", "ink"],
  ["rebuild", "green"],
  ["lock", "brown"],
];

function causeColor(name) {
  const lower = name.toLowerCase();
  const match = CAUSE_COLORS.find(([word]) => lower.includes(word));
  return color(match ? match[1] : "muted");
}

/** Black or white, whichever reads better on `background` (#rrggbb). */
function textOn(background) {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = parseInt(background.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#000000" : "#ffffff";
}
