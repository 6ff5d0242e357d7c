// Nothing stands beyond the page's right edge, nothing scrolls sideways, and no names of a chart overlap.
const problems = [];
for (const list of document.querySelectorAll("details")) list.open = true;

const root = document.documentElement;
if (!(root.scrollWidth <= innerWidth)) problems.push(`the page is ${root.scrollWidth} wide, not ${innerWidth}`);
let boxes = 0;
for (const own of document.querySelectorAll("body *")) {
  const { width, right, left } = own.getBoundingClientRect();
  if (width === 0) continue;
  boxes += 1;
  const text = `${own.tagName}.${own.getAttribute("class")}: ${own.textContent.trim().slice(0, 50)}`;
  if (!(right <= innerWidth + 1 && left >= -1) && problems.length < 20) problems.push(`from ${left} to ${right}: ${text}`);
  const scrolls = !own.closest("svg") && own.scrollWidth > own.clientWidth + 1 && getComputedStyle(own).overflowX !== "visible";
  if (scrolls && problems.length < 20) problems.push(`scrolls sideways: ${text}`);
}

let names = 0;
const charts = [...document.querySelectorAll("figure svg")];
for (const [at, chart] of charts.entries()) {
  const frame = chart.getBoundingClientRect();
  const texts = [...chart.querySelectorAll("text")].filter((text) => text.textContent.trim());
  names += texts.length;
  const places = texts.map((text) => text.getBoundingClientRect());
  for (const [a, one] of places.entries()) {
    const inside = one.left >= frame.left - 1 && one.right <= frame.right + 1;
    if (!inside) problems.push(`chart ${at}: “${texts[a].textContent}” is cut off`);
    for (let b = a + 1; b < places.length; b += 1) {
      const other = places[b];
      // Boxes of letters have air above and below.
      const air = 0.15 * Math.min(one.height, other.height);
      const apart =
        one.right <= other.left + 0.5 || other.right <= one.left + 0.5 ||
        one.bottom <= other.top + 2 * air || other.bottom <= one.top + 2 * air;
      if (!apart) problems.push(`chart ${at}: “${texts[a].textContent}” and “${texts[b].textContent}” overlap`);
    }
  }
}
return { problems, boxes, names, charts: charts.length };
