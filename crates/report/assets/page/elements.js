// Small pieces of a page: elements, and pictures for legends.

/** An element with attributes and children. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  Object.entries(attributes || {}).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...children);
  return made;
}

/** A small picture for a legend: shapes are [name, attributes]. */
function swatch(...shapes) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 12");
  svg.setAttribute("aria-hidden", "true");
  for (const [name, attributes] of shapes) {
    const shape = document.createElementNS(space, name);
    Object.entries(attributes).forEach(([key, value]) => shape.setAttribute(key, value));
    svg.append(shape);
  }
  return svg;
}

const box = (fill, height) => ["rect", { x: 4, y: 6 - height / 2, width: 16, height, fill }];
const dot = (fill) => ["circle", { cx: 12, cy: 6, r: 4, fill }];
