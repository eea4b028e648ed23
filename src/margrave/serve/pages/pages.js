"use strict";
// Everything works without this: it saves a click where a question is built, and copies what is shown.
(() => {
  const bench = document.getElementById("bench");
  const explained = document.getElementById("explained");
  let waiting = 0;
  let asked = 0;

  async function renew() {
    const mine = ++asked;
    const fields = new URLSearchParams(new FormData(bench)).toString();
    try {
      const reply = await fetch(`${bench.dataset.explained}?${fields}`, { credentials: "same-origin" });
      if (!reply.ok || mine !== asked) return;
      explained.innerHTML = await reply.text();
      history.replaceState(null, "", `${bench.getAttribute("action")}?${fields}`);
      copies(explained);
    } catch {
      // The button explains as well.
    }
  }

  function copies(within) {
    if (!navigator.clipboard) return;
    for (const shown of within.querySelectorAll("pre.copy")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copying";
      button.textContent = `Copy ${shown.getAttribute("aria-label")}`;
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(shown.textContent);
        button.textContent = "Copied";
      });
      shown.after(button);
    }
  }

  if (bench && explained) {
    bench.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(renew, 250);
    });
  }
  copies(document);

  if (document.querySelector("[data-again]")) {
    setInterval(() => {
      const fields = [...document.querySelectorAll("main input, main textarea")];
      if (fields.every((one) => one.value === one.defaultValue)) location.reload();
    }, 2000);
  }

  const turn = document.querySelector("[data-events]");
  if (turn) {
    const events = new EventSource(turn.dataset.events);
    events.addEventListener("state", (event) => {
      if (event.data === "waiting") return;
      events.close();
      location.reload();
    });
  }
})();
