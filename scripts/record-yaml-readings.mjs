// Records in base/testdata/yaml-readings.json how Go's sigs.k8s.io/yaml reads spellings of YAML, without
// those that it refuses. Needs Go; run it again to add spellings.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './root.mjs';

const [generated, mutated] = [6000, 1200];
let seed = 20261128;
const random = () => (seed = (seed * 1664525 + 1013904223) >>> 0) / 2 ** 32;
const pick = (list) => list[Math.floor(random() * list.length)];
const some = (limit, make) => Array.from({ length: Math.floor(random() * limit) }, (_, i) => make(i));

const scalars = [
  ...[
    'a',
    'x-y',
    '1',
    '01',
    '0b11',
    '1.',
    '1e400',
    '-',
    '.',
    '1.2.3',
    '"q"',
    "'q'",
    '~',
    '',
    'yes',
    'NULL',
    '0x',
    '_1',
  ],
  ...['1_', '+', '-1', 'a b', 'a:b', '#c', 'a#c', 'a #c', '{}', '[]', '{a}', '[a]', '{a: b}', '[a: b]', '0777', '08'],
  ...[
    '2001-01-01T00:00:00Z',
    '0x1p3',
    '1__2',
    '+0x1',
    '-0b1',
    '1:2',
    '190:20:30',
    '.25e1',
    '1e+',
    'NaN',
    '.Inf',
    'TRUE',
  ],
  ...[
    'tRUE',
    'oFF',
    'y',
    '9007199254740993',
    '99999999999999999999',
    '"\\x41"',
    '"\\/"',
    '"a\\\n b"',
    '"a\n\n b"',
    "'a\n b'",
  ],
  ...[
    '%a',
    '@a',
    '`a`',
    '!!str 1',
    '!!int "1"',
    '!!binary aGk=',
    '<<',
    '"<<"',
    '*a',
    '{{ x }}',
    '"{{ x }}"',
    'a: b',
    '? a',
  ],
];

function value(depth) {
  const kind = random();
  const inner = () => value(depth + 2);
  if (depth > 3 || kind < 0.35) return pick(scalars);
  if (kind < 0.5)
    return `{${some(3, () => pick([`${pick(scalars)}: ${inner()}`, inner(), `"k": ${inner()}`, `? ${inner()} : 1`])).join(', ')}}`;
  if (kind < 0.62) return `[${some(3, () => pick([inner(), `${pick(scalars)}: ${inner()}`])).join(', ')}]`;
  const indent = '  '.repeat(depth + 1);
  if (kind < 0.85) {
    const key = (i) => pick([`k${i}`, pick(scalars), '<<', '&a k']);
    return `\n${[0, ...some(3, (i) => i + 1)].map((i) => `${indent}${key(i)}: ${pick(['', '', '&a '])}${value(depth + 1)}`).join('\n')}`;
  }
  if (kind < 0.93) return `\n${[0, ...some(3, Number)].map(() => `${indent}- ${value(depth + 1)}`).join('\n')}`;
  const line = () => indent + pick(['', '  ', 'x', ' x', '# c', '---', 'a: b']);
  return `${pick(['|', '>', '|-', '>+', '|2', '>1-'])}\n${[0, ...some(3, Number)].map(line).join('\n')}`;
}

const parts = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ':',
    ': ',
    ',',
    ', ',
    '- ',
    '? ',
    '&a ',
    '*a',
    '!!str ',
    '"',
    "'",
    '|',
    '|+',
    '>-',
    '#',
    ' #',
  ],
  ...['\n', '\n  ', '  ', '<<: ', '{{ x }}', '~', 'yes', '0x1F', '010', '1e3', '1_000', '%', '@', '\\', 'é', '---\n'],
  ...['x: &a {b: 1}\n', 'x: &a [1]\n', 'y: *a\n', "''", '""', 'key: value\n', ' ', '\r\n'],
];
const files = ['examples', 'manifests']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
  )
  .filter((name) => name.endsWith('.yaml') && !name.includes('templates'));
const documents = files
  .flatMap((name) => readFileSync(name, 'utf8').split(/^---.*\n/m))
  .filter((text) => text.trim() !== '');

function mutation() {
  const lines = pick(documents).split('\n');
  const from = Math.floor(random() * Math.max(1, lines.length - 5));
  const some = lines.slice(from, from + 6);
  const indent = Math.min(...some.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  let text = some.map((line) => line.slice(Number.isFinite(indent) ? indent : 0)).join('\n');
  for (let i = 0; i < 1 + random() * 2; i += 1) {
    const at = Math.floor(random() * (text.length + 1));
    text =
      random() < 0.7
        ? text.slice(0, at) + pick(parts) + text.slice(at)
        : text.slice(0, at) + text.slice(at + 1 + random() * 4);
  }
  return text;
}

const goProgram = `package main
import ("encoding/json";"fmt";"os";"sigs.k8s.io/yaml")
func main() {
  in := json.NewDecoder(os.Stdin)
  for in.More() {
    var text string
    if in.Decode(&text) != nil { return }
    out, err := yaml.YAMLToJSON([]byte(text))
    if err != nil { out = nil }
    line, _ := json.Marshal(string(out))
    fmt.Println(string(line))
  }
}`;
const folder = mkdtempSync(join(tmpdir(), 'yaml-readings-'));
writeFileSync(join(folder, 'main.go'), goProgram);
writeFileSync(join(folder, 'go.mod'), 'module readings\ngo 1.22\nrequire sigs.k8s.io/yaml v1.4.0\n');
execFileSync('go', ['mod', 'tidy'], { cwd: folder, stdio: 'ignore' });
const texts = [
  ...new Set([
    ...Array.from({ length: generated }, () => `k: ${value(0)}\n`),
    ...Array.from({ length: mutated }, mutation),
  ]),
];
const input = texts.map((text) => JSON.stringify(text)).join('\n');
const read = execFileSync('go', ['run', '.'], { cwd: folder, input, maxBuffer: 1 << 28, encoding: 'utf8' });
rmSync(folder, { recursive: true });
const answers = read
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));
const rows = texts.flatMap((text, i) => (answers[i] === '' ? [] : [`  ${JSON.stringify([text, answers[i]])}`]));
writeFileSync(join(root, 'base', 'testdata', 'yaml-readings.json'), `[\n${rows.join(',\n')}\n]\n`);
process.stdout.write(`${texts.length} texts, ${texts.length - rows.length} refused by Go\n`);
