// One part of a task, and what can be done with it: why, and another robot for it. Part of console.js; texts are data.
"use strict";

const handOvers = new Map(); // part -> what was chosen and told, which outlives a newer table

function partNode(task, row) {
  const line = make("div", undefined, "line", "part"), words = make("p");
  words.append(make("b", row.robot || "nobody"), ` ${row.what} · `, make("span", row.state, row.state));
  if (row.why) words.append(make("small", row.why, "soft", "reason"));
  line.append(words);
  if (row.id && state.team?.can.why) line.append(whyButton(row.id));
  if (row.id && state.team?.can.hand_over && !task.outcome && row.state !== "done") line.append(handOver(row));
  else handOvers.delete(row.id);
  return line;
}

function handOver(row) {
  const node = make("details", undefined, "operator"), robots = make("select"), reason = make("input"), told = make("p");
  const kept = handOvers.get(row.id) ?? { robot: "", reason: "", told: "", done: false };
  handOvers.set(row.id, kept);
  for (const one of state.robots ?? []) {
    if (one.name === row.robot && row.state !== "failed") continue;
    robots.append(Object.assign(make("option", one.stopped ? `${one.name} (stopped)` : one.name), { value: one.name }));
  }
  robots.setAttribute("aria-label", "Robot");
  if (kept.robot) robots.value = kept.robot;
  robots.addEventListener("change", () => { kept.robot = robots.value; });
  Object.assign(reason, { placeholder: "reason (optional)", maxLength: 200, value: kept.reason });
  reason.setAttribute("aria-label", "Reason");
  reason.addEventListener("input", () => { kept.reason = reason.value; });
  const show = () => { told.textContent = kept.told; told.className = kept.done ? "soft" : "failed"; };
  show();
  const send = button("Hand over", () => {
    send.disabled = true;
    Object.assign(kept, { robot: robots.value, told: `asking ${robots.value} …`, done: true });
    show();
    command("hand_over", { part: row.id, robot: robots.value, reason: reason.value }, (reply) => {
      Object.assign(kept, { told: reply.text, done: reply.done });
      if (reply.done) kept.reason = "";
      send.disabled = false;
      note(reply.text, !reply.done);
      for (const place of document.querySelectorAll(`#tasks [data-part="${CSS.escape(row.id)}"]`)) {
        place.textContent = kept.told;
        place.className = kept.done ? "soft" : "failed";
      }
    });
  });
  told.dataset.part = row.id;
  node.append(make("summary", "Hand over to …"), robots, reason, send, told);
  return node;
}
