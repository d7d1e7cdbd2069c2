// The map from above: drawn anew with a new map, floor or light; robots only move.
"use strict";

const COLORS = ["#0072b2", "#d55e00", "#009e73", "#a5569b", "#b8860b", "#2596be", "#7a5c3e", "#55606e"];
const colorOf = (name) => COLORS[Math.max((state.robots ?? []).map((r) => r.name).sort().indexOf(name), 0) % COLORS.length];
const plan = {
  map: null, poses: {}, trails: {}, floor: null, view: null, moved: false, box: [0, 0, 10, 10],
  lit: { things: new Set(), rooms: new Set(), marks: [], path: [], fence: null }, chosen: null, drawing: null, layers: {},
};

function floorOf(z) { // the highest floor that is not above
  const below = (plan.map?.floors ?? []).filter((f) => f.z <= z + 0.5);
  return below.length ? below[below.length - 1].id : plan.map?.floors[0]?.id ?? "";
}

const onFloor = (floor) => !plan.map.floors.length || floor === "" || floor === plan.floor;
const flat = (points) => points.map(([x, y]) => `${x},${-y}`).join(" ");

function takeMap(map) {
  plan.map = map;
  if (!map.floors.some((f) => f.id === plan.floor)) plan.floor = map.floors[0]?.id ?? "";
  showEmpty();
  frame();
  showFloors();
  drawMap();
}

const charted = () => [...plan.map.rooms.flatMap((r) => r.outline), ...plan.map.things.flatMap((t) => t.corners)];

function frame() { // what the whole map is: rooms and things; where there are none, fences, else where robots were
  let points = charted();
  if (!points.length) points = plan.map.fences.flatMap((f) => f.pieces.flatMap((p) => p.rings.flat())); // an area may be far larger than the house
  if (!points.length) points = Object.values(plan.trails).flat().flatMap(([x, y]) => [[x - 2, y - 2], [x + 2, y + 2]]);
  if (points.length) {
    const xs = points.map((p) => p[0]), ys = points.map((p) => -p[1]);
    const [x, y] = [Math.min(...xs) - 0.5, Math.min(...ys) - 0.5];
    plan.box = [x, y, Math.max(...xs) - x + 0.5, Math.max(...ys) - y + 0.5];
    $("plan").style.aspectRatio = plan.box[2] / plan.box[3]; // no blank space above and below
  }
  if (!plan.view || !(plan.moved || plan.drawing)) plan.view = [...plan.box]; // a map that grows stays whole in view
}

function showFloors() {
  const floors = plan.map.floors;
  $("floors").replaceChildren(...(floors.length < 2 ? [] : floors.map((floor) => {
    const here = Object.entries(plan.poses).filter(([, pose]) => floorOf(pose[2]) === floor.id).length;
    const node = make("button", here ? `${floor.name}: ${here} ${here === 1 ? "robot" : "robots"}` : floor.name);
    node.type = "button";
    node.setAttribute("aria-pressed", String(floor.id === plan.floor));
    node.addEventListener("click", () => { plan.floor = floor.id; showFloors(); drawMap(); });
    return node;
  })));
}

function unitOf() { // metres per pixel
  const shown = $("plan").getBoundingClientRect();
  return Math.max(plan.view[2] / Math.max(shown.width, 1), plan.view[3] / Math.max(shown.height, 1), 1e-4);
}

function drawMap() {
  if (!plan.map) return;
  const svg = $("plan"), unit = unitOf(), lit = plan.lit;
  svg.setAttribute("viewBox", plan.view.join(" "));
  svg.replaceChildren();
  for (const room of plan.map.rooms.filter((r) => onFloor(r.floor) && r.outline.length > 2)) {
    const node = draw(svg, "polygon", { points: flat(room.outline) }, "room", lit.rooms.has(room.name) && "lit");
    draw(node, "title", { text: room.name });
    node.addEventListener("click", () => choose({ room }));
  }
  for (const way of plan.map.ways.filter((w) => onFloor(w.floor))) {
    draw(svg, "circle", { cx: way.at[0], cy: -way.at[1], r: 4 * unit }, "way");
  }
  for (const thing of plan.map.things.filter((t) => onFloor(t.floor))) {
    const names = ["thing", thing.kind, lit.things.has(thing.id) && "lit", plan.chosen === thing.id && "chosen"];
    const node = draw(svg, "polygon", { points: flat(thing.corners) }, ...names);
    draw(node, "title", { text: thing.label });
    node.addEventListener("click", () => choose({ thing }));
  }
  drawFences(svg, unit);
  if (lit.path.length > 1) draw(svg, "polyline", { points: flat(lit.path) }, "went");
  for (const mark of lit.marks.filter((m) => onFloor(floorOf(m.at[2])))) {
    const node = draw(svg, "circle", { cx: mark.at[0], cy: -mark.at[1], r: 14 * unit }, "mark");
    draw(node, "title", { text: mark.label });
  }
  const named = drawNames(svg, unit);
  plan.layers = { trails: draw(svg, "g", {}), wanted: draw(svg, "g", {}), robots: draw(svg, "g", {}), drawing: draw(svg, "g", {}), nodes: {}, unit, named };
  drawTrails();
  drawWanted();
  drawOutline();
}

const pen = document.createElement("canvas").getContext("2d");
pen.font = '600 100px system-ui, "DejaVu Sans", sans-serif';
const widthOf = (text, size) => pen.measureText(text).width * size / 100;

function drawNames(svg, unit) { // those that find room, rooms first; a click on a name is one on what it names
  const taken = [];
  const put = (text, middle, ys, size, sides, chosen, ...names) => { // at the first height where it covers no other
    const half = widthOf(text, size) / 2 + 2 * unit, [left, , across] = plan.view;
    const inside = (x, [least, most]) => (x > least && x < most && most - least > 2 * half ? Math.min(Math.max(x, least + half), most - half) : x);
    const x = inside(inside(middle, sides), [left, left + across]); // whole in its room, and in view
    const boxes = ys.map((y) => [x - half, y - size, x + half, y + 0.3 * size]), box = boxes.find((one) => !taken.some((t) => overlaps(t, one)));
    if (!box) return;
    taken.push(box);
    const node = box.node = draw(svg, "text", { x, y: box[1] + size, "font-size": size, "text-anchor": "middle", text }, ...names);
    node.addEventListener("click", () => choose(chosen));
  };
  const sides = new Map(plan.map.rooms.filter((r) => onFloor(r.floor)).map((r) => [r.name, [Math.min(...r.outline.map((p) => p[0])), Math.max(...r.outline.map((p) => p[0]))]]));
  const span = (corners, k) => Math.max(...corners.map((p) => p[k])) - Math.min(...corners.map((p) => p[k]));
  const things = plan.map.things.filter((t) => onFloor(t.floor));
  for (const room of plan.map.rooms.filter((r) => onFloor(r.floor) && r.outline.length > 2)) {
    const [x, y] = innermost(room.outline);
    put(room.name, x, [-y], 15 * unit, sides.get(room.name), { room }, "roomname");
  }
  for (const t of things.filter((t) => plan.lit.things.has(t.id))) put(t.label, t.at[0], [-8, 20, -24, 36].map((d) => -t.at[1] + d * unit), 13 * unit, sides.get(t.room) ?? [], { thing: t }, "litname");
  const first = taken.length;
  for (const t of things.filter((t) => !plan.lit.things.has(t.id)).slice(0, 300)) { // what is small, or thin as a window is: from closer
    const [wide, high] = [0, 1].map((k) => span(t.corners, k)), flat = Math.min(wide, high) < 12 * unit;
    if (widthOf(t.label, 11 * unit) > (flat ? 0.9 : 1.6) * Math.max(wide, high)) continue;
    put(t.label, t.at[0], [0, high / 3, -high / 3].map((d) => -t.at[1] + 4 * unit + d), 11 * unit, sides.get(t.room) ?? [], { thing: t });
  }
  return { rooms: taken.slice(0, first), things: taken.slice(first) };
}

const within = (outline, [x, y]) => outline.filter((a, k) => { // whether an outline is around a point
  const b = outline[(k + 1) % outline.length];
  return (a[1] > y) !== (b[1] > y) && x < a[0] + (y - a[1]) * (b[0] - a[0]) / (b[1] - a[1]);
}).length % 2 === 1;

function innermost(outline) { // the point of a grid that is farthest from the walls, in the outline
  const edges = outline.map((p, k) => [p, outline[(k + 1) % outline.length]]), [xs, ys] = [outline.map((p) => p[0]), outline.map((p) => p[1])];
  const away = (at) => Math.min(...edges.map(([a, b]) => {
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]], t = Math.min(Math.max(((at[0] - a[0]) * dx + (at[1] - a[1]) * dy) / (dx * dx + dy * dy || 1), 0), 1);
    return Math.hypot(a[0] + t * dx - at[0], a[1] + t * dy - at[1]);
  }));
  const [left, low, steps] = [Math.min(...xs), Math.min(...ys), 15];
  let best = [(left + Math.max(...xs)) / 2, (low + Math.max(...ys)) / 2], most = within(outline, best) ? away(best) + 0.2 : 0; // the middle where it is nearly as good
  for (let k = 1; k < steps * steps; k++) {
    const at = [left + (Math.max(...xs) - left) * (k % steps) / steps, low + (Math.max(...ys) - low) * Math.floor(k / steps) / steps];
    if (within(outline, at) && away(at) > most) [best, most] = [at, away(at)];
  }
  return best;
}

function drawWanted() { // where robots ask whether they may go
  const { wanted: layer, unit } = plan.layers;
  if (!layer) return;
  layer.replaceChildren();
  const wanted = (state.permits ?? []).flatMap((one) => one.at.map((at) => ({ one, at })));
  for (const { one, at } of wanted.filter(({ at }) => onFloor(floorOf(at[2])))) {
    const [x, y] = [at[0], -at[1]];
    const node = draw(layer, "circle", { cx: x, cy: y, r: 12 * unit }, "wanted");
    draw(node, "title", { text: `${one.robot} asks: ${one.what}` });
    draw(layer, "text", { x, y: y + 5 * unit, "font-size": 14 * unit, "text-anchor": "middle", text: "?" }, "wantedname");
  }
  plan.layers.asked = [...layer.querySelectorAll("circle")].map((c) => ["cx", "cy", "r"].map((key) => Number(c.getAttribute(key))));
  moveRobots(); // names make room
}

function throughWall(a, b) { // whether a straight way is long and leaves a room where no door is
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]], long = Math.hypot(dx, dy), room = (p) => plan.map.rooms.find((r) => onFloor(r.floor) && within(r.outline, p));
  if (long < 1 || room(a) === room(b)) return false;
  const away = ([x, y]) => { const t = Math.min(Math.max(((x - a[0]) * dx + (y - a[1]) * dy) / long ** 2, 0), 1); return Math.hypot(a[0] + t * dx - x, a[1] + t * dy - y); };
  return !plan.map.ways.some((way) => onFloor(way.floor) && away(way.at) < 0.8);
}

function drawTrails() {
  const layer = plan.layers.trails;
  if (!layer) return;
  layer.replaceChildren();
  for (const [name, points] of Object.entries(plan.trails)) {
    let part = [];
    const end = () => { if (part.length > 1) draw(layer, "polyline", { points: flat(part), stroke: colorOf(name) }, "trail"); part = []; };
    for (const p of points.filter((p) => onFloor(floorOf(p[2] ?? 0)))) {
      if (part.length && throughWall(part[part.length - 1], p)) end(); // how it got there was not heard
      part.push(p);
    }
    end();
  }
}

function takePoses(poses) {
  let longer = false;
  for (const [name, pose] of Object.entries(poses)) {
    const trail = plan.trails[name] ??= [], last = trail[trail.length - 1];
    if (!last || Math.max(...[0, 1, 2].map((k) => Math.abs(last[k] - pose[k]))) >= 0.1) {
      trail.push(pose.slice(0, 3));
      if (trail.length > 400) trail.shift();
      longer = true;
    }
  }
  const floors = JSON.stringify(Object.values(poses).map((p) => floorOf(p[2])));
  const moved = floors !== plan.floors;
  plan.poses = poses;
  plan.floors = floors;
  if (!plan.map) return;
  if (moved) showFloors();
  if (longer && !charted().length) { frame(); return drawMap(); }
  if (longer) drawTrails();
  moveRobots();
}

function beside(x, y, least, marks, spots) { // the place nearest to one that no other marker covers, now or next
  const free = (at, taken) => taken.every((t) => Math.hypot(t[0] - at[0], t[1] - at[1]) >= least);
  for (let ring = 0; ring < 5; ring++) {
    for (let k = 0; k < (ring ? 8 * ring : 1); k++) {
      const turn = ring && k * Math.PI / (4 * ring), at = [x + 1.05 * ring * least * Math.cos(turn), y + 1.05 * ring * least * Math.sin(turn)];
      if (free(at, ring ? [...marks, ...spots] : marks)) return at;
    }
  }
  return [x, y];
}

const overlaps = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];

function nameAt(at, width, size, r, taken) { // above, below or beside a marker: where no other name or marker is
  const places = [[0, -1.5 * r], [0, 1.5 * r + size], [2 * r + width / 2, size / 3], [-2 * r - width / 2, size / 3]];
  for (let far = 1; far < 9; far++) places.push([0, -1.5 * r - far * size], [0, 1.5 * r + (far + 1) * size]);
  const boxes = places.map(([dx, dy]) => [at[0] + dx - width / 2, at[1] + dy - size, at[0] + dx + width / 2, at[1] + dy + 0.25 * size]);
  const k = Math.max(boxes.findIndex((box) => !taken.some((t) => overlaps(t, box))), 0);
  taken.push(boxes[k]);
  return places[k];
}

function moveRobots() { // no robot hides another: of two in one place, one is drawn beside it and tied to where it is
  const { robots: layer, nodes, unit } = plan.layers;
  if (!layer) return;
  const r = 9 * unit, size = 13 * unit, marks = [], here = [];
  const spots = Object.values(plan.poses).filter(([, , z]) => onFloor(floorOf(z))).map(([x, y]) => [x, -y]);
  for (const [name, [x, y, z, yaw]] of Object.entries(plan.poses)) {
    if (!nodes[name]) {
      const node = nodes[name] = draw(layer, "g", {}, "robot"), color = colorOf(name);
      const look = draw(node, "path", { d: `M0,0 L${6 * r},${-3.4 * r} A${6.9 * r},${6.9 * r} 0 0 1 ${6 * r},${3.4 * r} Z`, fill: color }, "view");
      draw(node, "circle", { r, fill: color });
      const nose = draw(node, "path", { d: `M${0.3 * r},${-0.6 * r} L${1.5 * r},0 L${0.3 * r},${0.6 * r} Z`, fill: color });
      node.label = draw(node, "text", { "font-size": size, "text-anchor": "middle", text: name });
      node.tie = draw(node, "line", { x1: 0, y1: 0, stroke: color, "stroke-width": 2 * unit });
      node.turning = [look, nose];
    }
    const node = nodes[name], robot = (state.robots ?? []).find((r) => r.name === name);
    const shown = onFloor(floorOf(z)), at = shown ? beside(x, -y, 2 * r, marks, spots) : [x, -y];
    if (shown) { marks.push(at); here.push(node); node.at = at; }
    node.setAttribute("transform", `translate(${at[0]},${at[1]})`);
    node.tie.setAttribute("x2", x - at[0]);
    node.tie.setAttribute("y2", -y - at[1]);
    for (const part of node.turning) part.setAttribute("transform", `rotate(${-yaw * 180 / Math.PI})`);
    node.classList.toggle("stopped", robot?.stopped === true);
    node.style.display = shown ? "" : "none";
  }
  const dots = [...marks.map(([x, y]) => [x, y, r]), ...plan.layers.asked ?? []].map(([x, y, far]) => [x - far, y - far, x + far, y + far]);
  const named = plan.layers.named.rooms.map((box) => { // a name that a marker would cover stands above it
    let up = 0;
    const there = () => [box[0], box[1] - up, box[2], box[3] - up];
    for (let hit = [box], k = 0; hit.length && k < 5; k++) {
      hit = dots.filter((dot) => overlaps(dot, there()));
      up = Math.max(up, ...hit.map((dot) => box[3] - dot[1] + unit));
    }
    box.node.setAttribute("transform", `translate(0,${-up})`);
    return there();
  });
  const taken = [...named, ...dots];
  for (const { label, at } of here) {
    const [dx, dy] = nameAt(at, widthOf(label.textContent, size), size, r, taken);
    label.setAttribute("x", dx);
    label.setAttribute("y", dy);
  }
  for (const box of plan.layers.named.things) box.node.style.display = taken.some((t) => overlaps(t, box)) ? "none" : ""; // until the robot is past
}

function wholeMap() {
  plan.moved = false;
  plan.view = [...plan.box];
  drawMap();
}

function lightUp(lit) { // evidence of an answer; on the floor where it is
  plan.lit = { things: new Set(lit.things ?? []), rooms: new Set(lit.rooms ?? []), marks: lit.marks ?? [], path: lit.path ?? [], fence: lit.fence ?? null };
  const first = plan.map?.things.find((t) => plan.lit.things.has(t.id))?.floor
    ?? (plan.lit.marks[0] && floorOf(plan.lit.marks[0].at[2])) ?? plan.map?.rooms.find((r) => plan.lit.rooms.has(r.name))?.floor;
  if (first && plan.map.floors.some((f) => f.id === first)) plan.floor = first;
  if (plan.map) { showFloors(); wholeMap(); } // what is lit up is in view
}

function zoom(factor, x, y) {
  const [left, top, width, height] = plan.view, unit = unitOf(), shown = $("plan").getBoundingClientRect();
  const [cx, cy] = [x ?? left + width / 2, y ?? top + height / 2];
  const most = 4 * Math.max(plan.box[2], plan.box[3]);
  if (width * factor > most || unit * factor * shown.width < 0.5) return;
  plan.moved = true;
  plan.view = [cx - (cx - left) * factor, cy - (cy - top) * factor, width * factor, height * factor];
  drawMap();
}

function placeOf(event) { // of the pointer, in the map [m]
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform($("plan").getScreenCTM().inverse());
  return [at.x, -at.y];
}

function drawOutline() {
  const layer = plan.layers.drawing;
  if (!layer) return;
  layer.replaceChildren();
  if (plan.drawing?.length) draw(layer, "polygon", { points: flat(plan.drawing) }, "drawing");
}

{
  const svg = $("plan");
  let held = null;
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [x, y] = placeOf(event);
    zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, x, -y);
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => { held = { x: event.clientX, y: event.clientY, view: [...plan.view], far: false }; });
  svg.addEventListener("pointermove", (event) => {
    if (!held || event.pointerType === "touch" || !event.buttons) return;
    const unit = unitOf(), [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    if (Math.abs(dx) + Math.abs(dy) < 4 && !held.far) return;
    held.far = plan.moved = true;
    plan.view = [held.view[0] - dx * unit, held.view[1] - dy * unit, held.view[2], held.view[3]];
    svg.setAttribute("viewBox", plan.view.join(" "));
  });
  svg.addEventListener("click", (event) => {
    if (held?.far) event.stopPropagation();
    else if (plan.drawing) {
      event.stopPropagation();
      plan.drawing.push(placeOf(event).map((v) => Math.round(v * 100) / 100));
      drawOutline();
    }
  }, true);
  $("closer").addEventListener("click", () => zoom(1 / 1.4));
  $("farther").addEventListener("click", () => zoom(1.4));
  $("whole").addEventListener("click", wholeMap);
  window.addEventListener("resize", drawMap);
}
