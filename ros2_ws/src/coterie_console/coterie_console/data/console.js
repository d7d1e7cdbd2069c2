// The console of a team. All that robots, models, maps and people said is set as text, never as markup.
"use strict";

const state = {};
const PLACEHOLDERS = { ask: "Is there an oven in the kitchen?", find: "something to sit on", task: "Bring all mugs to the kitchen counter" };
const NEEDS = { ask: "aggregator", find: "planner", task: "leader", map: "mapper" }; // sections of the team file
const lacks = (what) => state.team?.can[what] === false && state.team.can.settled && !state.team.can.ended;
const LONGEST = 600; // characters that the server takes; a field that cuts what is pasted would change it
let socket = null, role = null, replayed = false, tellsWhy, number = 0, closed = false, shift = 0, sending = false;
const waiting = new Map(); // of replies: id -> what to do with them

function command(name, fields = {}, then) {
  if (socket?.readyState !== WebSocket.OPEN) return note("Not connected: nothing was sent. Use the terminal: ./coterie stop", true);
  const id = ++number;
  waiting.set(id, then ?? ((told) => { if (told.text) note(told.text, !told.done); }));
  socket.send(JSON.stringify({ do: name, id, ...fields }));
}

function note(text, bad = false) {
  const line = make("p", text, bad && "bad");
  $("notes").append(line);
  while ($("notes").children.length > 4) $("notes").firstChild.remove();
  setTimeout(() => line.remove(), bad ? 12000 : 6000);
}

function button(text, react, ...names) {
  const node = make("button", text, ...names);
  node.type = "button";
  node.addEventListener("click", react);
  return node;
}

const buttons = (...nodes) => { const line = make("div", undefined, "buttons"); line.append(...nodes); return line; };
const clock = (at) => new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const left = (until) => Math.max(Math.round(until - Date.now() / 1000 - shift), 0);

function table(titles, rows) {
  const node = make("table"), head = make("tr"), around = make("div", undefined, "scroll");
  head.append(...titles.map((title) => make("th", title)));
  node.append(head, ...rows.map((cells) => {
    const line = make("tr");
    line.append(...cells.map((cell) => {
      if (cell instanceof Node) { const place = make("td"); place.append(cell); return place; }
      return Array.isArray(cell) ? make("td", cell[0], cell[1]) : make("td", cell);
    }));
    return line;
  }));
  around.append(node);
  return around;
}

function keyed(parent, items, build) { // what stays the same stays the same node: what is open or typed is kept
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  const nodes = items.map((item) => {
    const text = JSON.stringify(item), known = old.get(String(item.id));
    if (known && known.dataset.text === text) return known;
    const open = [...(known?.querySelectorAll("details") ?? [])].map((d) => d.open);
    const node = build(item);
    node.querySelectorAll("details").forEach((d, k) => { d.open = open[k] ?? d.open; });
    node.dataset.key = String(item.id);
    node.dataset.text = text;
    return node;
  });
  if (nodes.length !== parent.children.length || nodes.some((node, k) => parent.children[k] !== node)) parent.replaceChildren(...nodes);
}

// -- sections -------------------------------------------------------------------------------------

const SHOW = {
  team(team) {
    $("team").textContent = team.name || "Team";
    document.title = `${team.name || "Team"} – Coterie`;
    const cannot = [], inputs = [...document.querySelectorAll("#kinds input")];
    for (const one of inputs) {
      one.disabled = team.can[one.value] === false;
      if (lacks(one.value)) cannot.push(`${one.parentElement.textContent.trim()} needs “${NEEDS[one.value]}: {}” in the team file.`);
    }
    showLink();
    $("cannot").textContent = team.can.ended ? "The team has ended. Start it again with ./coterie up." : inputs.some((one) => one.disabled) && !team.can.settled ? "The team is starting …" : cannot.join(" ");
    for (const id of ["words", "send"]) $(id).disabled = inputs.every((one) => one.disabled);
    showEmpty();
    $("draw").hidden = !team.can.correct;
    if (team.can.why !== tellsWhy) { // what was shown before has other buttons
      tellsWhy = team.can.why;
      for (const [part, place] of [["permits", "permits"], ["talk", "talks"], ["tasks", "tasks"], ["timeline", "timeline"]]) if (state[part]) { $(place).replaceChildren(); SHOW[part](state[part]); }
    }
    showTraining();
    const first = document.querySelector("#kinds input:checked:not(:disabled)") ?? document.querySelector("#kinds input:not(:disabled)");
    if (first) { first.checked = true; $("words").placeholder = PLACEHOLDERS[first.value]; }
  },
  map(map) { takeMap(map); showFences(map); showCorrections(map.corrections); },
  poses: (poses) => takePoses(poses),
  robots(robots) { showRobots(robots); showChips(); drawTrails(); moveRobots(); },
  permits: (permits) => showPermits(permits),
  standing: (permits) => showStanding(permits),
  question: (question) => showQuestion(question),
  talk: (talks) => keyed($("talks"), [...talks].reverse(), talkNode),
  tasks(tasks) { showEmpty(); keyed($("tasks"), [...tasks].reverse(), taskNode); },
  health(health) { showHealth(health); showChips(); showTraining(); },
  timeline: (moments) => showTimeline(moments),
};

function showEmpty() { // where nothing is: why, and what to do
  const { map, tasks } = state;
  $("no-task").hidden = Boolean(tasks?.length);
  const may = role === "operator" && state.team?.can.task !== false;
  $("no-task").textContent = lacks("task") ? "This team takes no tasks. Add “leader: {}” to its team file." : `No task yet.${may ? " Choose Do above and say what is to be done." : ""}`;
  $("nothing").hidden = !map || map.rooms.length + map.things.length > 0;
  $("nothing").textContent = lacks("map") ? "This team makes no map. Add “mapper: {}” to its team file. Here is where its robots are:" : state.team?.can.map === false ? "The team is starting …" : "No map yet: it grows as the robots look around. ./coterie up TEAM --explore lets them.";
}

function showChips() {
  const links = new Map((state.health?.robots ?? []).map((r) => [r.name, r]));
  const robots = (state.robots ?? []).map((r) => ({ id: r.name, ...r, unheard: links.get(r.name)?.age === null, lost: !replayed && (links.get(r.name)?.lost ?? false) }));
  keyed($("chips"), robots.map(({ id, name, room, stopped, lost, unheard }) => ({ id, name, room, stopped, lost: lost && !unheard, unheard, color: colorOf(name) })), (robot) => {
    const chip = make("span", undefined, "chip", robot.stopped && "stopped", robot.lost && "lost"), dot = make("span", undefined, "dot");
    dot.style.setProperty("background", robot.color);
    const where = robot.unheard ? "not heard yet" : robot.lost ? "out of reach" : robot.stopped ? "stopped" : robot.room;
    chip.append(dot, make("span", robot.name, "name"), make("span", where, "where"));
    chip.append(robot.stopped
      ? button("Release", () => command("release", { robots: [robot.name] }), "operator")
      : button("Stop", () => command("stop", { robots: [robot.name] }), "stop", "operator"));
    return chip;
  });
  $("release-all").hidden = !robots.some((r) => r.stopped);
}

function showRobots(robots) {
  const floors = state.map?.floors ?? [];
  const rows = robots.map((robot) => ({ id: robot.name, ...robot, floor: floors.length > 1 ? floors.find((f) => f.id === robot.floor)?.name : "", why: state.team?.can.why }));
  keyed($("robots"), rows, (robot) => {
    const line = make("div", undefined, "line"), text = make("p"), doing = robot.stopped ? "stopped" : robot.doing || "idle";
    text.append(make("b", robot.name), ` ${[[robot.room, robot.floor].filter(Boolean).join(", "), doing, robot.holding && `holds ${robot.holding}`, robot.help && `asks: ${robot.help}`].filter(Boolean).join(" · ")}`);
    line.append(text, ...robot.cameras.map((camera) => button(robot.cameras.length > 1 ? camera : "Camera", () => watch(robot.name, camera))));
    if (robot.doing && robot.why) line.append(whyButton(robot.name));
    return line;
  });
  if (!robots.length) $("robots").replaceChildren(make("p", "No robot has been heard of yet. ./coterie doctor tells which teams run.", "soft"));
}

function showQuestion(question) {
  const place = $("question");
  place.hidden = !question;
  if (!question) { place.replaceChildren(); delete place.dataset.number; return; }
  if (place.dataset.number === String(question.number)) return; // what is typed stays
  place.dataset.number = question.number;
  const field = make("input"), form = make("form", undefined, "line", "operator");
  Object.assign(field, { maxLength: 1000, autocomplete: "off" });
  field.setAttribute("aria-label", "Your answer");
  const answer = (text) => command("answer", { number: question.number, text });
  form.addEventListener("submit", (event) => { event.preventDefault(); if (field.value.trim()) answer(field.value); });
  const send = make("button", "Answer", "main");
  send.type = "submit";
  form.append(field, send);
  const choices = buttons(...question.choices.map((text) => button(text, () => answer(text))), button("No answer", () => answer("")));
  choices.classList.add("operator");
  place.replaceChildren(make("h2", `${question.asker} asks you`), make("p", question.text, "words"), form, choices);
}

const showOnMap = (lit) => lit.things?.length || lit.marks?.length || lit.rooms?.length ? [button("Show on the map", () => lightUp(lit))] : [];

function talkNode(talk) {
  const node = make("div", undefined, "talk"), answer = talk.answer;
  const head = make("p", undefined, "words");
  head.append(make("span", talk.kind === "find" ? "Find: " : "", "soft"), talk.words);
  node.append(head);
  if (talk.state === "working") {
    node.append(make("p", talk.told || "asking the team …", "working"));
    node.append(buttons(button("Take back", () => command("cancel", { talk: talk.id }), "operator")));
    return node;
  }
  if (talk.state === "failed") { node.append(make("p", talk.told, "failed")); return node; }
  const line = make("p");
  line.append(make("span", answer.text, "verdict", answer.kind), answer.sure ? `  ${answer.sure}` : "", " ", make("small", answer.method, "soft"));
  node.append(line);
  if (answer.because?.length) node.append(table(["robot", "says", "sure", "because"], answer.because));
  if (answer.objects?.length) node.append(table(["thing", "room", "sure"], answer.objects.map((o) => [Object.assign(make("span", o.label), { title: o.id }), o.room, o.sure])));
  if (talk.told) node.append(make("p", talk.told, "soft"));
  const line2 = buttons();
  line2.append(...showOnMap(answer.lit ?? {}), ...pictureButton(talk));
  if (answer.question) {
    if (answer.label === undefined || answer.label === null) {
      line2.append(button("Right", () => command("label", { talk: talk.id, right: true }), "operator"), button("Wrong", () => command("label", { talk: talk.id, right: false }), "operator"));
    } else line2.append(make("span", answer.label ? "marked as right" : "marked as wrong", "soft"));
  }
  if (talk.asked || talk.kind === "find") line2.append(whyOf(talk.asked || talk.words.slice(0, 200)));
  if (line2.children.length) node.append(line2);
  node.append(pictureRow(talk));
  return node;
}

const stageOf = (task) => task.rows.some((row) => row.state === "works") ? "at work" : task.stage === "discussion" ? `discussion, round ${task.round + 1}` : task.stage;

function taskNode(task) {
  const node = make("div", undefined, "task"), ended = task.outcome;
  node.append(make("p", task.words, "words"));
  const line = make("p");
  if (!task.own) line.append(make("span", "from outside this page  ", "soft"));
  line.append(ended ? make("span", ended.replaceAll("_", " "), "verdict", ended) : make("span", stageOf(task), "working"), ended ? `  ${task.message}` : task.all ? `  ${task.done} of ${task.all} parts done` : "");
  node.append(line);
  if (!ended && task.all) node.append(Object.assign(make("progress"), { max: task.all, value: task.done }));
  if (task.rows.length) {
    const rows = task.rows.map((row) => partNode(task, row));
    if (ended) {
      const more = make("details");
      more.append(make("summary", "who did what"), ...rows);
      node.append(more);
    } else node.append(...rows);
  }
  if (task.talk.length) {
    const talk = make("details");
    talk.append(make("summary", `discussion: ${task.talk.length} turns`), ...task.talk.map((turn) => {
      const said = make("p");
      said.append(make("b", turn.who), make("span", ` (${turn.kind}) `, "soft"), turn.text);
      return said;
    }));
    node.append(talk);
  }
  const line2 = buttons(...showOnMap(task.lit));
  if (task.team_id || ended) line2.append(whyOf(task.team_id || task.words.slice(0, 200))); // what was not begun has no id
  if (task.resumable) line2.append(button("Resume", () => command("resume", { task: task.id }), "operator"));
  if (!ended) line2.append(button("Cancel this task", () => command("cancel", { task: task.id }), "operator"));
  if (line2.children.length) node.append(line2);
  return node;
}

function showTraining() {
  const training = state.team?.training ?? {}, labels = state.health?.labels ?? 0;
  $("training").hidden = !state.team?.can.train || !(labels || training.text);
  $("labels").textContent = `${labels} ${labels === 1 ? "answer is" : "answers are"} marked as right or wrong.`;
  $("train").disabled = Boolean(training.working);
  $("trained").textContent = training.working ? "learning …" : training.text ?? "";
  $("trained").className = training.working ? "working" : training.done ? "yes" : "failed";
}

const amount = (value) => value === null ? "" : value.toLocaleString([], { maximumFractionDigits: 4 });
const ofBudget = (left, budget) => budget === null ? "no limit" : `${amount(left)} of ${amount(budget)}`;

function showHealth(health) {
  const charged = health.robots.some((r) => r.charge !== null);
  const parts = [table(["robot", "heard", ...(charged ? ["battery"] : [])], health.robots.map((r) => [
    r.name, [r.age === null ? "not yet" : r.lost ? `${Math.round(r.age)} s ago: out of reach` : `${r.age} s ago`, r.lost && r.age !== null ? "error" : "ok"],
    ...(charged ? [r.charge === null ? "unknown" : `${Math.round(100 * r.charge)} %`] : []),
  ]))];
  const bad = health.nodes.filter((n) => n.level !== "ok");
  if (bad.length) parts.push(table(["node", "", ""], bad.map((n) => [n.name, [n.level, n.level], n.message])));
  if (health.models.length) parts.push(table(["program", "tokens used", "left", "cost", "left"], health.models.map((m) => [
    m.name, amount(m.tokens), ofBudget(m.left_tokens, m.budget_tokens), amount(m.cost), ofBudget(m.left_cost, m.budget_cost),
  ])));
  for (const m of health.models) if (m.used_up) parts.push(make("p", `${m.name}: budget ${m.used_up}`, "error"));
  const used = health.tokens ? `${amount(health.tokens)} tokens in all${health.cost ? `, cost ${amount(health.cost)}` : ""}` : "no model was asked";
  parts.push(make("p", health.nodes.length ? `${health.nodes.length - bad.length} of ${health.nodes.length} nodes healthy; ${used}` : "No node has told how it is yet.", "soft"));
  $("health").replaceChildren(...parts);
}

function showTimeline(moments) {
  freshenWhy();
  const open = new Set([...$("timeline").querySelectorAll("details[open]")].map((d) => d.dataset.id));
  if (!moments.length) return $("timeline").replaceChildren(make("li", "Nothing has happened yet.", "soft"));
  const groups = [], goals = new Map(); // what one robot does for one goal stands together; robot -> its steps
  for (const one of moments) {
    const steps = goals.get(one.robot);
    if (steps && (one.goal ? steps[0].goal === one.goal : one.kind === "result")) { steps.push(one); continue; }
    groups.push([one]);
    if (one.robot && one.goal) goals.set(one.robot, groups[groups.length - 1]);
  }
  groups.sort((a, b) => a[a.length - 1].at - b[b.length - 1].at);
  $("timeline").replaceChildren(...groups.reverse().map((group) => {
    if (group.length === 1) return momentNode(group[0]);
    const [first, last] = [group[0], group[group.length - 1]], line = make("li"), more = make("details"), inner = make("ol");
    more.dataset.id = `${first.robot} ${first.at}`;
    more.open = open.has(more.dataset.id);
    inner.append(...stepsOf(group).reverse().map(momentNode));
    more.append(make("summary", goalWords(group)), inner);
    line.append(make("time", clock(last.at)), more);
    return line;
  }));
}

function goalWords(group) { // who, what for, where, how far in all, and what became of it
  const of = (kind) => group.filter((one) => one.kind === kind), rooms = [...new Set(group.map((one) => one.room).filter(Boolean))];
  const failed = group.filter((one) => one.kind === "refusal" || (one.ended && one.ended !== "succeeded")).length, meters = group.reduce((sum, one) => sum + one.meters, 0);
  const where = rooms.length > 4 ? [...rooms.slice(0, 3), `${rooms.length - 3} more rooms`] : rooms, steps = of("goal").length;
  return [`${group[0].robot} · ${group[0].goal.replace(/^to /, "")}${where.length ? `: ${where.join(", ")}` : ""}`, `${steps}\u00a0${steps === 1 ? "step" : "steps"}${failed ? `, ${failed} failed` : ""}`,
    meters && `${meters.toFixed(1)}\u00a0m`, group[group.length - 1].kind === "goal" && "under way"].filter(Boolean).join(" · ");
}

function stepsOf(group) { // a goal and what became of it are one step
  const steps = [];
  for (const { kind, robot, ...one } of group) {
    const last = steps[steps.length - 1];
    if (kind === "result" && last?.goes) Object.assign(last, { text: `${last.text}: ${one.text.replace(/^the goal /, "")}`, at: one.at, why: one.why, goes: false });
    else steps.push({ ...one, kind: kind === "goal" ? "" : kind, goes: kind === "goal" });
  }
  return steps;
}

function momentNode(one) {
  const line = make("li");
  line.append(make("time", clock(one.at)), make("span", [one.kind, one.robot, one.text].filter(Boolean).join(" · ")));
  if (one.why && state.team?.can.why) line.append(whyButton(one.why));
  return line;
}

// -- camera, things --------------------------------------------------------------------------------

let watched = null, pictured = null; // what is looked at, and when its last picture came
function watch(robot, camera) {
  const same = watched && watched.robot === robot && watched.camera === camera;
  watched = same ? null : { robot, camera };
  $("camera").hidden = !watched;
  $("picture").removeAttribute("src");
  pictured = null;
  $("caption").textContent = watched ? `${robot}, ${camera}: waiting for a picture` : "";
  if (watched) $("camera").scrollIntoView({ block: "nearest" });
  command("watch", watched ?? {}, (told) => { if (!told.done) note(told.text, true); });
}

function takePicture(picture) {
  if (!watched || picture.robot !== watched.robot || picture.camera !== watched.camera) return;
  $("picture").src = `data:image/jpeg;base64,${picture.jpeg}`;
  $("picture").alt = `What ${picture.robot} sees`;
  $("caption").textContent = `${picture.robot}, ${picture.camera}, ${clock(picture.at)}`;
  $("caption").classList.remove("error");
  pictured = { at: picture.at, came: Date.now() };
}

let merging = null; // the thing that is to be merged with the next that is clicked

function field(label, value = "") {
  const node = Object.assign(make("input"), { placeholder: label, maxLength: 60, value });
  node.setAttribute("aria-label", label);
  return node;
}

const correct = (fields) => command("correct", fields, (told) => { note(told.text, !told.done); if (told.done) $("chosen").hidden = true; });

function choose({ thing, room }) {
  if (merging && thing && thing.id !== merging.id) {
    correct({ kind: "merge_things", things: [merging.id, thing.id] });
    merging = null;
    return;
  }
  merging = null;
  plan.chosen = thing?.id ?? null;
  const place = $("chosen"), may = role === "operator" && state.team?.can.correct;
  place.hidden = false;
  if (thing) {
    const maybe = thing.labels.map(([label, share]) => `${label} ${Math.round(100 * share)} %`).join(", ");
    const known = [thing.room || "room not known", maybe, `seen ${thing.looks === 1 ? "once" : `${thing.looks} times`}${thing.by ? `, last by ${thing.by}` : ""}`];
    if (thing.open !== null) known.push(thing.open ? "open" : "closed");
    place.replaceChildren(make("p", thing.label, "words"), make("p", `${known.join("; ")}; id ${thing.id}`, "soft"));
    if (may) {
      const name = field("what it is"), more = make("details");
      more.append(make("summary", "Correct the map"), buttons(name,
        button("Rename", () => name.value.trim() && correct({ kind: "rename_thing", things: [thing.id], name: name.value.trim() })),
        button("Merge with …", () => { merging = thing; note("Click the thing that is the same."); }),
        button("Split", () => correct({ kind: "split_thing", things: [thing.id], name: name.value.trim() })),
        button("Delete", () => correct({ kind: "delete_thing", things: [thing.id] }))));
      place.append(more);
    }
  } else {
    const count = plan.map.things.filter((t) => t.room === room.name).length;
    const told = [room.type !== room.name && room.type, `${count} ${count === 1 ? "thing" : "things"}`];
    place.replaceChildren(make("p", room.name, "words"), make("p", told.filter(Boolean).join("; "), "soft"));
    if (may) {
      const name = field("name of the room"), more = make("details");
      more.append(make("summary", "Correct the map"), buttons(name, button("Rename", () => name.value.trim() && correct({ kind: "rename_room", room: room.id, name: name.value.trim() }))));
      place.append(more);
    }
  }
  place.append(buttons(button("Close", () => { place.hidden = true; plan.chosen = null; drawMap(); })));
  place.scrollIntoView({ block: "nearest" });
  drawMap();
}

function drawRoom() {
  plan.drawing = [];
  const place = $("chosen"), name = field("name of the room");
  const end = () => { plan.drawing = null; place.hidden = true; drawOutline(); };
  place.hidden = false;
  place.replaceChildren(make("p", "Click the corners of the room, one after the other.", "words"), buttons(name,
    button("Save the room", () => {
      if (plan.drawing.length < 3 || !name.value.trim()) return note("A room has three corners and a name.", true);
      command("correct", { kind: "draw_room", name: name.value.trim(), polygon: plan.drawing, floor: plan.floor }, (told) => { note(told.text, !told.done); if (told.done) end(); });
    }, "main"),
    button("Cancel", end)));
}

function showCorrections(corrections) {
  const place = $("corrections");
  place.hidden = !corrections.length;
  place.querySelector("summary").textContent = `${corrections.length} ${corrections.length === 1 ? "correction" : "corrections"} of the map`;
  place.querySelector("ul").replaceChildren(...corrections.map((one) => {
    const line = make("li", `${one.what} (${one.by}) `);
    line.append(button("Undo", () => command("undo", { correction: one.id }), "operator"));
    return line;
  }));
}

// -- connection -----------------------------------------------------------------------------------

function tick() {
  if (watched && pictured && Date.now() - pictured.came > 5000) { // a picture that stands still is not what is there now
    $("caption").textContent = `${watched.robot}, ${watched.camera}: no picture since ${clock(pictured.at)}; what you see is old`;
    $("caption").classList.add("error");
  }
  for (const node of document.querySelectorAll(".left")) node.textContent = `${left(Number(node.dataset.until))} s left`;
}

function showLink() {
  const ended = Boolean(state.team?.can.ended) && !replayed;
  $("link").classList.toggle("lost", ended);
  $("link").textContent = ended ? "the team has ended: what you see is old" : role === "viewer" ? "connected, looking on" : "connected";
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/socket`);
  socket.addEventListener("open", () => socket.send(JSON.stringify({ key: new URLSearchParams(location.hash.slice(1)).get("key") ?? "" })));
  socket.addEventListener("message", (event) => {
    const news = JSON.parse(event.data);
    if (news.closed) { closed = true; note(news.closed, true); $("link").textContent = news.closed; return; }
    if (news.hello) {
      role = news.hello.role;
      shift = news.hello.now - Date.now() / 1000;
      document.body.classList.toggle("viewer", role === "viewer");
      $("link").classList.remove("lost");
      replayed = Boolean(news.hello.replay); // its end is no loss of robots
      $("replay").hidden = !replayed;
      $("replay").textContent = `Replay of ${news.hello.replay}: what you see was recorded, and nothing can be commanded`;
      showLink();
      plan.trails = news.trails;
      if (watched) command("watch", watched);
    }
    for (const [section, data] of Object.entries(news.state ?? {})) state[section] = data;
    for (const section of Object.keys(news.state ?? {})) SHOW[section](state[section]);
    if (news.picture) takePicture(news.picture);
    if (news.why) takeWhy(news.why);
    if (news.evidence) takeEvidence(news.evidence);
    if (news.reply) {
      const then = waiting.get(news.reply.id);
      waiting.delete(news.reply.id);
      if (then) then(news.reply); else if (!news.reply.done) note(news.reply.text, true);
    }
  });
  socket.addEventListener("close", () => {
    waiting.clear();
    sending = false;
    $("link").classList.add("lost");
    if (!closed) { $("link").textContent = "connection lost: what you see is old. Stop with ./coterie stop"; setTimeout(connect, 1000); }
  });
}

$("draw").addEventListener("click", drawRoom);
$("space").addEventListener("click", () => {
  $("space").disabled = true;
  $("space").textContent = "3D starts …";
  command("space", {}, (told) => {
    $("space").disabled = false;
    $("space").textContent = "3D";
    if (!told.done || !told.text.startsWith("http://localhost:")) return note(told.text, true);
    $("space").hidden = true;
    $("open-space").href = told.text;
    $("open-space").hidden = false;
  });
});
$("train").addEventListener("click", () => command("train", {}, () => {})); // the page shows what came of it
$("stop-all").addEventListener("click", () => command("stop"));
$("release-all").addEventListener("click", () => command("release"));
$("kinds").addEventListener("change", (event) => { $("words").placeholder = PLACEHOLDERS[event.target.value]; });
$("talk").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("words").value.trim(), kind = document.querySelector("#kinds input:checked")?.value;
  if (!text || !kind || sending) return; // a double click asks once
  if (text.length > LONGEST) return note(`${text.length} characters; at most ${LONGEST}: nothing was sent`, true);
  sending = socket?.readyState === WebSocket.OPEN;
  command(kind, { text }, (told) => {
    sending = false;
    if (told.done) { if ($("words").value.trim() === text) $("words").value = ""; } else note(told.text, true);
  });
});
setInterval(tick, 1000);
connect();
