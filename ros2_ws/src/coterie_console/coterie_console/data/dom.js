// Elements of a page. Whatever comes from robots, models, maps and people is set as text, never as markup.
"use strict";

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function make(name, text, ...names) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (names.length) node.classList.add(...names.filter(Boolean));
  return node;
}

function draw(parent, name, values, ...names) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(values)) {
    if (key === "text") node.textContent = value;
    else node.setAttribute(key, value);
  }
  node.classList.add(...names.filter(Boolean));
  parent.append(node);
  return node;
}
