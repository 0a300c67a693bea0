// A sentence with its roles, coloured by the style sheet.

/** The spans of a sentence: [text, role or null], in order; where roles overlap, the shorter phrase is on top. */
function spans(expression, roles) {
  const characters = Array.from(expression); // as Python counts them
  const owner = new Array(characters.length).fill(null);
  const longestFirst = [...roles].sort((a, b) => b.end - b.start - (a.end - a.start));
  for (const role of longestFirst) owner.fill(role, role.start, role.end);
  const found = [];
  characters.forEach((character, place) => {
    if (place && owner[place] === owner[place - 1]) found.at(-1)[0] += character;
    else found.push([character, owner[place]]);
  });
  return found;
}

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

/** Fill `target` with a sentence. */
export function showSentence(target, sentence) {
  target.replaceChildren();
  for (const [text, role] of spans(sentence.expression, sentence.roles)) {
    if (role === null) {
      target.append(element("span", "plain", text));
      continue;
    }
    const phrase = element("span", role.is_shared ? "phrase shared" : "phrase", "");
    phrase.dataset.role = role.role;
    phrase.title = `${role.role}: ${role.phrase}${role.is_shared ? " (in both sentences)" : ""}`;
    const tag = element("span", "tag", role.role);
    tag.dataset.role = role.role;
    if (role.is_shared) {
      const mark = element("span", "equals", "= ");
      mark.setAttribute("aria-label", "shared");
      tag.prepend(mark);
    }
    phrase.append(element("span", "words", text.trim()), tag);
    target.append(phrase);
  }
}
