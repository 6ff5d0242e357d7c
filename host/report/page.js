// Adds to the page what needs no figure of its own: a version highlighted wherever it stands, the figures of
// what is pointed at, journeys hidden and shown, and guesses before figures. Without it all figures are there.
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

// The box below tells the figures of what is pointed at, or which version is kept.
function tell(told = "") {
  const box = one("#kept");
  box.hidden = !told && kept === "";
  one("b", box).textContent = told ? "" : kept;
  const title = kept && document.getElementById(kept)?.querySelector("h3, td");
  one("span", box).textContent = told || (title ? title.textContent.replace(kept, "").trim() : "");
  one("a", box).href = `#${known.has(kept) ? kept : "steps"}`;
  one("a", box).hidden = one("button", box).hidden = kept === "";
}

function keep(version, inAddress = true, told = "") {
  kept = version;
  highlight(kept);
  tell(told);
  if (inAddress) history.replaceState(null, "", kept ? `#${kept}` : location.pathname + location.search);
}

const toldAt = (target) => target.closest?.("[data-told]")?.dataset.told ?? "";

const versionAt = (target) => target.closest?.("[data-version]")?.dataset.version ?? "";

for (const kind of ["pointerover", "focusin"])
  document.addEventListener(kind, ({ target }) => {
    if (target.closest?.("#kept")) return;
    highlight(versionAt(target) || kept);
    tell(toldAt(target));
  });
document.addEventListener("click", (event) => {
  const version = versionAt(event.target);
  if (!version || event.target.closest("button, input, label, summary")) return;
  const link = event.target.closest("a");
  const told = toldAt(event.target);
  if (link) keep(version, false);
  else if (!String(getSelection())) keep(version === kept ? "" : version, true, told);
});
document.addEventListener("keydown", (event) => {
  const own = event.target.closest?.("[data-told]");
  if (event.key === "Escape") keep("");
  if (own && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    keep(versionAt(own) === kept ? "" : versionAt(own), true, own.dataset.told);
  }
});
one("#kept button").addEventListener("click", () => keep(""));

function fromAddress() {
  const named = decodeURIComponent(location.hash.slice(1));
  for (let own = document.getElementById(named); own; own = own.parentElement) {
    if (own.matches("details")) own.open = true;
  }
  if (known.has(named)) keep(named, false);
}
addEventListener("hashchange", fromAddress);

// What is shown: all but the journeys whose box is empty.
const boxes = all("#controls [data-versions]");

function show() {
  const empty = boxes.filter((box) => !box.checked);
  const versions = new Set(empty.flatMap((box) => box.dataset.versions.split(" ")));
  for (const own of all("[data-version]")) own.classList.toggle("off", versions.has(own.dataset.version));
}
for (const box of boxes) box.addEventListener("change", show);
one("#controls").hidden = false;

// Guesses, for who wants them: a card's figures are hidden until its reader has guessed.
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
  one("#score").textContent = `${points} of ${2 * scores.size} points after ${scores.size} of ${cards.length} guesses`;
}

function guess(wanted) {
  document.body.classList.toggle("guessing", wanted);
  for (const card of cards) one(".guess", card).hidden = !wanted || card.classList.contains("revealed");
}

for (const card of cards) {
  for (const button of all(".guess button", card))
    button.addEventListener("click", () => reveal(card, "from" in button.dataset ? button : null));
}
one("[data-guess]").addEventListener("change", (event) => guess(event.target.checked));
for (const box of all(".guesses")) box.hidden = cards.length === 0;

// On a phone the contents are folded.
if (matchMedia("(max-width: 62rem)").matches) one("#contents").open = false;

fromAddress();
