// Why: the chain from words to motor. Part of console.js; texts are data.
"use strict";

let whyAsked = "", whyShown = "", whySoon = 0;
let whyOpen = false; // what is shown names something that was not known yet
const whyBefore = []; // what was looked at on the way here

function whyButton(what, text = "Why?") { // works for viewers, too: nothing is changed
  const node = button(text, (event) => { whyBefore.length = 0; askWhy(what, event.currentTarget.closest("section")); }, "why");
  node.title = `./coterie why ${what}`;
  return node;
}

function whyOf(id) { // where nothing is kept on this computer: the command for where it is
  return state.team?.can.why ? whyButton(id) : make("code", `./coterie why ${id}`);
}

function askWhy(what, beside) {
  const place = $("why");
  whyAsked = what;
  whyShown = "";
  whyOpen = false;
  if (beside && beside !== place) beside.after(place);
  place.hidden = false;
  place.replaceChildren(make("h2", "Why"), make("p", "reading what is kept …", "working"), whyEnd());
  place.scrollIntoView({ block: "nearest" });
  command("why", { what }, (told) => {
    if (!told.done && whyAsked === what) place.replaceChildren(make("h2", "Why"), make("p", told.text, "failed"), whyEnd());
  });
}

function freshenWhy() { // something was logged: what was not known may be now
  if (!whyAsked || !whyOpen || whySoon) return;
  whySoon = setTimeout(() => {
    whySoon = 0;
    if (whyAsked && whyOpen) command("why", { what: whyAsked }, () => {});
  }, 1500);
}

function whyEnd() {
  const line = buttons();
  if (whyBefore.length) line.append(button("Back", () => askWhy(whyBefore.pop())));
  line.append(button("Close", () => { whyAsked = ""; $("why").hidden = true; }));
  return line;
}

function takeWhy(told) {
  if (told.asked !== whyAsked) return;
  const chain = make("ol");
  chain.append(...told.steps.map((step) => {
    const line = make("li", undefined, step.asked_for && "asked"), head = make("p"), at = new Date(step.at);
    if (!Number.isNaN(at.getTime())) head.append(make("time", clock(at.getTime() / 1000)), " ");
    head.append(step.text);
    if (step.id && !step.asked_for) head.append(" ", button("deeper", () => { whyBefore.push(told.asked); askWhy(step.id); }, "deeper"));
    line.append(head, ...step.details.map((text) => make("p", text, "soft")));
    return line;
  }));
  $("why").replaceChildren(make("h2", "Why"), make("p", told.title, "words"), chain, ...told.gaps.map((text) => make("p", `Not known: ${text}`, "soft")), whyEnd());
  whyOpen = told.gaps.length > 0;
  if (whyShown !== told.asked) $("why").scrollIntoView({ block: "nearest" });
  whyShown = told.asked;
}
