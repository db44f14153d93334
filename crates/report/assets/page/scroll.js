// A table wider than its place says that there is more of it, and can be moved with keys.

/** Gives every box that can be scrolled a hint, shown while there is something to scroll to. */
function hintAtMore() {
  const check = (box) => {
    const hint = document.getElementById(box.getAttribute("aria-describedby"));
    const isCut = box.scrollWidth > box.clientWidth + 1;
    hint.hidden = !isCut;
    // What shows everything need not be stopped at.
    if (isCut) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  const boxes = [...document.querySelectorAll(".scroll")];
  boxes.forEach((box, i) => {
    const hint = element("p", { class: "more", id: "more-" + i }, "There is more to the right: scroll sideways, or with the arrow keys. \u2192");
    box.before(hint);
    box.setAttribute("aria-describedby", hint.id);
    check(box);
    box.closest("details")?.addEventListener("toggle", () => check(box));
  });
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => check(target.matches(".scroll") ? target : target.parentElement)));
  boxes.forEach((box) => [box, ...box.children].forEach((node) => observer.observe(node)));
}
