// Notes every error on the root element, where a test and a reader's console find it.
window.addEventListener("error", (event) => {
  document.documentElement.dataset.error = String(event.message || event.error);
});
window.addEventListener("unhandledrejection", (event) => {
  document.documentElement.dataset.error = String(event.reason);
});
