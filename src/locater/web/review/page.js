// The review: which pair is shown, what is said of it, and what the keys do.

import { asking } from "./ask.js";
import { Player } from "./player.js";
import { showSentence } from "./sentence.js";

history.replaceState(null, "", location.pathname); // the cookie has the token now
const find = (id) => document.getElementById(id);
const articles = { query: find("query"), contrast: find("contrast") };
const player = new Player(articles, showPlace);
const filters = {
  all: () => true,
  undecided: (pair) => pair.decision === "undecided",
  flagged: (pair) => pair.is_flagged,
  accept: (pair) => pair.decision === "accept",
  reject: (pair) => pair.decision === "reject",
};
const names = { accept: "accepted", reject: "rejected", undecided: "undecided" };
const rebuild = "run the same “locater contrast build” command again";

let review = { pairs: [], reasons: [], counts: {} };
let current = 0; // in review.pairs
let isBusy = true; // while a decision or a pair is on its way

// ---- The server ------------------------------------------------------------------------------------------------------

const ask = asking("The review's server does not answer; start “locater contrast review” again and open its address.");

/** What `work` does, with keys held back meanwhile; what goes wrong stays on the page until something succeeds. */
async function busily(work, failed = "") {
  if (isBusy) return;
  isBusy = true;
  try {
    await work();
    find("alert").hidden = true;
  } catch (error) {
    find("alert").textContent = failed + error.message;
    find("alert").hidden = false;
  } finally {
    isBusy = false;
  }
}

// ---- Showing ---------------------------------------------------------------------------------------------------------

function chosen() {
  return review.pairs.map((_, place) => place).filter((place) => filters[find("filter").value](review.pairs[place]));
}

function chip(text, className) {
  const made = document.createElement("li");
  made.textContent = text;
  made.className = className;
  return made;
}

function chips(shown) {
  const { decision, reason } = review.pairs[current];
  const list = [];
  if (decision === "accept") list.push(chip("Accepted", "accepted"));
  if (decision === "reject") list.push(chip(`Rejected: ${reason}`, "rejected"));
  if (shown.is_doubtful) list.push(chip("doubtful: the contrast may fit the query too", "flag"));
  if (shown.is_relaxed) list.push(chip("relaxed: the roles are not the same", "flag"));
  list.push(chip(shown.rank === 1 ? "rank 1" : `rank ${shown.rank}: ${shown.rank - 1} rejected before`, ""));
  list.push(chip(`in ${shown.subsets.join(" and ")}`, ""));
  return list;
}

async function show(place) {
  const shown = await ask(`api/pairs/${encodeURIComponent(review.pairs[place].sequence)}`);
  current = place;
  closeReasons();
  for (const [half, article] of Object.entries(articles)) showSentence(article.querySelector(".sentence"), shown[half]);
  find("chips").replaceChildren(...chips(shown));
  find("sequence").textContent = `${shown.query.video}  ×  ${shown.contrast.video}`;
  find("sequence").title = shown.sequence;
  player.open(shown);
  showTicks();
  showProgress();
}

function showTicks() {
  const last = Math.max(player.count - 1, 1);
  find("ticks").replaceChildren(
    ...player.masked.map((place) => {
      const tick = document.createElement("i");
      tick.style.setProperty("--at", place / last);
      return tick;
    }),
  );
  find("masked").hidden = !player.masked.length;
}

function showPlace() {
  if (!player.pair) return;
  find("frame").max = player.count - 1;
  find("frame").value = player.place;
  const text = `${player.place + 1} / ${player.count}`;
  find("frame").setAttribute("aria-valuetext", `${player.place + 1} of ${player.count}`);
  find("clock").textContent = text;
  find("play").querySelector(".label").textContent = player.isPlaying ? "Pause" : "Play";
}

function showProgress() {
  const { total, decided, accepted, rejected } = review.counts;
  find("bar").setAttribute("aria-valuemax", total);
  find("bar").setAttribute("aria-valuenow", decided);
  find("bar").querySelector(".accepted").style.width = `${(100 * accepted) / total}%`;
  find("bar").querySelector(".rejected").style.width = `${(100 * rejected) / total}%`;
  find("counts").textContent = `${decided} of ${total} decided · ${accepted} accepted · ${rejected} rejected`;
  const among = chosen();
  const at = among.indexOf(current);
  const kind = find("filter").selectedOptions[0].textContent.replace("all pairs", "");
  find("place").textContent = at < 0 ? `Pair ${current + 1}` : `Pair ${at + 1} of ${among.length} ${kind}`.trim();
  document.title = `${decided}/${total} · Contrast review`;
  find("done").hidden = decided < total;
  const replaced = rejected === 1 ? "the rejected pair" : `the ${rejected} rejected pairs`;
  find("done").textContent =
    `All ${total} pairs are decided. ` +
    (rejected
      ? `To replace ${replaced}, ${rebuild}; then review the new ones.`
      : `Nothing was rejected, so the set is finished. If you change your mind, ${rebuild}.`);
}

function say(text) {
  find("status").textContent = text;
}

// ---- Moving ----------------------------------------------------------------------------------------------------------

function move(by) {
  const among = chosen();
  const next = by > 0 ? among.find((place) => place > current) : among.findLast((place) => place < current);
  if (next === undefined) say(by > 0 ? "This is the last pair." : "This is the first pair.");
  else
    busily(async () => {
      await show(next);
      say("");
    });
}

/** The next pair that nobody has judged, from the current one on and around; the current one when all are. */
function nextUndecided() {
  const open = review.pairs.map((_, place) => place).filter((place) => filters.undecided(review.pairs[place]));
  const among = find("filter").value === "flagged" ? open.filter((place) => review.pairs[place].is_flagged) : open;
  const waiting = among.length ? among : open;
  return waiting.find((place) => place > current) ?? waiting[0] ?? current;
}

let isFilterPointed = false;
find("filter").addEventListener("pointerdown", () => (isFilterPointed = true));
find("filter").addEventListener("keydown", () => (isFilterPointed = false));
find("filter").addEventListener("change", () => {
  if (isFilterPointed) find("main").focus({ preventScroll: true }); // so that the arrow keys change pairs again
  const among = chosen();
  if (!among.length) {
    say(`No pair is ${find("filter").selectedOptions[0].textContent}.`);
    find("filter").value = "all";
  } else say("");
  showProgress();
  const next = among.find((place) => place >= current) ?? among[0];
  if (next !== undefined && next !== current) busily(() => show(next));
});

// ---- Deciding --------------------------------------------------------------------------------------------------------

function note(saved) {
  const place = review.pairs.findIndex((pair) => pair.sequence === saved.sequence);
  review.pairs[place].decision = saved.decision;
  review.pairs[place].reason = saved.reason;
  review.counts = saved.counts;
  return place;
}

function decide(decision, reason = "") {
  const { sequence } = review.pairs[current];
  return busily(async () => {
    const saved = await ask("api/decisions", { sequence, decision, reason });
    note(saved);
    const place = current + 1;
    await show(nextUndecided());
    say(`✓ Saved: pair ${place} ${names[decision]}${reason ? ` (${reason})` : ""}.`);
  }, "Not saved. ");
}

function undo() {
  return busily(async () => {
    const saved = await ask("api/undo", {}).catch((error) => {
      if (error.status !== 404) throw error;
      say(error.message); // nothing to undo is no failure
    });
    if (saved === undefined) return;
    const place = note(saved);
    await show(place);
    say(`✓ Saved: pair ${place + 1} is ${names[saved.decision]} again.`);
  });
}

function openReasons() {
  find("reasons").hidden = false;
  find("reject").setAttribute("aria-expanded", "true");
  find("reason-list").querySelector("button").focus();
}

function closeReasons() {
  if (find("reasons").hidden) return;
  find("reasons").hidden = true;
  find("own-text").value = "";
  find("reject").setAttribute("aria-expanded", "false");
  find("main").focus({ preventScroll: true });
}

function listReasons() {
  find("own-key").textContent = review.reasons.length + 1;
  find("own-text").maxLength = review.longest_reason;
  find("reason-list").replaceChildren(
    ...review.reasons.map((reason, place) => {
      const item = document.createElement("li");
      const button = item.appendChild(document.createElement("button"));
      button.type = "button";
      const key = button.appendChild(document.createElement("kbd"));
      key.textContent = place + 1;
      button.append(` ${reason}`);
      button.addEventListener("click", () => decide("reject", reason));
      return item;
    }),
  );
}

find("own").addEventListener("submit", (event) => {
  event.preventDefault();
  const reason = find("own-text").value.trim();
  if (reason) decide("reject", reason);
  else say("Write a reason first.");
});

// ---- Keys and buttons ------------------------------------------------------------------------------------------------

function toggleOutlines() {
  const isOn = find("outlines").getAttribute("aria-pressed") !== "true";
  find("outlines").setAttribute("aria-pressed", isOn);
  document.body.classList.toggle("no-outlines", !isOn);
}

const actions = {
  accept: () => decide("accept"),
  reject: () => (find("reasons").hidden ? openReasons() : closeReasons()),
  cancel: closeReasons,
  undo,
  previous: () => move(-1),
  next: () => move(1),
  play: () => player.setPlaying(!player.isPlaying),
  back: () => player.step(-1),
  forward: () => player.step(1),
  masked: () => player.nextMasked(),
  outlines: toggleOutlines,
  help: () => find("keys").showModal(),
};
const keys = {
  a: "accept", r: "reject", u: "undo", arrowleft: "previous", arrowright: "next", " ": "play",
  ",": "back", ".": "forward", m: "masked", o: "outlines", "?": "help", escape: "cancel",
};
const repeatable = new Set(["previous", "next", "back", "forward"]); // a held A must not accept what nobody saw

for (const [name, act] of Object.entries(actions))
  find(name).addEventListener("click", (event) => {
    // After a click of the mouse, the space bar is to play, not to press the same button again.
    if (event.detail > 0 && name !== "reject") find("main").focus({ preventScroll: true });
    act();
  });

function onReasonKey(event) {
  const number = Number.parseInt(event.key, 10);
  if (number >= 1 && number <= review.reasons.length) decide("reject", review.reasons[number - 1]);
  else if (number === review.reasons.length + 1) find("own-text").focus();
  else return false;
  return true;
}

document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (find("keys").open || event.altKey) return;
  if (target.matches("input[type=text]")) {
    if (event.key === "Escape") closeReasons();
    return;
  }
  if (event.ctrlKey || event.metaKey) {
    if (event.key.toLowerCase() === "z" && !event.shiftKey && !event.repeat) {
      event.preventDefault();
      undo();
    }
    return;
  }
  if (!find("reasons").hidden && !event.repeat && onReasonKey(event)) {
    event.preventDefault();
    return;
  }
  const key = event.key.toLowerCase();
  const name = keys[key];
  const isOwnKey =
    (target.matches("button") && key === " ") ||
    (target.matches("input, select") && (key.startsWith("arrow") || key === " "));
  if (name === undefined || isOwnKey || (event.repeat && !repeatable.has(name))) return;
  event.preventDefault();
  actions[name]();
});

find("frame").addEventListener("input", () => {
  const place = Number(find("frame").value); // before anything shows another
  player.setPlaying(false);
  player.seek(place);
});
find("frame").addEventListener("pointerup", () => find("main").focus({ preventScroll: true }));

// ---- Start -----------------------------------------------------------------------------------------------------------

isBusy = false;
busily(async () => {
  review = await ask("api/review");
  find("about").textContent = `${review.dataset} · ${review.folder}`;
  find("about").title = review.folder;
  listReasons();
  current = -1;
  const first = nextUndecided();
  await show(Math.max(first, 0));
  find("main").focus({ preventScroll: true });
});
