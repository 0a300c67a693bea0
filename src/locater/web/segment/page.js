// The page: which screen is shown, what was asked, how far it has come, what can be taken away.

import { Correcting } from "./correcting.js";
import { Player } from "./player.js";
import { Sentences, colourText, newRow } from "./sentences.js";
import { Listener, ask, upload } from "./server.js";
import { drawGraph, wordSpans } from "./timeline.js";

const find = (id) => document.getElementById(id);
const player = new Player(find("screen"), showPlace);
const sentences = new Sentences(find("rows"), { change: showAsk, seek: (frame) => player.seek(frame), remove: stopIf });
const correcting = new Correcting(find("screen"), find("marks"), { change: showCorrecting });

let page; // limits, colours, formats
let clip = null;
let listener = null;
let stopUpload = null;
let run = null; // the last news of the current run
let frames = { scores: [], areas: [] }; // of the current run
let shown = { sentences: [], corrections: [] }; // the rows that the current run answers
let isFollowing = false; // the newest mask is shown as it comes
let insisted = null; // what was asked and not understood; asked once more, it is done anyway
let began = null; // when the first mask came, for the speed
const wanted = new Set(); // formats to save when they are ready

// ---- Telling ---------------------------------------------------------------------------------------------------------

function alarm(message) {
  find("alert").querySelector("p").textContent = message ?? "";
  find("alert").hidden = !message;
}
find("alert").querySelector("button").addEventListener("click", () => alarm());

/** What `work` does; what goes wrong is told. */
async function trying(work) {
  try {
    alarm();
    return await work();
  } catch (error) {
    alarm(error.message);
    return undefined;
  }
}

const isRunning = () => run !== null && !["done", "cancelled", "failed"].includes(run.status);

// ---- Opening ---------------------------------------------------------------------------------------------------------

function showStart() {
  listener?.close();
  listener = clip = run = null;
  player.close();
  history.replaceState(null, "", location.pathname);
  find("start").hidden = false;
  find("studio").hidden = true;
  find("new").hidden = true;
  find("uploading").hidden = true;
  find("about").textContent = "Say what you mean, and it is marked in every frame.";
  document.title = "Locater";
  if (page) showLimits();
}

function showLimits() {
  const { seconds, megabytes, megapixels } = page.limits;
  const length = seconds < 120 ? `${Math.round(seconds)} seconds` : `${Math.round(seconds / 60)} minutes`;
  find("limits").textContent =
    `Up to ${length}, ${megabytes} MB and ${megapixels} megapixels a frame, in any format that FFmpeg reads.`;
}

function openClip(opened, texts) {
  clip = opened;
  run = null;
  frames = { scores: [], areas: [] };
  shown = { sentences: [], corrections: [], rows: [] };
  wanted.clear();
  player.open(clip);
  correcting.open(clip);
  sentences.set(texts.map((text) => newRow(text)));
  history.replaceState(null, "", `#${clip.key}`);
  find("start").hidden = true;
  find("studio").hidden = false;
  find("new").hidden = false;
  const length = clip.duration >= 60 ? `${Math.round(clip.duration / 6) / 10} min` : `${clip.duration.toFixed(1)} s`;
  find("about").textContent = `${clip.name} · ${clip.width} × ${clip.height} · ${length}`;
  document.title = `${clip.name} · Locater`;
  listener = new Listener(clip.key, onNews, onGone, (error) => alarm(error.message));
  showAsk();
  showLines();
  showPlace();
  if (!matchMedia("(pointer: coarse)").matches) sentences.focusLast();
}

function onGone(error) {
  showStart();
  alarm(error.message);
}

async function send(file) {
  if (!file || stopUpload) return;
  if (file.size > page.limits.megabytes * 2 ** 20) {
    alarm(`${file.name} has ${Math.ceil(file.size / 2 ** 20)} MB; this page takes up to ${page.limits.megabytes}. Cut it first.`);
    return;
  }
  find("uploading").hidden = false;
  const tell = (part) => {
    find("upload-bar").value = part;
    find("upload-text").textContent =
      part < 1 ? `Uploading ${file.name}: ${Math.round(100 * part)} %` : `Reading ${file.name}…`;
  };
  tell(0);
  const opened = await trying(() => upload(file, tell, (stop) => (stopUpload = stop)));
  stopUpload = null;
  find("uploading").hidden = true;
  if (opened) openClip(opened, []);
}

find("file").addEventListener("change", () => {
  send(find("file").files[0]);
  find("file").value = "";
});
find("upload-cancel").addEventListener("click", () => stopUpload?.());
find("example").addEventListener("click", () =>
  trying(async () => openClip(await ask("api/example", {}), page.example)),
);
find("new").addEventListener("click", () => {
  ask(`api/clips/${clip.key}/close`, {}).catch(() => {});
  showStart();
});
for (const kind of ["dragenter", "dragover"])
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    find("drop").classList.add("over");
  });
for (const kind of ["dragleave", "drop"])
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    if (kind === "drop" || event.relatedTarget === null) find("drop").classList.remove("over");
  });
document.addEventListener("drop", (event) => {
  if (!find("start").hidden) send(event.dataTransfer.files[0]);
});
addEventListener("pagehide", () => clip && navigator.sendBeacon(`api/clips/${clip.key}/leave`));

// ---- News ------------------------------------------------------------------------------------------------------------

function onNews(news) {
  const { state } = news;
  if (state?.run && state.run.number !== run?.number) {
    frames = { scores: [], areas: [] };
    began = null;
    if (!shown.rows?.length || shown.number !== state.run.number) restore(state.run);
  }
  if (state) {
    run = state.run;
    player.setPrepared(state.prepared, state.is_prepared);
    if (state.problem) alarm(state.problem);
    showExports(state.exports);
  }
  if (news.frames && news.frames.run === run.number) {
    began ??= { at: performance.now(), count: news.frames.first + news.frames.scores.length };
    for (const name of ["scores", "areas"]) frames[name].splice(news.frames.first, Infinity, ...news.frames[name]);
    player.setRun(run.number, frames.scores.length);
    if (isFollowing) player.seek(frames.scores.length - 1);
  }
  if (run?.number === shown.number && !isRunning()) isFollowing = false;
  if (state) {
    showAsk();
    showLines();
  } else drawLines();
}

/** The rows of a run that began before this page did, after a reload. */
function restore(found) {
  const rows = found.sentences.map((text) => newRow(text, text === ""));
  for (const { frame, expression, clicks } of found.corrections) rows[expression].clicks.set(frame, clicks);
  sentences.set(rows);
  remember(found.number, rows, sentences.asked());
}

function remember(number, rows, asked) {
  shown = { number, rows: [...rows], asked: JSON.stringify([asked.sentences, asked.corrections]) };
  player.colours = rows.map((row) => page.colours[sentences.rows.indexOf(row)] ?? page.colours[0]);
  player.isShown = (place) => rows[place].isShown;
}

// ---- Asking ----------------------------------------------------------------------------------------------------------

function isNew() {
  const asked = sentences.asked();
  return JSON.stringify([asked.sentences, asked.corrections]) !== shown.asked;
}

async function segment() {
  const asked = sentences.asked();
  if (!asked.rows.length) {
    alarm("Type a sentence first, or point at what you mean.");
    return;
  }
  correcting.stop();
  sentences.set(asked.rows);
  await trying(async () => {
    const { sentences: texts, corrections } = asked;
    const text = JSON.stringify(texts);
    const body = { sentences: texts, corrections, anyway: text === insisted };
    const { number } = await ask(`api/clips/${clip.key}/runs`, body).catch((error) => {
      if (error.status === 409) insisted = text;
      showAsk();
      throw error;
    });
    if (shown.number !== number) remember(number, asked.rows, asked); // else the news of it came first
    wanted.clear();
    isFollowing = true;
    player.setPlaying(false);
    if (innerWidth <= 900) find("screen").scrollIntoView({ block: "nearest" });
  });
}

find("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  segment();
});
find("add").addEventListener("click", () => {
  if (sentences.add(newRow())) sentences.focusLast();
  showAsk();
});
find("point").addEventListener("click", () => {
  const blank = sentences.rows.findIndex((row) => !row.text.trim() && !row.clicks.size);
  const row = newRow("", true);
  if (blank >= 0) sentences.set(sentences.rows.with(blank, row));
  else if (!sentences.add(row)) return;
  player.setPlaying(false);
  isFollowing = false;
  correcting.start(row, () => player.place);
});
find("cancel").addEventListener("click", () => trying(() => ask(`api/clips/${clip.key}/cancel`, {})));

function stopIf(row) {
  if (correcting.row === row) correcting.stop();
}

function statusText() {
  if (run === null) return "";
  const total = player.count;
  const done = frames.scores.length;
  if (run.status === "waiting") return run.ahead ? `Waiting: ${run.ahead} before you.` : "Waiting for a turn…";
  if (run.status === "looking" && run.corrections.length && run.looked > 0.9 * total) return "Following your clicks through the clip…";
  if (run.status === "looking") return `Looking at the whole clip: ${Math.min(99, Math.round((100 * run.looked) / total))} %`;
  if (run.status === "segmenting") {
    const seconds = began ? (performance.now() - began.at) / 1000 : 0;
    const rate = began && done > began.count ? (done - began.count) / seconds : 0;
    const left = rate ? ` · ${Math.ceil((total - done) / rate)} s left` : "";
    return `Frame ${done} of ${total}${rate ? ` · ${rate.toFixed(1)} frames/s` : ""}${left}`;
  }
  if (run.status === "failed") return run.message;
  if (run.status === "cancelled") return done ? `Cancelled; ${done} frames are marked.` : "Cancelled.";
  return shown.rows?.some((row) => row.clicks.size) ? `✓ ${done} frames, corrected.` : `✓ ${done} frames.`;
}

function showAsk() {
  const running = isRunning();
  const isInsisted = JSON.stringify(sentences.asked().sentences) === insisted && isNew();
  find("segment").textContent = isInsisted ? "Segment anyway" : run === null ? "Segment" : "Segment again";
  find("segment").hidden = running;
  find("segment").disabled = !isNew() && run?.status === "done";
  find("progress").hidden = !running;
  const part = run?.status === "looking" ? (0.3 * run.looked) / player.count : 0.3 + (0.7 * frames.scores.length) / player.count;
  find("bar").value = !running || run.status === "waiting" ? 0 : part;
  find("status").textContent = statusText();
  find("add").disabled = find("point").disabled = sentences.rows.length >= sentences.most;
  find("take").hidden = !(run && !running && frames.scores.length);
  find("notices").replaceChildren(
    ...(run?.notices ?? []).map((text) => Object.assign(document.createElement("li"), { textContent: text })),
  );
  if (run?.status === "failed" && run.message) alarm(run.message);
}

// ---- Over time -------------------------------------------------------------------------------------------------------

function showLines() {
  find("lines-card").hidden = !run || !shown.rows?.length;
  if (find("lines").children.length !== (shown.rows?.length ?? 0) || find("lines").dataset.run !== String(run?.number))
    find("lines").replaceChildren(...(shown.rows ?? []).map((row, place) => line(row, place)));
  find("lines").dataset.run = run?.number;
  [...find("lines").children].forEach((item, place) =>
    item.querySelector(".words").replaceChildren(...wordSpans(shown.rows[place].text || "what you point at", run?.words[place])),
  );
  drawLines();
}

function line(row, place) {
  const item = document.createElement("li");
  const head = item.appendChild(Object.assign(document.createElement("div"), { className: "line-head" }));
  const swatch = head.appendChild(document.createElement("button"));
  swatch.type = "button";
  swatch.className = "swatch";
  swatch.style.setProperty("--colour", colourText(player.colours[place]));
  swatch.setAttribute("aria-label", `Show the mask of sentence ${place + 1}`);
  swatch.setAttribute("aria-pressed", row.isShown);
  swatch.addEventListener("click", () => {
    row.isShown = !row.isShown;
    swatch.setAttribute("aria-pressed", row.isShown);
    player.redraw();
  });
  head.appendChild(Object.assign(document.createElement("p"), { className: "words" }));
  head.appendChild(Object.assign(document.createElement("p"), { className: "figures" }));
  const correct = head.appendChild(document.createElement("button"));
  correct.type = "button";
  correct.textContent = "Correct";
  correct.addEventListener("click", () => {
    player.setPlaying(false);
    isFollowing = false;
    correcting.start(row, () => player.place);
    find("screen").scrollIntoView({ block: "nearest" });
    find("screen").focus({ preventScroll: true });
  });
  const graph = item.appendChild(document.createElement("canvas"));
  graph.className = "graph";
  graph.setAttribute("role", "img");
  graph.setAttribute("aria-label", `Score and area of sentence ${place + 1} over time`);
  const seek = (event) => {
    const box = graph.getBoundingClientRect();
    isFollowing = false;
    player.setPlaying(false);
    player.seek(Math.floor(((event.clientX - box.left) / box.width) * player.count));
  };
  graph.addEventListener("pointerdown", (event) => {
    graph.setPointerCapture(event.pointerId);
    seek(event);
  });
  graph.addEventListener("pointermove", (event) => event.buttons && seek(event));
  return item;
}

function drawLines() {
  [...find("lines").children].forEach((item, place) => {
    const at = player.place;
    const score = frames.scores[at]?.[place];
    const area = frames.areas[at]?.[place];
    const figures = item.querySelector(".figures");
    if (score === undefined) figures.textContent = "";
    else figures.innerHTML = `score <b>${(score / 100).toFixed(2)}</b> · <b>${(area / 100).toFixed(1)}</b> % of the frame`;
    drawGraph(item.querySelector("canvas"), {
      colour: player.colours[place],
      scores: frames.scores.map((each) => each[place]),
      areas: frames.areas.map((each) => each[place]),
      count: player.count,
      place: at,
      corrected: [...shown.rows[place].clicks.keys()],
    });
  });
}
addEventListener("resize", drawLines);

// ---- Playing ---------------------------------------------------------------------------------------------------------

function clockText(seconds) {
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;
}

function showPlace() {
  if (!clip) return;
  find("frame").max = player.count - 1;
  find("frame").value = player.place;
  find("frame").setAttribute("aria-valuetext", `${player.place + 1} of ${player.count}`);
  find("clock").textContent = `${clockText(player.place / clip.frames_per_second)} · ${player.place + 1}/${player.count}`;
  find("play").querySelector(".label").textContent = player.isPlaying ? "Pause" : "Play";
  drawLines();
  showCorrecting();
}

find("frame").addEventListener("input", () => {
  const place = Number(find("frame").value); // before anything shows another
  isFollowing = false;
  player.setPlaying(false);
  player.seek(place);
});
const actions = {
  play: () => {
    isFollowing = false;
    player.setPlaying(!player.isPlaying);
  },
  back: () => player.step(-1),
  forward: () => player.step(1),
  masks: () => {
    player.areMasksShown = !player.areMasksShown;
    find("masks").setAttribute("aria-pressed", player.areMasksShown);
    player.redraw();
  },
};
for (const [name, act] of Object.entries(actions)) find(name).addEventListener("click", act);
const keys = { " ": "play", ",": "back", ".": "forward", m: "masks" };
document.addEventListener("keydown", (event) => {
  if (!clip || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input[type=text]")) return;
  if (event.key === "Escape" && correcting.row) return abandon();
  const name = keys[event.key.toLowerCase()];
  if (!name || (event.key === " " && event.target.matches("button, input"))) return;
  event.preventDefault();
  actions[name]();
});

// ---- Correcting ------------------------------------------------------------------------------------------------------

function showCorrecting() {
  if (!clip) return;
  const { row } = correcting;
  document.body.classList.toggle("correcting", row !== null);
  find("correcting").hidden = row === null;
  correcting.draw(sentences.rows, player.place);
  if (row === null) return;
  const what = row.text ? `“${row.text}”` : "the object";
  find("correcting-text").textContent = correcting.isInside
    ? `Click what belongs to ${what} in this frame.`
    : `Click what does not belong to ${what} in this frame.`;
  find("inside").setAttribute("aria-checked", correcting.isInside);
  find("outside").setAttribute("aria-checked", !correcting.isInside);
  find("apply").disabled = find("undo-click").disabled = !correcting.added.length;
}

function abandon() {
  const { row } = correcting;
  correcting.abandon();
  if (row.isPointed && !row.clicks.size) sentences.set(sentences.rows.filter((each) => each !== row));
  else sentences.render();
  showAsk();
}

find("inside").addEventListener("click", () => correcting.setInside(true));
find("outside").addEventListener("click", () => correcting.setInside(false));
find("undo-click").addEventListener("click", () => correcting.undo());
find("stop-correcting").addEventListener("click", abandon);
find("apply").addEventListener("click", segment);

// ---- Taking away -----------------------------------------------------------------------------------------------------

function listFormats() {
  find("formats").replaceChildren(
    ...page.formats.map(({ name, title }) => {
      const item = document.createElement("li");
      const button = item.appendChild(document.createElement("button"));
      button.type = "button";
      button.dataset.format = name;
      button.append(title, document.createElement("small"));
      button.addEventListener("click", () =>
        trying(async () => {
          wanted.add(name);
          showExports([await ask(`api/clips/${clip.key}/exports`, { format: name })]);
        }),
      );
      return item;
    }),
  );
}

function showExports(exports) {
  for (const { format, done, total, is_ready: isReady, message } of exports) {
    const note = find("formats").querySelector(`[data-format="${CSS.escape(format)}"] small`);
    if (!note || !wanted.has(format)) continue;
    note.textContent = message ? "failed" : isReady ? "✓" : `${Math.floor((100 * done) / Math.max(total, 1))} %`;
    if (message) alarm(message);
    if (message || isReady) wanted.delete(format);
    if (isReady) {
      const link = document.createElement("a");
      link.href = `api/clips/${clip.key}/exports/${encodeURIComponent(format)}`;
      link.download = "";
      link.click();
    }
  }
  if (!exports.length) for (const note of find("formats").querySelectorAll("small")) note.textContent = "";
}

// ---- Start -----------------------------------------------------------------------------------------------------------

const known = location.hash.slice(1);
history.replaceState(null, "", location.pathname + location.hash); // the cookie has the token now
trying(async () => {
  page = await ask("api/page");
  sentences.colours = page.colours;
  sentences.longest = page.limits.letters;
  sentences.most = page.limits.sentences;
  find("checkpoint").textContent = `Checkpoint: ${page.checkpoint}.`;
  listFormats();
  showLimits();
  const reopened = known && (await ask(`api/clips/${known}`).catch(() => null));
  if (reopened) openClip(reopened, []);
  else showStart();
});
