// Requests for permits, and standing permits. Part of console.js; texts are data.
"use strict";

function showPermits(permits) {
  $("permits").hidden = !permits.length;
  drawWanted();
  if (!permits.length) { $("permits").replaceChildren(); return; }
  keyed($("permits"), permits, (one) => {
    const node = make("div", undefined, "request"), reason = make("input");
    Object.assign(reason, { placeholder: "reason (optional)", maxLength: 200 });
    reason.setAttribute("aria-label", "Reason");
    const answer = (decision, lasting) => () => {
      for (const b of node.querySelectorAll("button")) b.disabled = true;
      command("permit", { request: one.id, shown: one.shown, decision, lasting, reason: reason.value }, (told) => {
        note(told.text, !told.done);
        for (const b of node.querySelectorAll("button")) b.disabled = false;
      });
    };
    const time = make("span", "", "left");
    time.dataset.until = one.until;
    const title = make("h2", "");
    title.append(`${one.robot} asks for approval · `, time);
    node.append(title, make("p", one.what, "words"));
    if (one.why) node.append(make("p", `for: ${one.why}`));
    const about = make("p", [one.touches && `It touches: ${one.touches}`, one.pace].filter(Boolean).join("; "), "soft");
    about.title = `${one.rule} of the team file asks a person`;
    node.append(about);
    const line = buttons(button("Approve once", answer("allow", 0), "main"), button("Approve such goals for 10 min", answer("allow", 600)), button("Refuse", answer("refuse", 0)), reason);
    line.classList.add("operator");
    node.append(line, buttons(...showOnMap({ marks: one.at.map((at) => ({ at, label: one.what })) }), whyOf(one.id))); // who looks on may, too
    return node;
  });
  tick();
}

function showStanding(permits) {
  $("standing").hidden = !permits.length;
  $("standing-count").textContent = `${permits.length} standing ${permits.length === 1 ? "permit" : "permits"}`;
  keyed($("standing-list"), permits, (one) => {
    const node = make("div", undefined, "holds"), time = make("span", "", "left"), line = make("p", one.text, "words");
    time.dataset.until = one.until;
    line.append(" ", time);
    const revoke = button("Revoke", () => {
      revoke.disabled = true;
      command("revoke", { permit: one.id, shown: one.shown }, (told) => { note(told.text, !told.done); revoke.disabled = false; });
    }, "operator");
    node.append(line, make("p", `allowed by ${one.by}`, "soft"), revoke);
    return node;
  });
  tick();
}
