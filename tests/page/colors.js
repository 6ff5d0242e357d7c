// The contrast of every text is 4.5 to 1 or more, of large text 3 to 1.
const problems = [];
for (const list of document.querySelectorAll("details")) list.open = true;

const numbers = (color) => {
  const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
  return [r, g, b, a];
};
const over = ([r, g, b, a], under) => [r, g, b].map((part, at) => a * part + (1 - a) * under[at]).concat(1);
const luminance = (color) => {
  const linear = color.slice(0, 3).map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};

function behind(element) {
  const layers = [];
  for (let own = element; own; own = own.parentElement) {
    layers.push(numbers(getComputedStyle(own).backgroundColor));
  }
  return layers.reduceRight((under, layer) => over(layer, under), [255, 255, 255, 1]);
}

let texts = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("title, script")) continue;
  texts += 1;
  const style = getComputedStyle(element);
  const paper = behind(element);
  const inChart = element.closest("svg");
  const ink = over(numbers(inChart ? style.fill : style.color), paper);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const found = contrast(ink, paper);
  if (!(found >= (large ? 3 : 4.5)) && problems.length < 20)
    problems.push(`${found.toFixed(2)} for “${walker.currentNode.data.slice(0, 40)}” in ${element.tagName}.${element.getAttribute("class")}`);
}
return { problems, texts, paper: luminance(behind(document.body)) };
