// Parses a Dockerfile for the scripts that check it and run its steps.
/** The instructions of a Dockerfile, with continued lines joined and without comments. */
export function parseDockerfile(text) {
  const joined = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\\n/g, ' ');
  return joined
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => ({
      name: line.split(/\s+/, 1)[0].toUpperCase(),
      args: line
        .replace(/^\S+\s+/, '')
        .replace(/\s+/g, ' ')
        .trim(),
    }));
}

/** Groups instructions by stage: `head` comes before the first FROM. */
export function stagesOf(instructions) {
  const head = [];
  const stages = [];
  for (const one of instructions) {
    if (one.name === 'FROM') {
      const [, base, name] = /^(?:--platform=\S+ )?(\S+)(?: AS (\S+))?$/i.exec(one.args) ?? [];
      stages.push({ base: base ?? one.args, name: name ?? `stage-${stages.length}`, instructions: [] });
    } else (stages.at(-1)?.instructions ?? head).push(one);
  }
  return { head, stages };
}

/** Parses `A=1 B="two words"` into pairs and expands `$A` and `${A}`. */
export function pairsOf(text, known = {}) {
  const pairs = [...text.matchAll(/([\w.]+)=("[^"]*"|\S*)/g)];
  return pairs.map(([, key, value]) => [key, fill(value.replace(/^"|"$/g, ''), known)]);
}

export function fill(text, known) {
  return text.replace(/\$\{(\w+)\}|\$(\w+)/g, (whole, a, b) => known[a ?? b] ?? whole);
}
