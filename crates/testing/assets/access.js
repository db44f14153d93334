// Says what somebody who hears a page, uses keys or sees little contrast would miss, one sentence each.
(() => {
  const found = [];
  const isShown = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const name = (node) => {
    const near = node.closest("[id]");
    return node.tagName.toLowerCase() + (near ? " at #" + near.id : "") + ` "${node.textContent.trim().slice(0, 30)}"`;
  };
  const all = (selector) => [...document.querySelectorAll(selector)];
  if (!document.documentElement.lang || !document.title) found.push("the page has no language or no title");
  let level = 0;
  for (const heading of all("h1, h2, h3, h4")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) found.push(`${name(heading)} skips a level`);
    level = own;
  }
  if (all("h1").length !== 1) found.push("there is not one h1");
  const ids = all("[id]").map((node) => node.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => found.push(`there are two #${id}`));
  for (const table of all("table")) {
    if (!table.caption?.textContent.trim()) found.push(`${name(table)} has no caption`);
    if (!table.querySelector("th")) found.push(`${name(table)} has no header`);
  }
  all("th").filter((th) => !th.scope).forEach((th) => found.push(`${name(th)} has no scope`));
  all("canvas").filter((canvas) => !canvas.closest("[role=img]")).forEach((canvas) => found.push(`${name(canvas)} has no words`));
  all("svg").filter((svg) => !svg.closest("[aria-hidden=true], [role=img]")).forEach((svg) => found.push(`${name(svg)} has no words`));
  all("[role=img], [role=region]").filter((node) => !node.getAttribute("aria-label")).forEach((node) => found.push(`${name(node)} has no name`));
  all("input, select, button, progress").filter((control) => isShown(control)
    && !control.labels?.length && !control.textContent.trim() && !control.getAttribute("aria-label"))
    .forEach((control) => found.push(`${name(control)} has no label`));
  all(".uplot").filter((plot) => plot.tabIndex !== 0).forEach((plot) => found.push(`${name(plot)} cannot be reached with keys`));

  // Contrast of words with what is behind them.
  const parts = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = parts(color).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      const alpha = parts(color)[3];
      if (alpha === undefined || alpha === 1) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const told = new Set();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, option, .unseen, :disabled") || !isShown(parent)) continue;
    const style = getComputedStyle(parent);
    const ink = parent.closest("svg") ? style.fill : style.color;
    const [a, b] = [luminance(ink), luminance(behind(parent))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    const key = ink + behind(parent);
    if (contrast < 4.5 && !told.has(key)) {
      told.add(key);
      found.push(`${name(parent)} has a contrast of ${contrast.toFixed(2)}`);
    }
  }
  return found;
})()
