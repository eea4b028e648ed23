// The catalogue of a site: searches are made on the page itself.
"use strict";
(() => {
const form = document.querySelector("form.search"), found = document.getElementById("none");
const show = () => {
  const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
  const entries = [...document.querySelectorAll(".shelf > li")];
  for (const one of entries) {
    const title = one.querySelector("h2").textContent.toLowerCase();
    one.hidden = !words.every((word) => title.includes(word));
  }
  found.hidden = entries.some((one) => !one.hidden);
};
form.hidden = false;
form.addEventListener("input", show);
form.addEventListener("submit", (event) => { event.preventDefault(); show(); });
})();
