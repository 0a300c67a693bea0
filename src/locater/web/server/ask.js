// What any page asks of its server.

/** Asks for JSON, a body being sent as such; `silent` is what is said of a server that does not answer. */
export function asking(silent) {
  return async (path, body) => {
    const asked =
      body === undefined
        ? undefined
        : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let answer;
    try {
      answer = await fetch(path, asked);
    } catch {
      throw new Error(silent);
    }
    const found = await answer.json().catch(() => ({}));
    if (!answer.ok) throw Object.assign(new Error(found.error ?? `The server answered ${answer.status}.`), { status: answer.status });
    return found;
  };
}
