// A sentence over time: its score as a line, its area as hills, its words by how much they mattered.

const INK = "#ffffff";

function css([red, green, blue], alpha = 1) {
  return `rgb(${red} ${green} ${blue} / ${alpha})`;
}

/** One sentence's graph on a canvas. */
export function drawGraph(canvas, { colour, scores, areas, count, place, corrected }) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (!width) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const x = (index) => ((index + 0.5) / count) * width;
  const known = scores.length;
  if (known) {
    const largest = Math.max(...areas, 1);
    pen.beginPath();
    const top = (index) => height - (height - 12) * (areas[index] / largest);
    pen.moveTo(0, height);
    pen.lineTo(0, top(0));
    for (let index = 0; index < known; index += 1) pen.lineTo(x(index), top(index));
    pen.lineTo((known / count) * width, top(known - 1));
    pen.lineTo((known / count) * width, height);
    pen.closePath();
    pen.fillStyle = css(colour, 0.5);
    pen.fill();
    pen.beginPath();
    for (let index = 0; index < known; index += 1) pen.lineTo(x(index), 4 + (height - 8) * (1 - scores[index] / 100));
    pen.strokeStyle = INK;
    pen.lineWidth = 1.6;
    pen.lineJoin = "round";
    pen.stroke();
  }
  if (known < count) {
    const from = (known / count) * width;
    pen.save();
    pen.beginPath();
    pen.rect(from, 0, width - from, height);
    pen.clip();
    pen.strokeStyle = "rgb(255 255 255 / .1)";
    pen.lineWidth = 3;
    pen.beginPath();
    for (let at = from - height; at < width; at += 10) {
      pen.moveTo(at, height);
      pen.lineTo(at + height, 0);
    }
    pen.stroke();
    pen.restore();
  }
  pen.fillStyle = INK;
  for (const index of corrected) {
    pen.beginPath();
    pen.arc(x(index), 5, 3.5, 0, 2 * Math.PI);
    pen.fill();
  }
  pen.strokeStyle = css(colour);
  pen.fillStyle = css(colour);
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(x(place), 0);
  pen.lineTo(x(place), height);
  pen.stroke();
}

/** The words, tinted by their share of the largest weight; plain text where nothing is known yet. */
export function wordSpans(text, words) {
  if (!words?.length) return [document.createTextNode(text)];
  const largest = Math.max(...words.map(([, weight]) => weight), 1);
  return words.flatMap(([word, weight]) => {
    const span = document.createElement("span");
    span.textContent = word;
    span.style.setProperty("--weight", weight / largest);
    span.title = `${weight} % of the attention to words`;
    return [span, document.createTextNode(" ")];
  });
}
