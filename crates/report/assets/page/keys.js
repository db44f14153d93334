// Plots with keys: Tab reaches them, arrows move the pointer of a plot, and what it points at is read aloud.

/** Parts of a plot that one press of a key crosses. */
const KEY_STEPS = 40;

/** Lets keys do what the pointer does; `options` are those of the plot. */
function answerKeys(u, tip, options) {
  const said = element("div", { class: "unseen", role: "status" });
  u.root.after(said);
  u.root.tabIndex = 0;
  u.root.setAttribute("aria-keyshortcuts", "ArrowLeft ArrowRight ArrowUp ArrowDown Home End Escape" + (options.zoom ? " + -" : ""));
  let at = null;
  const leave = () => {
    at = null;
    tip.wanted = false;
    said.textContent = "";
    u.setCursor({ left: -10, top: -10 });
  };
  u.root.addEventListener("blur", leave);
  u.root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { clientWidth: width, clientHeight: height } = u.over;
    // From row to row where there are rows.
    const [dx, dy] = [width / KEY_STEPS, height / (options.rows || KEY_STEPS)];
    const from = at || { left: width / 2, top: options.rows ? dy / 2 : height / 2 };
    const moves = {
      ArrowLeft: [-dx, 0], ArrowRight: [dx, 0], ArrowUp: [0, -dy], ArrowDown: [0, dy],
      Home: [-width, 0], End: [width, 0],
    };
    if (event.key === "Escape") leave();
    else if (options.zoom && (event.key === "+" || event.key === "-")) zoom(u, from.left, event.key === "+" ? 0.5 : 2, options.sync);
    else if (moves[event.key]) {
      const [x, y] = moves[event.key];
      at = { left: stay(from.left + x, 0, width), top: stay(from.top + y, options.rows ? dy / 2 : 0, height) };
      tip.wanted = true;
      u.setCursor(at);
      said.textContent = tip.hidden ? "" : [...tip.children].map((line) => line.textContent).join(", ");
    } else return;
    event.preventDefault();
  });
}

/** A place within a length, `margin` from its ends. */
function stay(place, margin, length) {
  return Math.min(length - 1 - margin, Math.max(margin, place));
}

/** Shows `share` of the time that is shown around a place, at most all of it, in all plots of that time. */
function zoom(u, left, share, sync) {
  const middle = u.posToVal(left, "x");
  const half = (u.scales.x.max - u.scales.x.min) * share / 2;
  const [first, last] = [u.data[0][0], u.data[0].at(-1)];
  const shown = { min: Math.max(first, middle - half), max: Math.min(last, middle + half) };
  uPlot.sync(sync).plots.forEach((plot) => plot.setScale("x", shown));
}
