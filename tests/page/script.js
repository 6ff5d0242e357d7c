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

// Figures are there as the page opens; who wants to guess has them hidden, and each card asks.
const cards = all(".card[data-ratio]");
check(cards.length >= 13, `${cards.length} cards ask`);
check(cards.every((card) => shown(one(".figures", card)) && !shown(one(".guess", card))), "figures are hidden");
one("[data-guess]").click();
check(cards.every((card) => !shown(one(".figures", card))), "figures are shown before a guess");
check(shown(one("#v0 .figures")), "what has nothing before it has nothing to guess");
const answers = (card) => all("[data-from]", card);
const holds = (card, { dataset }) => {
  const ratio = Number(card.dataset.ratio);
  return ratio >= Number(dataset.from) && ratio < Number(dataset.to ?? Infinity);
};
const rightOf = (card) => answers(card).findIndex((button) => holds(card, button));
check(cards.every((card) => answers(card).filter((button) => holds(card, button)).length === 1), "answers overlap");
const [first, second, third] = cards;
answers(first)[rightOf(first)].click();
check(shown(one(".figures", first)), "a guess reveals");
check(one(".answer", first).textContent.startsWith("Right"), one(".answer", first).textContent);
const far = rightOf(second) < 2 ? 4 : 0;
answers(second)[far].click();
check(one(".answer", second).textContent.startsWith("No:"), one(".answer", second).textContent);
check(one("#score").textContent.startsWith("2 of 4 points after 2 of"), one("#score").textContent);
one(".skip-guess", third).click();
check(shown(one(".figures", third)), "it can be shown without a guess");
check(one("#score").textContent.startsWith("2 of 4"), "what was not guessed does not count");
one("[data-guess]").click();
check(cards.every((card) => shown(one(".figures", card))), "all can be shown");

// A version pointed at is highlighted wherever it stands, and nothing else.
const kinds = ["figure .dot", "tbody tr", ".stall", ".bar", "article.card"];
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
const dot = one('figure .dot[data-version="v3"]');
key(dot, "Enter");
check(one("#v3").classList.contains("hot") && location.hash === "#v3", "Enter keeps a dot");
check(one("#kept span").textContent === dot.dataset.told, "Enter shows its figures");
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
