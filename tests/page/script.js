// What the script adds.
const problems = [];
let checks = 0;
const check = (holds, what) => {
  checks += 1;
  if (!holds) problems.push(what);
};
const all = (selector, of = document) => [...of.querySelectorAll(selector)];
const one = (selector, of = document) => of.querySelector(selector);
const point = (at) => at.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
const shown = (element) => element.checkVisibility() && element.getClientRects().length > 0;
const key = (at, name) => at.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));

// A version pointed at is highlighted wherever it stands, and nothing else.
const kinds = ["tbody tr", ".stall", ".bar", "article.card"];
for (const list of all("details")) list.open = true;
for (const kind of kinds) {
  const own = all(`${kind}[data-version]`).find((found) => !found.dataset.version.startsWith("cpu:"));
  check(own, `no ${kind} is of a version`);
  if (!own) continue;
  const { version } = own.dataset;
  point(document.body);
  check(all(".hot").length === 0, `${kind}: something stays highlighted`);
  point(own.firstElementChild ?? own);
  const [hot, meant] = [all(".hot"), all(`[data-version="${version}"]`)];
  check(hot.length === meant.length && hot.every((lit) => lit.dataset.version === version), `${kind}: ${hot.length} of ${meant.length}`);
}
for (const kind of kinds) {
  check(one(`${kind}[data-version="v4"]`), `v4 has no ${kind}`);
}

// One that is clicked stays, with its address; Escape lets go.
const row = one('tbody tr[data-version="v4"]');
row.cells[1].click();
point(document.body);
check(row.classList.contains("hot"), "a clicked version stays");
check(location.hash === "#v4", `address ${location.hash}`);
check(shown(one("#kept")) && one("#kept b").textContent === "v4", "it says which");
key(document.body, "Escape");
check(all(".hot").length === 0 && !shown(one("#kept")) && location.hash === "", "Escape lets go");
const bar = one('.stall[data-version="v3"] [data-told]');
bar.focus({ preventScroll: true });
check(one("#kept span").textContent === bar.dataset.told, "focus shows a bar's figures");
key(bar, "Enter");
check(one("#v3").classList.contains("hot") && location.hash === "#v3", "Enter keeps a bar's version");
key(document.body, "Escape");
location.hash = "#v8";
await new Promise((done) => setTimeout(done, 100));
check(one("#v8").classList.contains("hot"), "an address keeps its version");
key(document.body, "Escape");

// Journeys.
const past = all("[data-versions]").find((box) => box.dataset.versions.split(" ").includes("v13"));
past.click();
for (const list of all("details")) list.open = true;
check(all('[data-version="v13"], [data-version="v9"]').every((own) => !shown(own)), "a journey is hidden");
check(shown(one("#v8")), "another stays");
past.click();
check(shown(one("#v13")), "and comes back");

// The address of what is folded opens it.
for (const list of all("details")) list.open = false;
location.hash = "#operations";
await new Promise((done) => setTimeout(done, 100));
check(shown(one("#operations table")), "an address opens what it names");
return { problems, checks };
