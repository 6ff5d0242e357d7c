// Adds to the page what needs no figure of its own: a version highlighted wherever it stands, journeys and
// levels hidden and shown, and guesses before figures. Without it all figures are there.
"use strict";

const all = (selector, of = document) => [...of.querySelectorAll(selector)];
const one = (selector, of = document) => of.querySelector(selector);
const known = new Set(all(".card, tr[id]").map((own) => own.id));

// Rows of tables and names whose first words are a version.
for (const row of all("tbody tr:not([data-version]), table tr:not([data-version])")) {
  const name = row.cells[0]?.textContent.trim();
  if (known.has(name)) row.dataset.version = name;
}

// A version pointed at, or else the one that is kept, is highlighted wherever it stands.
let kept = "";
let hot = "";

function highlight(version) {
  if (version === hot) return;
  for (const other of all(".hot")) other.classList.remove("hot");
  hot = version;
  document.body.classList.toggle("picking", hot !== "");
  if (hot) for (const own of all(`[data-version="${CSS.escape(hot)}"]`)) own.classList.add("hot");
}

function keep(version, inAddress = true) {
  kept = version;
  highlight(kept);
  const box = one("#kept");
  box.hidden = kept === "";
  one("b", box).textContent = kept;
  const title = document.getElementById(kept)?.querySelector("h3, td");
  one("span", box).textContent = title ? title.textContent.replace(kept, "").trim() : "";
  one("a", box).href = `#${known.has(kept) ? kept : "steps"}`;
  if (inAddress) history.replaceState(null, "", kept ? `#${kept}` : location.pathname + location.search);
}

const versionAt = (target) => target.closest?.("[data-version]")?.dataset.version ?? "";

document.addEventListener("pointerover", (event) => highlight(versionAt(event.target) || kept));
document.addEventListener("focusin", (event) => highlight(versionAt(event.target) || kept));
document.addEventListener("click", (event) => {
  const version = versionAt(event.target);
  if (!version || event.target.closest("button, input, label, summary")) return;
  const link = event.target.closest("a");
  if (link) keep(version, false);
  else if (!String(getSelection())) keep(version === kept ? "" : version);
});
document.addEventListener("keydown", (event) => {
  const dot = event.target.closest?.(".dot");
  if (event.key === "Escape") keep("");
  if (dot && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    keep(dot.dataset.version === kept ? "" : dot.dataset.version);
  }
});
one("#kept button").addEventListener("click", () => keep(""));

function fromAddress() {
  const named = decodeURIComponent(location.hash.slice(1));
  const lines = document.getElementById(named);
  if (lines?.matches("details")) lines.open = true;
  if (known.has(named)) keep(named, false);
}
addEventListener("hashchange", fromAddress);

// What is shown: all but the versions and levels whose box is empty.
const boxes = all("#controls [data-versions], #controls [data-shows]");

function show() {
  const empty = boxes.filter((box) => !box.checked);
  const versions = new Set(empty.flatMap((box) => box.dataset.versions?.split(" ") ?? []));
  const levels = new Set(empty.map((box) => box.dataset.shows).filter(Boolean));
  for (const own of all("[data-version], [data-level]")) {
    const { version, level } = own.dataset;
    own.classList.toggle("off", versions.has(version) || levels.has(level));
  }
}
for (const box of boxes) box.addEventListener("change", show);
one("#controls").hidden = false;

// Guesses: a card's figures are hidden until its reader has guessed, or wants them all.
const cards = all(".card[data-ratio]");
const scores = new Map();

function reveal(card, button) {
  card.classList.add("revealed");
  one(".guess", card).hidden = true;
  if (!button) return;
  const ratio = Number(card.dataset.ratio);
  const answers = all("[data-from]", card);
  const holds = ({ dataset }) => ratio >= Number(dataset.from) && !(ratio >= Number(dataset.to ?? Infinity));
  const right = answers.findIndex(holds);
  const points = Math.max(0, 2 - Math.abs(answers.indexOf(button) - right));
  scores.set(card, points);
  const answer = one(".answer", card);
  const change = Math.abs(100 * (ratio - 1)).toFixed(1);
  const said = ["No", "Nearly", "Right"][points];
  answer.textContent =
    `${said}: you said “${button.textContent}”, it takes ${change} % ${ratio < 1 ? "less" : "more"} time. ` +
    `${points} of 2 points.`;
  answer.hidden = false;
  score();
}

function score() {
  const points = [...scores.values()].reduce((sum, own) => sum + own, 0);
  const text = scores.size ? `${points} of ${2 * scores.size} points after ${scores.size} of ${cards.length} guesses` : "";
  one("#score").textContent = text;
  const last = one(".score");
  if (last) {
    last.hidden = scores.size === 0;
    last.textContent = `Your guesses: ${text}.`;
  }
}

function showAll(shown) {
  document.body.classList.toggle("guessing", !shown);
  for (const box of all("[data-all]")) box.checked = shown;
  for (const card of cards) one(".guess", card).hidden = shown || card.classList.contains("revealed");
}

for (const card of cards) {
  for (const button of all(".guess button", card))
    button.addEventListener("click", () => reveal(card, "from" in button.dataset ? button : null));
}
for (const box of all("[data-all]")) box.addEventListener("change", () => showAll(box.checked));
for (const box of all(".guesses")) box.hidden = false;
showAll(cards.length === 0);

// Long lists are folded until they are wanted, and open on paper.
const folded = all("details.lines, details.more");
if (matchMedia("(max-width: 62rem)").matches) folded.push(one("#contents"));
for (const list of folded) list.open = false;
let opened = [];
addEventListener("beforeprint", () => {
  opened = all("main details:not([open])");
  for (const list of opened) list.open = true;
});
addEventListener("afterprint", () => {
  for (const list of opened) list.open = false;
});

fromAddress();
