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

/** A legend of lines: what has a name and a style stands in it. */
function drawLineLegend(id, all) {
  document.getElementById(id).replaceChildren(...all.map((one) => {
    const { dash, width } = one.style;
    return element("span", {}, swatch(["line", {
      x1: 0, x2: 24, y1: 6, y2: 6, stroke: color(one.style.color),
      "stroke-width": width * 1.4, "stroke-dasharray": dash.map((d) => d * 0.8).join(" "),
    }]), one.name);
  }));
}

const box = (fill, height) => ["rect", { x: 4, y: 6 - height / 2, width: 16, height, fill }];

/** The look of a cause as a box, with stripes if it is hatched. */
function causeBox({ fill, isHatched }) {
  const stripe = (x) => ["path", { d: `M${x} 11.5 L${x + 6} 0.5`, stroke: color("paper"), "stroke-width": 2 }];
  return [box(fill, 11), ...(isHatched ? [4, 9, 14].map(stripe) : [])];
}

/** The look of a cause as the mark of a read: a disc, or a diamond if it is hatched. */
function causeMark({ fill, isHatched }) {
  return isHatched ? ["path", { d: "M12 1 L17 6 L12 11 L7 6 Z", fill }] : ["circle", { cx: 12, cy: 6, r: 4, fill }];
}
