// Captions say what is drawn: their optional sentences are shown with what they describe.

/** Shows the sentence named `key`, in the words `text` if there are any, where `isDrawn`. */
function tell(key, isDrawn, text) {
  for (const sentence of document.querySelectorAll(`[data-tell="${key}"]`)) {
    sentence.hidden = !isDrawn;
    if (text) sentence.textContent = text + " ";
  }
}
