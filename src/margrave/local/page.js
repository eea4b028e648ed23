"use strict";
(() => {
  const plan = margravePlan;
  const key = `margrave-local-${plan.memory}`;
  const at = (id) => document.getElementById(id);
  const trouble = (text) => {
    at("trouble").textContent = text;
    at("trouble").hidden = false;
  };
  const random = (count) => crypto.getRandomValues(new Uint8Array(count));
  const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

  function remembered() {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  }

  // The report is kept before it is shown, so that it cannot be drawn again; answers are never kept.
  function remember(kept) {
    try {
      localStorage.setItem(key, JSON.stringify(kept));
    } catch {
      trouble("This browser does not remember reports. Do not fill in the page a second time.");
    }
  }

  function show(kept) {
    at("questions").hidden = true;
    at("made").hidden = false;
    at("report").textContent = kept.line;
    at("about").textContent = kept.about;
    at("field").value = kept.line;
    at("token").value = kept.token;
    at("send").hidden = at("send").getAttribute("action") === "";
    if (kept.plan !== plan.plan) {
      trouble("You made a report about these questions before, for another collection. A second one would tell more about you, so this one is given again.");
    }
  }

  // A token that was handed out stands behind # in the address; otherwise the device draws one.
  function token() {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    return given !== null && /^[A-Za-z0-9_-]{8,64}$/.test(given) ? given : hex(random(16));
  }

  function make(event) {
    event.preventDefault();
    if (remembered() !== null) {
      show(remembered());
      at("yours").focus();
      return;
    }
    const answers = Object.create(null);
    for (const set of document.querySelectorAll("fieldset")) {
      const chosen = set.querySelector("input:checked");
      if (chosen === null) return;
      answers[set.dataset.name] = Number(chosen.value);
    }
    const own = token();
    const made = margraveEncoder.encode(random, plan, answers, plan.shuffled ? "" : own);
    const titles = plan.questions[made.question].margin.map((name) => plan.titles[name]);
    const about = `Your device drew by lot what to report on: ${titles.join(" — together with — ")}`;
    const kept = { plan: plan.plan, line: made.line, token: own, about };
    remember(kept);
    at("questions").reset();
    show(kept);
    at("yours").focus();
  }

  // A report for a shuffler ends with a comma; in a file the token that the shuffler takes off stands behind it.
  function save() {
    const link = document.createElement("a");
    const line = `${at("report").textContent}${plan.shuffled ? at("token").value : ""}\n`;
    link.href = URL.createObjectURL(new Blob([line], { type: "text/plain" }));
    link.download = "report.txt";
    link.click();
  }

  if (typeof crypto === "undefined" || !crypto.getRandomValues) {
    at("questions").hidden = true;
    trouble("This browser has no source of random numbers, so that no report can be made here.");
    return;
  }
  at("questions").addEventListener("submit", make);
  at("save").addEventListener("click", save);
  if (remembered() !== null) show(remembered());
})();
