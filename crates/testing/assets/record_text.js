// Runs before the scripts of a page: notes where text is written on each canvas.
(() => {
  const texts = new Map();
  window.canvasTexts = texts;
  const proto = CanvasRenderingContext2D.prototype;
  const { fillText, clearRect } = proto;
  proto.clearRect = function (...area) {
    texts.delete(this.canvas);
    return clearRect.apply(this, area);
  };
  proto.fillText = function (text, x, y, ...rest) {
    if (text !== "") {
      const size = this.measureText(text);
      const at = this.getTransform();
      const corners = [
        [x - size.actualBoundingBoxLeft, y - size.actualBoundingBoxAscent],
        [x + size.actualBoundingBoxRight, y + size.actualBoundingBoxDescent],
      ].map(([cx, cy]) => at.transformPoint({ x: cx, y: cy }));
      const xs = corners.map((corner) => corner.x), ys = corners.map((corner) => corner.y);
      const box = { text, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
      texts.set(this.canvas, [...(texts.get(this.canvas) || []), box]);
    }
    return fillText.call(this, text, x, y, ...rest);
  };
})();
