import { cpuUsage, env, stdout } from 'node:process';
import { seededRandom } from '#base';

/** A parser of foreign input. */
export interface FuzzTarget {
  readonly name: string;
  /** Valid inputs, and inputs that did harm before. All inputs are made of them. */
  readonly seeds: readonly (string | Uint8Array)[];
  read(input: Buffer): unknown;
  /** Whether an error is expected. Errors with one of our codes always are. */
  readonly refuses?: (error: unknown) => boolean;
}

export interface FuzzReport {
  readonly inputs: number;
  readonly slowestMs: number;
}

/** CPU time that one input may take. */
const budgetMs = 1000;
const maxInputBytes = 64 * 1024;
const seconds = Number(env['DRIFTLESS_FUZZ_SECONDS'] ?? '0');
/** `npm test` tries up to 10,000 inputs in a short CPU time, `npm run nightly` up to a million. */
const maxInputs = seconds > 0 ? 1_000_000 : 10_000;
const totalMs = seconds > 0 ? seconds * 1000 : 60;
const minInputs = 300;

/**
 * Feeds a parser with mutated seeds: cut, joined, repeated and mixed with inputs that did harm
 * before. Each input must be parsed, or rejected with an error that has a code; take less than a
 * second of CPU time; and leave Object.prototype unchanged. DRIFTLESS_SEED determines the inputs.
 * @throws Error that shows the input
 */
export async function fuzz(target: FuzzTarget): Promise<FuzzReport> {
  const seed = env['DRIFTLESS_SEED'] ?? '20261122';
  const random = seededRandom(seed === 'random' ? Date.now() : Number(seed));
  const below = (count: number): number => Math.floor(random.next() * count);
  const corpus = [...target.seeds, ...harmful].map((text) => Buffer.from(text));
  const before = Reflect.ownKeys(Object.prototype).length;
  // Warm up: lazy loading at the first call must not count against an input.
  await Promise.resolve(corpus[0])
    .then((first) => target.read(first ?? Buffer.alloc(0)))
    .catch(() => undefined);
  const began = cpuUsage();
  let usedMs = 0;
  let slowestMs = 0;
  let inputs = 0;
  for (; inputs < maxInputs && (inputs < minInputs || usedMs < totalMs); inputs += 1) {
    const input = inputs < corpus.length ? (corpus[inputs] ?? Buffer.alloc(0)) : mutated(corpus, below);
    const begin = cpuUsage();
    let failure: unknown;
    try {
      const answer = target.read(input);
      if (answer instanceof Promise) await answer;
    } catch (error) {
      if (!isOurs(error) && target.refuses?.(error) !== true) failure = error;
    }
    const { user, system } = cpuUsage(begin);
    const tookMs = (user + system) / 1000;
    const { user: allUser, system: allSystem } = cpuUsage(began);
    usedMs = (allUser + allSystem) / 1000;
    slowestMs = Math.max(slowestMs, tookMs);
    if (failure !== undefined) throw new Error(`${target.name} on ${shown(input)}`, { cause: failure });
    if (tookMs > budgetMs) throw new Error(`${target.name} took ${tookMs} ms of the processor on ${shown(input)}`);
    if (Reflect.ownKeys(Object.prototype).length !== before)
      throw new Error(`${target.name} changed the prototype of all objects on ${shown(input)}`);
  }
  if (seconds > 0) stdout.write(`fuzz: ${target.name}: ${inputs} inputs, the slowest took ${slowestMs} ms\n`);
  return { inputs, slowestMs };
}

function isOurs(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' && /^[A-Z_]+$/.test(code) && !code.startsWith('ERR_');
}

function shown(input: Buffer): string {
  const text = JSON.stringify(input.toString('latin1'));
  return text.length > 2000 ? `${text.slice(0, 2000)}... (${input.length} bytes)` : text;
}

function mutated(corpus: readonly Buffer[], below: (count: number) => number): Buffer {
  const pick = (): Buffer => corpus[below(corpus.length)] ?? Buffer.alloc(0);
  const part = (from: Buffer): Buffer => {
    const at = below(from.length + 1);
    return from.subarray(at, at + below(Math.min(200, from.length - at) + 1));
  };
  let made = pick();
  for (let turns = 1 + below(4); turns > 0; turns -= 1) {
    const at = below(made.length + 1);
    const head = made.subarray(0, at);
    const tail = made.subarray(at);
    const kind = below(16);
    // Long repetitions find exponential time, but are slow: keep them rare.
    if (kind === 0)
      made = Buffer.concat([head, ...Array.from({ length: 1 + below(400) }, () => part(pick()).subarray(0, 24)), tail]);
    else if (kind === 1) made = Buffer.concat([head, repeated(part(pick()), 1 + below(2000)), tail]);
    else if (kind < 5) made = Buffer.concat([head, part(pick()), tail.subarray(below(tail.length + 1))]);
    else if (kind < 8) made = Buffer.concat([head, pick(), tail]);
    else if (kind < 10) made = Buffer.concat([head, tail.subarray(below(Math.min(8, tail.length) + 1))]);
    else if (kind < 11) made = head;
    else if (kind < 14) made = Buffer.concat([head, Buffer.from([below(256)]), tail.subarray(1)]);
    else made = Buffer.concat([head, harmful[below(harmful.length)] ?? Buffer.alloc(0), tail]);
    if (made.length > maxInputBytes) made = made.subarray(0, maxInputBytes);
  }
  return made;
}

function repeated(part: Buffer, times: number): Buffer {
  return part.length === 0 ? part : Buffer.alloc(Math.min(maxInputBytes, part.length * times), part);
}

const harmful = [
  '__proto__',
  '"__proto__":{"polluted":1}',
  '__proto__: {polluted: 1}\n',
  '{"constructor":{"prototype":{"polluted":1}}}',
  'constructor',
  'toString',
  '{'.repeat(600),
  '['.repeat(600),
  '"'.repeat(50),
  '\\'.repeat(50),
  '\n'.repeat(500),
  '9'.repeat(400),
  '1e999999999',
  '-0',
  '.inf',
  '<<: *a\n',
  '&a [*a]',
  '((a|a))*b$',
  '^((a|a))*b$',
  '/x{1,}{1,}{1,}/',
  '{a,{b,{c,d}}}',
  '**/**/**/',
  '>=1 <2 || '.repeat(20),
  `${'1.'.repeat(33)}x`,
  '\u0000',
  '\ud800',
  '\ufeff',
  'a'.repeat(300),
].map((text) => Buffer.from(text));
