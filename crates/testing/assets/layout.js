// Says what overlaps, overflows or is cut off, one sentence each.
(() => {
  const found = [];
  const width = document.documentElement.clientWidth;
  const slack = 1;
  const name = (node) => node.id ? "#" + node.id : node.tagName.toLowerCase() + (node.className?.baseVal ?? node.className ? "." + (node.className.baseVal ?? node.className) : "");
  const within = (node) => { const near = node.closest("[id]"); return near && near !== node ? `${name(node)} in #${near.id}` : name(node); };
  const isShown = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !node.closest(".unseen, .tip, #tip");
  const overlap = (where, boxes) => {
    boxes.sort((a, b) => a.left - b.left);
    boxes.forEach((a, i) => {
      for (let j = i + 1; j < boxes.length && boxes[j].left < a.right - slack; j++) {
        const b = boxes[j];
        if (a.top < b.bottom - slack && b.top < a.bottom - slack) found.push(`${where}: "${a.text}" and "${b.text}" overlap`);
      }
    });
  };
  for (const [canvas, texts] of window.canvasTexts || []) {
    if (!canvas.isConnected || !isShown(canvas)) continue;
    overlap(within(canvas), [...texts]);
    for (const box of texts) {
      if (box.left < -slack || box.top < -slack || box.right > canvas.width + slack || box.bottom > canvas.height + slack) {
        found.push(`${within(canvas)}: "${box.text}" is cut off`);
      }
    }
  }
  for (const svg of document.querySelectorAll("svg")) {
    if (!isShown(svg)) continue;
    const area = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll("text")].filter(isShown).map((node) => {
      const { left, right, top, bottom } = node.getBoundingClientRect();
      // Half the leading is no ink.
      const inset = (bottom - top) * 0.12;
      return { text: node.textContent, left, right, top: top + inset, bottom: bottom - inset };
    });
    overlap(within(svg), boxes);
    for (const box of boxes) {
      if (box.left < area.left - slack || box.right > area.right + slack || box.top < area.top - 2 || box.bottom > area.bottom + 2) {
        found.push(`${within(svg)}: "${box.text}" is cut off`);
      }
    }
  }
  if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  for (const node of document.querySelectorAll("body *")) {
    if (!isShown(node) || node.closest("svg") && node.tagName !== "svg") continue;
    const box = node.getBoundingClientRect();
    const container = node.parentElement.closest(".scroll, pre");
    if (!container && (box.right > width + slack || box.left < -slack)) found.push(`${within(node)} is wider than the page`);
    const style = getComputedStyle(node);
    const isCut = node.scrollWidth > node.clientWidth + slack && node.clientWidth > 0;
    if (node.matches(".scroll") && isCut) {
      const hint = document.getElementById(node.getAttribute("aria-describedby"));
      if (!hint || !isShown(hint)) found.push(`${within(node)} can be scrolled and does not say so`);
      if (node.tabIndex < 0) found.push(`${within(node)} can be scrolled and not be reached with keys`);
    } else if (isCut && (style.overflowX === "hidden" || style.overflowX === "clip") && !node.closest("svg, .uplot")) {
      found.push(`${within(node)} is cut off`);
    }
  }
  // Words of the document itself, by the lines in which they stand.
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("svg, script, style, option, .unseen, .tip, #tip, .scroll") || !isShown(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const inset = (bottom - top) * 0.2;
      if (right - left > 1) boxes.push({ text: node.data.trim().slice(0, 40), left, right, top: top + inset, bottom: bottom - inset });
    }
  }
  overlap("the page", boxes);
  return found;
})()
