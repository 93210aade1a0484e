// Inputs made of earlier ones: changed bytes, tokens, pieces of two inputs, repetitions.

export const maxInputBytes = 64 * 1024;

/** Texts that did harm before. */
export const harmful = [
  '__proto__',
  '"__proto__":{"polluted":1}',
  '__proto__: {polluted: 1}\n',
  '{"constructor":{"prototype":{"polluted":1}}}',
  'toString',
  'hasOwnProperty',
  '{'.repeat(600),
  '['.repeat(600),
  '(',
  ')*',
  '\\',
  '"',
  "'",
  '\n',
  '\r\n',
  '\t',
  '- ',
  ': ',
  '---\n',
  '? ',
  '|+2\n',
  '!!binary ',
  '&a [*a]',
  '<<: *a\n',
  '-0',
  '1e999999999',
  '.inf',
  '0x7fffffff',
  '9007199254740993',
  '18446744073709551616',
  'null',
  'true',
  '~',
  '..',
  '/../',
  '%2e%2e%2f',
  '://',
  '@',
  '{a,{b,{c,d}}}',
  '**/',
  '((a|a))*b$',
  '$(',
  '${x}',
  '{{',
  '\u0000',
  '\ud800',
  '\ufeff',
  '\u2028',
  '\u{10ffff}',
].map((text) => Buffer.from(text));

/** Words, numbers and marks of the seeds. */
export function tokensOf(seeds) {
  const found = seeds.flatMap(
    (seed) =>
      seed
        .toString('latin1')
        .slice(0, 20_000)
        .match(/\w+|[^\w\s]+/g) ?? [],
  );
  return [...new Set(found)].slice(0, 2000).map((text) => Buffer.from(text, 'latin1'));
}

/** A child of one input, or of two. `below` draws a whole number below its argument. */
export function mutated(parents, tokens, below) {
  const pick = (list) => list[below(list.length)] ?? Buffer.alloc(0);
  // The shorter one of two: a change hits what matters more often.
  const [one, two] = [pick(parents), pick(parents)];
  let made = Buffer.from(one.length < two.length || below(3) === 0 ? one : two);
  for (let turns = 1 + below(below(8) === 0 ? 12 : 3); turns > 0; turns -= 1) {
    made = changed(made, { other: pick(parents), token: pick(below(3) === 0 ? harmful : tokens), below });
    if (made.length > maxInputBytes) made = made.subarray(0, maxInputBytes);
  }
  return made;
}

function changed(input, { other, token, below }) {
  const at = below(input.length + 1);
  const [head, tail] = [input.subarray(0, at), input.subarray(at)];
  const join = (...parts) => Buffer.concat(parts);
  const some = (bytes, most) => bytes.subarray(0, below(Math.min(most, bytes.length) + 1));
  switch (below(14)) {
    case 0:
      return join(head, Buffer.from([(tail[0] ?? 0) ^ (1 << below(8))]), tail.subarray(1));
    case 1:
    case 2:
      return join(head, Buffer.from([below(256)]), tail.subarray(1));
    case 3:
      return join(head, Buffer.from([32 + below(95)]), tail);
    case 4:
      return join(head, tail.subarray(1 + below(8)));
    case 5:
      return join(head, tail.subarray(below(tail.length + 1)));
    case 6:
    case 7:
      return join(head, token, tail);
    case 8:
      return join(head, token, tail.subarray(token.length));
    case 9:
      return join(head, some(other.subarray(below(other.length + 1)), 300), tail);
    case 10:
      return join(head, other.subarray(Math.min(other.length, at)));
    case 11:
      return join(head, some(tail, 64), tail);
    case 12: {
      const piece = some(tail, 32);
      // Long repetitions are slow: few of them.
      return join(head, ...Array.from({ length: below(below(10) === 0 ? 500 : 8) }, () => piece), tail);
    }
    default:
      return digitsChanged(input, at, below);
  }
}

/** Another number in place of the next one. */
function digitsChanged(input, at, below) {
  const text = input.toString('latin1');
  const found = /\d+/.exec(text.slice(at));
  if (found === null) return input;
  const numbers = ['0', '-1', '1', '255', '256', '65536', '2147483648', '4294967295', '9007199254740993', '1e400'];
  const start = at + found.index;
  return Buffer.from(
    text.slice(0, start) + numbers[below(numbers.length)] + text.slice(start + found[0].length),
    'latin1',
  );
}
