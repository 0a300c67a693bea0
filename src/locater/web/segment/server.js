// What the page asks of its server.

import { asking } from "./ask.js";

const SILENT = "The server does not answer; is “locater web” still running?";

/** A JSON answer; with a body it is sent as JSON. */
export const ask = asking(SILENT);

/** Sends a file as it is; `onProgress` hears the part that is there, `onStart` gets what ends it. */
export function upload(file, onProgress, onStart) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "api/clips");
    request.responseType = "json";
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.upload.addEventListener("progress", (event) => onProgress(event.loaded / Math.max(event.total, 1)));
    request.addEventListener("load", () => {
      if (request.status === 200) resolve(request.response);
      else reject(new Error(request.response?.error ?? `The server answered ${request.status}.`));
    });
    request.addEventListener("error", () => reject(new Error(SILENT)));
    request.addEventListener("abort", () => resolve(null));
    onStart(() => request.abort());
    request.send(file);
  });
}

/** News of a clip for as long as somebody looks at the tab: browsers give all tabs of a site six connections. */
export class Listener {
  constructor(key, onNews, onGone, onTrouble) {
    this.path = `api/clips/${key}`;
    this.handlers = { onNews, onGone, onTrouble };
    this.onVisible = () => this.#open();
    document.addEventListener("visibilitychange", this.onVisible);
    this.keeping = setInterval(() => document.hidden && fetch(this.path).catch(() => {}), 30_000);
    this.#open();
  }

  close() {
    document.removeEventListener("visibilitychange", this.onVisible);
    clearInterval(this.keeping);
    this.source?.close();
  }

  #open() {
    this.source?.close();
    if (document.hidden) return;
    this.source = new EventSource(`${this.path}/events`);
    this.source.addEventListener("message", (event) => this.handlers.onNews(JSON.parse(event.data)));
    this.source.addEventListener("error", () => this.#check());
  }

  async #check() {
    try {
      await ask(this.path);
    } catch (error) {
      if (error.status === 404) this.handlers.onGone(error);
      else this.handlers.onTrouble(error);
    }
    if (this.source.readyState === EventSource.CLOSED) setTimeout(() => this.#open(), 3000);
  }
}
