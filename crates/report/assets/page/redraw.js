// Draws, and draws again when the window or the colour scheme changes.

function keepDrawn(drawAll) {
  drawAll();
  let width = window.innerWidth;
  let pending = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(pending);
    pending = setTimeout(drawAll, 100);
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  // Paper is white whatever the screen prefers.
  window.addEventListener("beforeprint", () => { root.dataset.theme = "light"; drawAll(); });
  window.addEventListener("afterprint", () => { delete root.dataset.theme; drawAll(); });
  // uPlot draws in a microtask, so by the next task every plot is on its canvas.
  setTimeout(() => {
    if (!root.dataset.error) root.dataset.ready = "true";
  }, 0);
}
