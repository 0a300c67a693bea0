// Clicks on the picture: this belongs to it, that does not.

const SVG = "http://www.w3.org/2000/svg";

function mark(click, radius) {
  const made = document.createElementNS(SVG, "g");
  const circle = made.appendChild(document.createElementNS(SVG, "circle"));
  circle.setAttribute("cx", click.x);
  circle.setAttribute("cy", click.y);
  circle.setAttribute("r", radius);
  circle.setAttribute("class", click.is_inside ? "inside" : "outside");
  const arm = radius / 2;
  const sign = made.appendChild(document.createElementNS(SVG, "path"));
  const across = `M${click.x - arm} ${click.y}h${2 * arm}`;
  sign.setAttribute("d", click.is_inside ? `${across}M${click.x} ${click.y - arm}v${2 * arm}` : across);
  return made;
}

export class Correcting {
  /** `on` is told of `change` (clicks or the mode). */
  constructor(screen, marks, on) {
    this.screen = screen;
    this.marks = marks;
    this.on = on;
    this.row = null; // the one being corrected
    this.isInside = true;
    this.cross = null; // where the arrow keys are
    screen.addEventListener("pointerdown", (event) => this.#onPointer(event));
    screen.addEventListener("contextmenu", (event) => this.row && event.preventDefault());
    screen.addEventListener("keydown", (event) => this.#onKey(event));
  }

  open(clip) {
    this.clip = clip;
    this.marks.setAttribute("viewBox", `0 0 ${clip.width} ${clip.height}`);
    this.stop();
  }

  start(row, frame) {
    this.row = row;
    this.frame = frame;
    this.added = [];
    this.isInside = !row.isPointed && row.text === "" ? true : this.isInside;
    this.screen.tabIndex = 0;
    this.on.change();
  }

  stop() {
    this.row = null;
    this.cross = null;
    this.added = [];
    this.isInside = true;
    this.screen.removeAttribute("tabindex");
    this.on.change();
  }

  /** Take back what was clicked since `start`. */
  abandon() {
    while (this.added.length) this.#takeBack();
    this.stop();
  }

  undo() {
    this.#takeBack();
    this.on.change();
  }

  setInside(isInside) {
    this.isInside = isInside;
    this.on.change();
  }

  add(x, y, isInside) {
    const frame = this.frame();
    const inside = (value, most) => Math.min(Math.max(value, 0), most - 0.01);
    const click = { x: inside(x, this.clip.width), y: inside(y, this.clip.height), is_inside: isInside };
    this.row.clicks.set(frame, [...(this.row.clicks.get(frame) ?? []), click]);
    this.added.push({ frame, click });
    this.on.change();
  }

  draw(rows, frame) {
    const radius = Math.max(this.clip.width, this.clip.height) / 60;
    const shown = this.row ? [this.row] : rows;
    this.marks.replaceChildren(
      ...shown.flatMap((row) => (row.clicks.get(frame) ?? []).map((click) => mark(click, radius))),
    );
    if (!this.row || !this.cross) return;
    const cross = this.marks.appendChild(document.createElementNS(SVG, "path"));
    cross.setAttribute("class", "cross");
    cross.setAttribute("d", `M0 ${this.cross.y}h${this.clip.width}M${this.cross.x} 0v${this.clip.height}`);
  }

  #takeBack() {
    const last = this.added.pop();
    if (!last) return;
    const left = this.row.clicks.get(last.frame).filter((click) => click !== last.click);
    if (left.length) this.row.clicks.set(last.frame, left);
    else this.row.clicks.delete(last.frame);
  }

  #onPointer(event) {
    if (!this.row) return;
    const box = this.screen.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.clip.width;
    const y = ((event.clientY - box.top) / box.height) * this.clip.height;
    const isOther = event.button === 2 || event.shiftKey;
    this.add(x, y, isOther ? !this.isInside : this.isInside);
  }

  /** Arrow keys move a cross, Enter clicks there. */
  #onKey(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!this.row || !(event.key in moves || event.key === "Enter")) return;
    event.preventDefault();
    event.stopPropagation();
    const { width, height } = this.clip;
    this.cross ??= { x: width / 2, y: height / 2 };
    if (event.key === "Enter") {
      this.add(this.cross.x, this.cross.y, this.isInside);
      return;
    }
    const step = (event.shiftKey ? 0.05 : 0.01) * width;
    const [right, down] = moves[event.key];
    this.cross = {
      x: Math.min(Math.max(this.cross.x + right * step, 0), width - 1),
      y: Math.min(Math.max(this.cross.y + down * step, 0), height - 1),
    };
    this.on.change();
  }
}
