// Pictures of what an answer rests on, beside it, once somebody wants them. Part of console.js.
"use strict";

const KEPT = 5; // answers whose pictures a page keeps
const pictures = new Map(); // answer -> its pictures, the latest answer last

function pictureRow(talk) {
  const row = make("div", undefined, "pictures");
  row.dataset.talk = talk.id;
  row.append(...(pictures.get(talk.id) ?? []).map(pictureNode));
  return row;
}

function pictureNode(one) {
  const node = make("figure"), image = make("img");
  image.src = `data:image/jpeg;base64,${one.jpeg}`;
  image.alt = `Picture of ${one.of}`;
  node.append(image, make("figcaption", one.by ? `${one.of}, by ${one.by}` : one.of));
  return node;
}

function pictureButton(talk) { // works for viewers, too
  const lit = talk.answer.lit ?? {};
  if (!state.team?.can.pictures || !(lit.things?.length || lit.marks?.length || talk.answer.frames?.length)) return [];
  const node = button("Pictures", () => {
    node.disabled = true;
    pictures.delete(talk.id);
    pictures.set(talk.id, []);
    if (pictures.size > KEPT) pictures.delete(pictures.keys().next().value);
    showRow(talk.id);
    command("pictures", { talk: talk.id }, (told) => { node.disabled = false; if (told.text) note(told.text, !told.done); });
  });
  return [node];
}

const showRow = (id) => {
  for (const row of document.querySelectorAll(".pictures")) if (row.dataset.talk === id) row.replaceChildren(...(pictures.get(id) ?? []).map(pictureNode));
};

function takeEvidence(news) {
  pictures.get(news.talk)?.push(news);
  showRow(news.talk);
}
