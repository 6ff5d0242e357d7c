// Adds to the page what needs no figure of its own: a version highlighted wherever it stands, the figures of
// what is pointed at, and journeys hidden and shown. Without it all figures are there.
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

// On a phone the contents are folded.
if (matchMedia("(max-width: 62rem)").matches) one("#contents").open = false;

fromAddress();
