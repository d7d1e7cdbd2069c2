// Fences: where robots may be and what they keep out of, as the nodes that move them enforce it.
"use strict";

const here = (piece) => !piece.floors.length || !plan.map.floors.length || piece.floors.includes(plan.floor);
const around = (rings) => rings.map((ring) => `M${ring.map(([x, y]) => `${x},${-y}`).join(" L")} Z`).join(" ");

function hatch(svg, unit) { // lines that are as far apart at every scale
  const defs = draw(svg, "defs", {}), size = 9 * unit;
  const pattern = draw(defs, "pattern", { id: "hatch", patternUnits: "userSpaceOnUse", width: size, height: size, patternTransform: "rotate(45)" });
  draw(pattern, "rect", { width: 1.6 * unit, height: size, "fill-opacity": 0.4 }, "hatched");
}

function drawFences(svg, unit) {
  if (!plan.map.fences.length) return;
  hatch(svg, unit);
  plan.map.fences.forEach((fence, k) => {
    const pieces = fence.pieces.filter(here);
    if (!fence.keep_out && !pieces.length) { // all of this floor is out of bounds for them
      for (const room of plan.map.rooms.filter((r) => onFloor(r.floor) && r.outline.length > 2)) draw(svg, "polygon", { points: flat(room.outline), fill: "url(#hatch)" }, "closed");
    }
    for (const piece of pieces.filter((p) => p.rings.length)) {
      const node = draw(svg, "path", { d: around(piece.rings), fill: fence.keep_out ? "url(#hatch)" : "none", "fill-rule": "evenodd" }, "fence", fence.keep_out && "out", plan.lit.fence === k && "lit");
      draw(node, "title", { text: `${fence.whose}: ${fence.text}` });
    }
  });
}

function showFences(map) {
  const place = $("fences"), count = map.fences.length;
  place.hidden = !count && !map.held.length;
  const parts = count ? [`${count} ${count === 1 ? "fence" : "fences"}`] : [];
  if (map.held.length) parts.push(`${map.held.map((h) => h.robot).join(", ")} must not move`);
  place.querySelector("summary").textContent = parts.join("; ");
  place.querySelector("ul").replaceChildren(
    ...map.held.map((h) => make("li", `${h.robot} must not move: ${h.why}`, "error")),
    ...map.fences.map((fence, k) => {
      const line = make("li", `${fence.whose}: ${fence.text} `), floor = fence.pieces[0]?.floors[0];
      if (fence.pieces.length) line.append(button("Show", () => { if (floor) plan.floor = floor; lightUp({ fence: k }); }));
      return line;
    }));
}
