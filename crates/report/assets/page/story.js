// The drawing stands in the page already: tells how many lanes it has.

const root = document.documentElement;
hintAtMore();
root.dataset.lanes = JSON.parse(document.getElementById("data").textContent);
root.dataset.plots = document.querySelectorAll("#story").length;
if (!root.dataset.error) root.dataset.ready = "true";
