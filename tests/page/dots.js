// Every dot is what a pointer in the middle of its part points at; focus and a tap show its figures.
const problems = [];
for (const list of document.querySelectorAll("details")) list.open = true;
const box = document.querySelector("#kept");
const dots = [...document.querySelectorAll("figure .dot")];
for (const dot of dots) {
  const name = `${dot.dataset.version} ${dot.dataset.level}`;
  const part = dot.querySelector("polygon.hit");
  part.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  const corners = [...part.points].map((corner) => corner.matrixTransform(part.getScreenCTM()));
  const mean = (of) => corners.reduce((sum, corner) => sum + of(corner), 0) / corners.length;
  const pointed = document.elementFromPoint(mean(({ x }) => x), mean(({ y }) => y));
  const hit = pointed?.closest(".dot");
  if (hit !== dot) {
    const other = hit ? `${hit.dataset.version} ${hit.dataset.level}` : pointed?.tagName;
    problems.push(`${name}: a pointer finds ${other}`);
  }
  dot.focus({ preventScroll: true });
  if (!(dot.tabIndex >= 0 && document.activeElement === dot)) problems.push(`${name}: no focus`);
  if (!dot.classList.contains("hot")) problems.push(`${name}: focus does not highlight it`);
  const told = dot.getAttribute("aria-label");
  if (!(box.checkVisibility() && box.textContent.includes(told))) problems.push(`${name}: focus shows “${box.textContent}”`);
  dot.blur();
  dot.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  if (!box.textContent.includes(told)) problems.push(`${name}: a tap shows “${box.textContent}”`);
  box.querySelector("button").click();
  if (!told) problems.push(`${name}: has no name`);
}
for (const bar of document.querySelectorAll("[data-told]:not(.dot)")) {
  bar.focus({ preventScroll: true });
  if (!box.textContent.includes(bar.dataset.told)) problems.push(`${bar.dataset.told} is not shown`);
}
return { problems, dots: dots.length };
