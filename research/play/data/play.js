// The page of a person who plays one of the agents. All that comes from the game is set as text.
"use strict";

const METRE = 70; // units of the plan per metre
const HEADINGS = { say: "Answer and tell", do: "Do", go: "Go", wait: "Wait" };
let state = {};
let socket = null;
let asked = false;
let question = 0;

function send(message) {
  if (socket && socket.readyState === WebSocket.OPEN) {
    socket.send(JSON.stringify({ turn: state.turn, ...message }));
  } else {
    complain("Not connected; try again in a moment.");
  }
}

function complain(text) {
  $("error").textContent = text;
  $("error").hidden = !text;
  if (text) setTimeout(() => { $("error").hidden = true; }, 6000);
}

function choose(choice) {
  for (const button of document.querySelectorAll("#choices button, #quick button")) button.disabled = true;
  send({ do: "choose", id: choice.id });
}

function button(choice) {
  const node = make("button", choice.text, choice.group);
  node.type = "button";
  node.dataset.id = choice.id;
  node.addEventListener("click", () => choose(choice));
  return node;
}

function showChoices() {
  const busy = state.phase !== "choose";
  const all = state.choices ?? [];
  $("doing").replaceChildren();
  if (state.phase === "going") {
    const stop = make("button", "Stop");
    stop.type = "button";
    stop.addEventListener("click", () => send({ do: "stop" }));
    $("doing").append(`${state.doing} … `, stop);
  } else if (state.phase === "wait") {
    $("doing").textContent = "The others are deciding …";
  } else if (state.phase === "ended") {
    $("doing").textContent = "The session was ended. What happened is saved. You may close this page.";
  }
  if (busy && state.phase !== "ended") { // the list stays, disabled, while steps go by
    for (const one of document.querySelectorAll("#choices button, #quick button")) one.disabled = true;
    return;
  }
  const places = [];
  for (const group of ["do", "go", "wait"]) {
    const found = all.filter((c) => c.group === group);
    if (found.length) places.push(make("h2", HEADINGS[group]), ...found.map(button));
  }
  const further = all.filter((c) => c.group === "further");
  if (further.length) {
    const more = make("details");
    more.open = $("choices").querySelector("details")?.open ?? false;
    more.append(make("summary", `${further.length} more`), ...further.map(button));
    places.push(more);
  }
  $("choices").replaceChildren(...places);
  const said = all.filter((c) => c.group === "say");
  $("quick").replaceChildren(...(said.length ? [make("h2", HEADINGS.say), ...said.map(button)] : []));
}

function showGoal() {
  $("introduction").textContent = state.introduction;
  if (state.step > 0 && !$("intro").dataset.closed) { // read by then; it stays there, folded
    $("intro").open = false;
    $("intro").dataset.closed = "yes";
  }
  const table = make("table");
  for (const row of state.goal.rows) {
    const line = make("tr");
    const told = row.told ? ` (+${row.told} as told)` : "";
    const met = row.seen + row.told >= row.count;
    line.append(make("td", row.words), make("td", `${row.seen} of ${row.count}${told}`, met && "met"));
    table.append(line);
  }
  $("goal").replaceChildren(make("h2", `Goal: ${state.goal.name}`), table);
  const hands = state.hands.map((h) => h.id + (h.inside.length ? ` (with ${h.inside.join(", ")})` : ""));
  while (hands.length < state.slots) hands.push("free");
  $("hands").replaceChildren("In your hands: ", make("b", hands.join(", ")));
  $("news").replaceChildren(...state.news.map((text) => make("li", text)));
}

function showChat() {
  const chat = $("chat");
  const low = chat.scrollHeight - chat.scrollTop - chat.clientHeight < 40;
  chat.replaceChildren(...state.chat.map((note) => {
    const line = make("p", undefined, note.mine && "mine");
    line.append(make("b", note.from));
    if (note.to.length) line.append(make("small", ` to ${note.to.join(", ")}`));
    line.append(`: ${note.text}`);
    return line;
  }));
  if (!state.chat.length) chat.append(make("p", "Nothing was said yet."));
  if (low) chat.scrollTop = chat.scrollHeight;
  if ($("to").options.length !== state.others.length + 1) {
    const all = [["", "To everybody"], ...state.others.map((name) => [name, `To ${name}`])];
    $("to").replaceChildren(...all.map(([value, text]) => Object.assign(make("option", text), { value })));
  }
  $("words").maxLength = state.limit;
  $("say").querySelector("button").disabled = state.phase !== "choose";
  $("say").hidden = !state.others.length;
}

function showPlan() {
  const { rooms, gates, things, me, others } = state.map;
  const plan = $("plan");
  const at = (x, y) => [x * METRE, -y * METRE];
  const points = rooms.flatMap((r) => (r.outline.length ? r.outline : [r.center]));
  const xs = points.map((p) => p[0] * METRE), ys = points.map((p) => -p[1] * METRE);
  const [x0, y0] = [Math.min(...xs) - 20, Math.min(...ys) - 20];
  const size = [Math.max(...xs) - x0 + 20, Math.max(...ys) - y0 + 20];
  plan.setAttribute("viewBox", [x0, y0, ...size].join(" "));
  plan.replaceChildren();
  // Letters are as large on the screen for a large home as for a small one.
  const shown = plan.getBoundingClientRect();
  const unit = Math.max(size[0] / Math.max(shown.width, 1), size[1] / Math.max(shown.height, 1), 0.2);
  const font = 12 * unit;
  const ways = new Map((state.choices ?? []).filter((c) => c.target).map((c) => [c.target, c]));
  const clickable = (node, id) => {
    const choice = [...ways.values()].find((c) => c.target === id && c.id.startsWith("go "));
    if (state.phase === "choose" && choice) {
      node.classList.add("click");
      node.addEventListener("click", () => choose(choice));
    }
    return node;
  };
  for (const room of rooms) {
    const outline = room.outline.map((p) => at(...p).join(",")).join(" ");
    const node = draw(plan, "polygon", { points: outline }, "room", !room.seen && "unseen", room.here && "here");
    draw(clickable(node, room.id), "title", { text: room.name + (room.seen ? "" : " (not seen yet)") });
  }
  for (const [ax, ay, bx, by] of gates) {
    const [x, y] = at((ax + bx) / 2, (ay + by) / 2);
    draw(draw(plan, "circle", { cx: x, cy: y, r: 5 * unit }, "gate"), "title", { text: "door" });
  }
  const taken = gates.map(([ax, ay]) => at(ax, ay)).map(([x, y]) => [x - 6 * unit, y - 6 * unit, x + 6 * unit, y + 6 * unit]);
  const free = (box) => !taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1]);
  for (const room of rooms) {
    const heights = (room.outline.length ? room.outline : [room.center]).map((p) => p[1]);
    const x = room.center[0] * METRE, half = room.name.length * font * 0.33;
    const top = -Math.max(...heights) * METRE + font * 1.6, bottom = -Math.min(...heights) * METRE - font * 0.7;
    const place = (y) => [x - half, y - font, x + half, y + font * 0.3];
    const y = [top, bottom, top + font * 1.8].find((one) => free(place(one))) ?? top;
    taken.push(place(y));
    const node = draw(plan, "text", { x, y, text: room.name, "text-anchor": "middle" }, "roomname");
    node.style.fontSize = `${font * 1.15}px`;
    node.style.pointerEvents = "none";
  }
  const label = (x, y, text, ...names) => {
    const width = text.length * font * 0.56, r = 9 * unit;
    for (const [left, base] of [[x + r, y + font / 3], [x - r - width, y + font / 3], [x - width / 2, y - r], [x - width / 2, y + r + font]]) {
      const box = [left, base - font, left + width, base + font * 0.2];
      const outside = box[0] < x0 || box[2] > x0 + size[0];
      if (outside || !free(box)) continue;
      taken.push(box);
      draw(plan, "text", { x: left, y: base, text, "font-size": font }, ...names).style.fontSize = `${font}px`;
      return;
    }
  };
  const people = [...others.map((o) => [...at(o.x, o.y), o]), [...at(me[0], me[1]), null]];
  for (const [x, y] of people) taken.push([x - 9 * unit, y - 9 * unit, x + 9 * unit, y + 9 * unit]);
  const marks = things.map((thing) => {
    const [x, y] = at(thing.x, thing.y);
    const wanted = thing.wanted || thing.holds.some((one) => one.wanted);
    const r = (wanted || thing.kind !== "item" ? 6 : 3.5) * unit;
    const box = { x: x - r, y: y - r, width: 2 * r, height: 2 * r, rx: thing.kind === "surface" ? 0 : r / 2 };
    const node = draw(plan, "rect", box, "thing", thing.kind, thing.open && "open", thing.target && "target",
      wanted && "wanted", !thing.view && "faded");
    const doors = { true: ", open", false: ", closed" }[thing.open] ?? "";
    const holds = thing.holds.length ? `: ${thing.holds.map((one) => one.name).join(", ")}` : "";
    draw(clickable(node, thing.id), "title", { text: thing.name + doors + holds });
    taken.push([x - r, y - r, x + r, y + r]);
    return { thing, x, y, wanted };
  });
  for (const [x, y, other] of people) {
    if (!other) continue;
    const node = draw(plan, "circle", { cx: x, cy: y, r: 8 * unit }, "mate", other.ago > 0 && "faded");
    draw(node, "title", { text: `${other.name}, ${other.ago} steps ago` });
    label(x, y, other.name + (other.ago > 0 ? ` (${other.ago} steps ago)` : ""));
  }
  const [mx, my] = at(me[0], me[1]);
  if (me[2] !== null) {
    const angle = (me[2] * Math.PI) / 180;
    const [tx, ty] = [mx + 26 * unit * Math.cos(angle), my - 26 * unit * Math.sin(angle)];
    draw(plan, "line", { x1: mx, y1: my, x2: tx, y2: ty }, "look");
    taken.push([Math.min(mx, tx), Math.min(my, ty) - 3, Math.max(mx, tx), Math.max(my, ty) + 3]);
  }
  draw(plan, "circle", { cx: mx, cy: my, r: 8 * unit }, "me");
  label(mx, my, "you");
  // What matters most is labelled first; where there is no place for a label, pointing at it tells.
  marks.sort((a, b) => Number(b.wanted) - Number(a.wanted) || Number(b.thing.target) - Number(a.thing.target) || Number(b.thing.view) - Number(a.thing.view));
  for (const { thing, x, y, wanted } of marks) {
    const names = thing.holds.filter((one) => one.wanted).map((one) => one.name);
    const rest = thing.holds.length - names.length;
    const text = thing.name + (names.length ? `: ${names.join(", ")}` : "") + (rest && thing.view ? ` +${rest}` : "");
    label(x, y, text, wanted && "wanted", !thing.view && "faded");
  }
}

function showQuestions() {
  $("game").hidden = true;
  $("after").hidden = false;
  $("summary").replaceChildren(...(state.summary ?? []).flatMap(([k, v]) => [make("dt", k), make("dd", v)]));
  const form = $("questions");
  if (state.phase === "thanks") {
    form.replaceChildren(make("p", "Thank you. Your answers are saved; you may close this page."));
    return;
  }
  if (asked) return; // what is filled in stays
  asked = true;
  const parts = [];
  if (state.questions.length) parts.push(make("p", `How was it? 1: strongly disagree, ${state.scale}: strongly agree.`));
  for (const [name, text] of state.questions) {
    const field = make("fieldset"), scale = make("div", undefined, "scale");
    scale.append("disagree");
    for (let value = 1; value <= state.scale; value++) {
      const label = make("label"), radio = make("input");
      Object.assign(radio, { type: "radio", name, value: String(value), required: true });
      label.append(radio, String(value));
      scale.append(label);
    }
    scale.append("agree");
    field.append(make("legend", text), scale);
    parts.push(field);
  }
  const comment = Object.assign(make("textarea"), { id: "comment", rows: 4, maxLength: 4000, placeholder: "Anything to add? (optional)" });
  const save = Object.assign(make("button", "Save"), { type: "submit" });
  form.replaceChildren(...parts, comment, save);
}

function showQuestion() { // what is typed stays while the page is drawn anew
  const put = state.question;
  const dialog = $("question");
  if (!put) {
    question = 0;
    if (dialog.open) dialog.close();
    return;
  }
  if (put.number === question) return;
  question = put.number;
  $("asker").textContent = put.asker;
  $("asked").textContent = put.text;
  $("answer").value = "";
  $("options").replaceChildren(...put.choices.map((text) => {
    const option = make("button", text);
    option.type = "button";
    option.addEventListener("click", () => answer(text));
    return option;
  }));
  if (!dialog.open) dialog.show(); // not modal: the game can be looked at, and goes on
  $("answer").focus();
}

function answer(text) {
  send({ do: "answer", number: question, text });
  $("question").close();
}

function show() {
  showQuestion();
  $("name").textContent = state.name;
  document.title = `${state.name} – Coterie`;
  if (state.phase === "questions" || state.phase === "thanks") { showQuestions(); }
  if (!state.map) return;
  const here = state.mates.map((m) => m.name + (m.hands.length ? ` (with ${m.hands.join(", ")})` : ""));
  $("place").textContent = `in ${state.room}` + (here.length ? `, with ${here.join(", ")}` : "");
  $("clock").textContent = `step ${state.step}, ${state.left} left`;
  if ($("game").hidden) return;
  showGoal();
  showChat();
  showChoices();
  showPlan();
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/socket${location.search}`);
  socket.addEventListener("message", (event) => {
    const news = JSON.parse(event.data);
    if (news.error) {
      complain(news.error);
      showChoices();
      return;
    }
    state = news;
    show();
  });
  socket.addEventListener("close", () => {
    if (state.phase !== "thanks" && state.phase !== "ended") setTimeout(connect, 1000);
  });
}

$("say").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("words").value.trim();
  if (!text || state.phase !== "choose") return;
  send({ do: "say", text, to: $("to").value });
  $("words").value = "";
});
$("words").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    $("say").requestSubmit();
  }
});
$("reply").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("answer").value.trim();
  if (text) answer(text);
});
$("none").addEventListener("click", () => answer(""));
$("answer").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    $("reply").requestSubmit();
  }
});
$("questions").addEventListener("submit", (event) => {
  event.preventDefault();
  const answers = {};
  for (const [name, value] of new FormData(event.target)) answers[name] = Number(value);
  send({ do: "answers", answers, comment: $("comment").value });
});
window.addEventListener("resize", () => { if (state.map && !$("game").hidden) showPlan(); });
connect();
