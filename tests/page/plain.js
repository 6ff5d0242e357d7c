// Without the page's script all figures are there, what is folded opens, and nothing that would not work is shown.
const problems = [];
const shown = (element) => element.checkVisibility() && element.getClientRects().length > 0;
const all = (selector) => [...document.querySelectorAll(selector)];
if (!all(".figures, #results table, #kernel svg, .bar").every(shown)) problems.push("figures are hidden as the page opens");
for (const list of all("details")) list.open = true;
for (const own of all(".figures, table, figure svg, .stall, .bar, details > *"))
  if (!shown(own)) problems.push(`${own.tagName}.${own.getAttribute("class")} is hidden: ${own.textContent.slice(0, 40)}`);
for (const own of all("button, input, output, fieldset, #kept"))
  if (shown(own)) problems.push(`${own.tagName}.${own.className} is shown`);
for (const link of all('a[href^="#"]'))
  if (!document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1))))
    problems.push(`${link.getAttribute("href")} leads nowhere`);
return { problems, cards: all(".card").length, tables: all("table").length };
