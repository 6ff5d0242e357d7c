// Every dot is what a pointer in its middle points at, and what the keyboard comes to.
const problems = [];
document.querySelector("[data-all]").click();
const dots = [...document.querySelectorAll("figure .dot")];
for (const dot of dots) {
  const name = `${dot.dataset.version} ${dot.dataset.level}`;
  const mark = dot.querySelector("polygon.mark");
  mark.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  const corners = [...mark.points].map((corner) => corner.matrixTransform(mark.getScreenCTM()));
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
  if (!dot.getAttribute("aria-label")) problems.push(`${name}: has no name`);
}
return { problems, dots: dots.length };
