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

/** For policies that have no style of their own: the first that a page does not use yet, so that no two are alike. */
const OTHER_COLORS = ["sky", "brown", "grey", "purple", "blue", "orange", "green", "vermillion"];
const OTHER_DASHES = [[], [6, 3], [2, 2, 8, 2], [1, 3], [14, 5]];

/** Gives each run its style. */
function assignStyles(runs) {
  const known = new Set(Object.keys(POLICY_STYLES));
  const others = OTHER_DASHES.flatMap((dash) => OTHER_COLORS.map((color) => ({ color, dash, width: 2 })))
    .filter((style) => !(style.dash.length === 0 && ["green", "vermillion"].includes(style.color)));
  let used = 0;
  for (const run of runs) {
    const key = run.policy.toLowerCase();
    // A policy that runs twice looks different the second time.
    run.style = known.delete(key) ? POLICY_STYLES[key] : others[used++ % others.length];
  }
}

/**
 * Looks of the causes by words of their names; the first match wins. Those of one colour differ in
 * their hatching, and as marks in their shape.
 */
const CAUSE_LOOKS = [
  ["transfer", "grey", "plain"],
  ["nand", "sky", "plain"],
  ["host reads", "blue", "plain"],
  ["host writes", "purple", "plain"],
  ["(read)", "brown", "plain"],
  ["(program)", "orange", "plain"],
  ["(erase)", "vermillion", "plain"],
  ["fail", "ink", "plain"],
  ["rebuild", "green", "plain"],
  ["lock", "purple", "hatched"],
  ["late", "sky", "hatched"],
  ["held", "grey", "hatched"],
  ["", "ink", "hatched"],
];

/** The look of a cause: { fill, isHatched }. */
function causeLook(name) {
  const lower = name.toLowerCase();
  const [, fill, pattern] = CAUSE_LOOKS.find(([word]) => lower.includes(word));
  return { fill: color(fill), isHatched: pattern === "hatched" };
}

/** Black or white, whichever reads better on `background` (#rrggbb). */
function textOn(background) {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = parseInt(background.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}
