// The clip: pictures and masks by frame, fetched ahead, drawn over each other.

const AHEAD = 10; // frames fetched before they are shown
const MOST_PICTURES = 240;
const MOST_MASKS = 90; // half a megabyte each
const TINT = 0.42;

function trim(map, most) {
  while (map.size > most) map.delete(map.keys().next().value);
}

/** A mask picture's bytes: bit n of a pixel says whether it is the n-th sentence's. */
async function readBits(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error("no mask");
  const bitmap = await createImageBitmap(await answer.blob(), { colorSpaceConversion: "none" });
  const canvas = document.createElement("canvas");
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
  const bits = new Uint8Array(bitmap.width * bitmap.height);
  for (let i = 0; i < bits.length; i += 1) bits[i] = data[4 * i];
  return { bits, width: bitmap.width, height: bitmap.height };
}

/** The masks as a picture: tinted inside, a full line along their edges, mixed where they overlap. */
export function tinted({ bits, width, height }, colours, isShown) {
  const picture = new ImageData(width, height);
  const { data } = picture;
  const line = width > 500 ? 2 : 1;
  let shown = 0;
  for (let n = 0; n < colours.length; n += 1) if (isShown(n)) shown |= 1 << n;
  for (let y = 0, i = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, i += 1) {
      const here = bits[i] & shown;
      if (!here) continue;
      // The frame's border is no edge of the object.
      const inner =
        (x < line ? here : bits[i - line]) & (x >= width - line ? here : bits[i + line]) &
        (y < line ? here : bits[i - line * width]) & (y >= height - line ? here : bits[i + line * width]);
      const edge = here & ~inner;
      const mixed = edge || here;
      let red = 0, green = 0, blue = 0, count = 0;
      for (let n = 0; mixed >> n; n += 1) {
        if (!((mixed >> n) & 1)) continue;
        red += colours[n][0];
        green += colours[n][1];
        blue += colours[n][2];
        count += 1;
      }
      data[4 * i] = red / count;
      data[4 * i + 1] = green / count;
      data[4 * i + 2] = blue / count;
      data[4 * i + 3] = edge ? 255 : 255 * TINT;
    }
  }
  return picture;
}

export class Player {
  /** `onChange` is told after each change of frame or of playing. */
  constructor(screen, onChange) {
    this.screen = screen;
    this.picture = screen.querySelector("#picture");
    this.overlay = screen.querySelector("#overlay");
    this.onChange = onChange;
    this.isPlaying = false;
    this.areMasksShown = true;
    this.colours = [];
    this.isShown = () => true;
    this.shownAt = performance.now();
    this.clip = null;
    const turn = (now) => {
      this.#advance(now);
      requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
  }

  open(clip) {
    this.clip = clip;
    this.place = 0;
    this.prepared = 0;
    this.isPrepared = false;
    this.isPlaying = false;
    this.pictures = new Map(); // by index: an image, or null while it is on its way
    this.masks = new Map(); // by run and index
    this.runs = []; // the last that was shown, and the current one
    this.screen.className = "screen waiting";
    this.screen.style.setProperty("--shape", clip.width / clip.height);
  }

  close() {
    this.clip = null;
  }

  /** Frames: as many as the header says until all are read. */
  get count() {
    return Math.max(1, this.isPrepared ? this.prepared : this.clip.frame_count);
  }

  setPrepared(prepared, isPrepared) {
    const isNew = prepared > this.prepared;
    this.prepared = prepared;
    this.isPrepared = isPrepared;
    if (isNew && !this.pictures.get(this.place)) this.seek(this.place);
  }

  setRun(number, count) {
    const last = this.runs.at(-1);
    if (last?.number === number) last.count = count;
    else this.runs = [...this.runs.slice(-1), { number, count }];
    this.#draw();
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

  setPlaying(isPlaying) {
    this.isPlaying = isPlaying;
    this.onChange();
  }

  redraw() {
    this.#draw();
  }

  #advance(now) {
    if (!this.clip || !this.isPlaying) return;
    const step = 1000 / Math.min(this.clip.frames_per_second || 24, 60);
    if (now - this.shownAt < step) return;
    const next = (this.place + 1) % this.count;
    this.#fetchAhead();
    const mask = this.#maskKey(next);
    if (!this.pictures.get(next) || (mask && !this.masks.get(mask))) return;
    // From the time when it was due, else a screen's own rate would slow the clip; a pause is not caught up.
    this.shownAt = Math.max(this.shownAt + step, now - step);
    this.seek(next);
  }

  /** Where a frame's masks are: in the current run as far as it has come, in the one before it behind. */
  #maskKey(index) {
    const run = this.runs.findLast(({ count }) => index < count);
    return run && `${run.number}/${index}`;
  }

  #fetchAhead() {
    for (let ahead = 0; ahead < Math.min(AHEAD, this.count); ahead += 1) {
      const index = (this.place + ahead) % this.count;
      if (index < this.prepared) this.#fetchPicture(index);
      this.#fetchMask(this.#maskKey(index));
    }
    trim(this.pictures, MOST_PICTURES);
    trim(this.masks, MOST_MASKS);
  }

  async #fetchPicture(index) {
    const { clip, pictures } = this;
    if (pictures.has(index)) return;
    pictures.set(index, null);
    const image = new Image();
    image.src = `api/clips/${clip.key}/frames/${index}`;
    const arrived = await image.decode().then(() => image, () => undefined);
    if (arrived) pictures.set(index, arrived);
    else pictures.delete(index);
    if (clip === this.clip && index === this.place) this.#draw();
  }

  async #fetchMask(key) {
    const { clip, masks } = this;
    if (!key || masks.has(key)) return;
    masks.set(key, null);
    const arrived = await readBits(`api/clips/${clip.key}/masks/${key}`).catch(() => undefined);
    if (arrived) masks.set(key, arrived);
    else masks.delete(key);
    if (clip === this.clip && key === this.#maskKey(this.place)) this.#draw();
  }

  #draw() {
    const image = this.clip && this.pictures.get(this.place);
    if (!image) return;
    const key = this.#maskKey(this.place);
    if (key && this.masks.get(key) === undefined) this.#fetchMask(key);
    const mask = key && this.areMasksShown ? this.masks.get(key) : undefined;
    if (mask === null) return; // on its way: a picture is never shown with another frame's mask
    this.picture.width = image.naturalWidth;
    this.picture.height = image.naturalHeight;
    this.picture.getContext("2d").drawImage(image, 0, 0);
    this.screen.classList.remove("waiting");
    this.overlay.width = mask?.width ?? 1;
    this.overlay.height = mask?.height ?? 1;
    if (mask) this.overlay.getContext("2d").putImageData(tinted(mask, this.colours, this.isShown), 0, 0);
    this.screen.dataset.mask = mask ? key : "";
  }
}
