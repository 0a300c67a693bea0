// The sentences that people type, each with its colour and its clicks.

export function colourText([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}

/** A sentence, or an object that is only pointed at. */
export function newRow(text = "", isPointed = false) {
  return { text, isPointed, isShown: true, clicks: new Map() }; // clicks by frame
}

export class Sentences {
  /** `on` is told of `change` (something else is asked now), `seek` (a frame) and `remove`. */
  constructor(list, on) {
    this.list = list;
    this.on = on;
    this.rows = [];
    this.colours = [];
    this.longest = 200;
    this.most = 8;
  }

  set(rows) {
    this.rows = rows.length ? rows : [newRow()];
    this.render();
  }

  add(row) {
    if (this.rows.length >= this.most) return false;
    this.rows.push(row);
    this.render();
    return true;
  }

  /** What the server is asked: rows with a sentence or a click. */
  asked() {
    const rows = this.rows.filter((row) => row.text.trim() || row.clicks.size);
    return {
      rows,
      sentences: rows.map((row) => row.text.trim()),
      corrections: rows.flatMap((row, expression) =>
        [...row.clicks].map(([frame, clicks]) => ({ frame, expression, clicks })),
      ),
    };
  }

  render() {
    this.list.replaceChildren(...this.rows.map((row, place) => this.#item(row, place)));
  }

  focusLast() {
    this.list.querySelector("li:last-child input")?.focus();
  }

  #item(row, place) {
    const item = document.createElement("li");
    const swatch = item.appendChild(document.createElement("span"));
    swatch.className = "swatch";
    swatch.style.setProperty("--colour", colourText(this.colours[place]));
    if (row.isPointed) {
      const note = item.appendChild(document.createElement("span"));
      note.className = "pointed";
      note.textContent = "what you point at";
    } else {
      const field = item.appendChild(document.createElement("input"));
      field.type = "text";
      field.maxLength = this.longest;
      field.placeholder = place ? "another object" : "the dog on the left";
      field.setAttribute("aria-label", `Sentence ${place + 1}`);
      field.value = row.text;
      field.addEventListener("input", () => {
        row.text = field.value;
        this.on.change();
      });
    }
    const remove = item.appendChild(document.createElement("button"));
    remove.type = "button";
    remove.className = "remove";
    remove.textContent = "×";
    remove.setAttribute("aria-label", `Remove sentence ${place + 1}`);
    remove.hidden = this.rows.length === 1 && !row.isPointed;
    remove.addEventListener("click", () => {
      this.on.remove(row);
      this.set(this.rows.filter((each) => each !== row));
      this.on.change();
    });
    item.appendChild(this.#clicks(row));
    return item;
  }

  #clicks(row) {
    const chips = document.createElement("span");
    chips.className = "clicks";
    for (const [frame, clicks] of [...row.clicks].sort(([a], [b]) => a - b)) {
      const chip = chips.appendChild(document.createElement("button"));
      chip.type = "button";
      chip.textContent = `${clicks.length} ${clicks.length === 1 ? "click" : "clicks"} in frame ${frame + 1} ×`;
      chip.title = "Forget these clicks";
      chip.addEventListener("click", () => {
        row.clicks.delete(frame);
        this.on.seek(frame);
        this.render();
        this.on.change();
      });
    }
    return chips;
  }
}
