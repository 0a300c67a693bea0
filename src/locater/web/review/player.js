// Two clips of one joined video, side by side and in step, however they were joined.

const AHEAD = 16; // frames fetched before they are shown
const MOST_KEPT = 320; // pictures; far more than a clip of A2D has
const SVG = "http://www.w3.org/2000/svg";

/** The element of `sorted` nearest to `place`; undefined where there is none. */
function nearest(sorted, place) {
  let best;
  for (const each of sorted) if (best === undefined || Math.abs(each - place) < Math.abs(best - place)) best = each;
  return best;
}

/** One of the two clips on the page. */
class Screen {
  constructor(half, article) {
    this.half = half;
    this.frame = article.querySelector(".screen");
    this.canvas = article.querySelector("canvas");
    this.svg = article.querySelector("svg");
    this.note = article.querySelector(".note");
    this.casing = this.svg.appendChild(document.createElementNS(SVG, "path"));
    this.line = this.svg.appendChild(document.createElementNS(SVG, "path"));
    this.casing.setAttribute("class", "casing");
    this.line.setAttribute("class", `line ${half}`);
  }

  open(clip) {
    this.clip = clip;
    const { width, height } = clip.box;
    this.canvas.width = width;
    this.canvas.height = height;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.frame.style.setProperty("--shape", width / height);
    this.frame.className = "screen waiting";
    this.outline("", undefined);
    this.note.textContent = "";
  }

  draw(image) {
    const { left, top, width, height } = this.clip.box;
    this.canvas.getContext("2d").drawImage(image, left, top, width, height, 0, 0, width, height);
    this.frame.className = "screen";
  }

  outline(path, isNear) {
    this.casing.setAttribute("d", path);
    this.line.setAttribute("d", path);
    this.svg.classList.toggle("near", Boolean(isNear));
  }
}

export class Player {
  /** `onChange` is told after each change of frame or of playing. */
  constructor(articles, onChange) {
    this.screens = Object.entries(articles).map(([half, article]) => new Screen(half, article));
    this.onChange = onChange;
    this.isPlaying = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.shown = performance.now();
    this.pair = null;
    const turn = (now) => {
      this.#advance(now);
      requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
  }

  open(pair) {
    this.pair = pair;
    this.pictures = new Map(); // by index in the joined video: an image, or null while it is on its way
    this.paths = new Map(); // by half and place
    for (const screen of this.screens) screen.open(pair[screen.half]);
    this.count = Math.min(...this.screens.map((screen) => screen.clip.box.frame_count));
    // Frames worth a jump: those with masks of a clip that does not have them everywhere.
    const sparse = this.screens.filter(
      ({ clip }) => clip.masked.length < clip.box.frame_count - (clip.box.padded_frames ?? 0),
    );
    this.masked = [...new Set(sparse.flatMap((screen) => screen.clip.masked))].sort((a, b) => a - b);
    // Still, a pair is best met where something is outlined.
    this.seek(this.isPlaying ? 0 : (this.masked[0] ?? 0));
  }

  seek(place) {
    this.place = Math.min(Math.max(place, 0), this.count - 1);
    this.#fetchAhead();
    this.#draw();
    this.onChange();
  }

  step(by) {
    this.setPlaying(false);
    this.seek(this.place + by);
  }

  nextMasked() {
    this.setPlaying(false);
    if (this.masked.length) this.seek(this.masked.find((place) => place > this.place) ?? this.masked[0]);
  }

  setPlaying(isPlaying) {
    this.isPlaying = isPlaying;
    this.onChange();
  }

  #advance(now) {
    const step = 1000 / (this.pair?.frames_per_second ?? 1);
    if (!this.pair || !this.isPlaying || now - this.shown < step) return;
    const next = (this.place + 1) % this.count;
    this.#fetchAhead();
    if (!this.#indices(next).every((index) => this.pictures.get(index))) return;
    // From the time when it was due, else a screen's own rate would slow the clip; a pause is not caught up.
    this.shown = Math.max(this.shown + step, now - step);
    this.seek(next);
  }

  #indices(place) {
    return [...new Set(this.screens.map((screen) => screen.clip.box.first_frame + place))];
  }

  #fetchAhead() {
    for (let ahead = 0; ahead < Math.min(AHEAD, this.count); ahead += 1) {
      const place = (this.place + ahead) % this.count;
      for (const index of this.#indices(place)) this.#fetchPicture(index);
      for (const screen of this.screens) this.#fetchPath(screen, nearest(screen.clip.masked, place));
    }
    while (this.pictures.size > MOST_KEPT) this.pictures.delete(this.pictures.keys().next().value);
  }

  async #fetchPicture(index) {
    const { pair, pictures } = this;
    if (pictures.has(index)) return;
    pictures.set(index, null);
    const image = new Image();
    image.src = `frames/${encodeURIComponent(pair.sequence)}/${index}`;
    const arrived = await image.decode().then(() => image, () => "broken");
    pictures.set(index, arrived);
    if (pair === this.pair && this.#indices(this.place).includes(index)) this.#draw();
  }

  async #fetchPath(screen, place) {
    const { pair, paths } = this;
    const key = `${screen.half}/${place}`;
    if (place === undefined || paths.has(key)) return;
    paths.set(key, null);
    const answer = await fetch(`outlines/${encodeURIComponent(pair.sequence)}/${key}`).catch(() => null);
    paths.set(key, answer?.ok ? (await answer.json()).path : "broken");
    if (pair === this.pair) this.#draw();
  }

  #draw() {
    for (const screen of this.screens) {
      const picture = this.pictures.get(screen.clip.box.first_frame + this.place);
      if (picture === "broken") screen.frame.className = "screen broken";
      else if (picture) screen.draw(picture);
      this.#drawOutline(screen);
    }
  }

  #drawOutline(screen) {
    const { masked, box } = screen.clip;
    const place = nearest(masked, this.place);
    const path = this.paths.get(`${screen.half}/${place}`);
    const isNear = place !== this.place;
    if (path !== null) screen.outline(path === "broken" ? "" : (path ?? ""), isNear);
    const notes = [];
    if (place === undefined) notes.push("no mask");
    else if (path === "broken") notes.push(`the mask of frame ${place + 1} cannot be read`);
    else if (isNear) notes.push(`faint: the mask of frame ${place + 1}`);
    if (this.place >= box.frame_count - (box.padded_frames ?? 0)) notes.push("the clip has ended: its last frame is held");
    screen.note.textContent = notes.join(" · ");
  }
}
