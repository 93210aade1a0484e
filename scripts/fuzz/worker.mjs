// Runs the readers of one file for scripts/fuzz/main.mjs.
import { createHash } from 'node:crypto';
import { relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { root } from '../root.mjs';
import { Corpus } from './corpus.mjs';
import { Coverage } from './coverage.mjs';
import { harmful, maxInputBytes, mutated, tokensOf } from './mutate.mjs';
import { targets } from './targets.mjs';

const [file, text] = process.argv.slice(2);
const plan = JSON.parse(text);
/** CPU time that one input may take; beyond twenty times that, the process is ended. */
const budgetMs = 1000;
/** Inputs between two looks at the coverage, each of which walks through the heap of V8. */
const batch = { first: 32, most: 512, leastMs: 100 };
const prototypeSize = Reflect.ownKeys(Object.prototype).length;
const source = relative(root, file).replace(`dist${sep}`, '').replace(/\.js$/, '.ts');

await import(pathToFileURL(file).href);
const chosen = targets.filter(({ name }) => name.includes(plan.name));
if (plan.list) for (const { name } of chosen) process.stdout.write(`${source}: ${name}\n`);
else if (chosen.length > 0) await runAll();

async function runAll() {
  const watch = watchdog();
  const coverage = new Coverage((url) => url.startsWith('file:') && !url.includes('/scripts/fuzz/'));
  for (const target of chosen) await explore(target, coverage, watch);
  await watch.end();
}

async function explore(target, coverage, watch) {
  const below = drawing(Number(plan.seed), target.name);
  const kept = new Corpus(plan.corpus, `${source}-${target.name}`);
  const given = [...target.seeds, ...kept.stored()].map((seed) => Buffer.from(seed));
  const tokens = [...tokensOf(given), ...harmful];
  // Lazy loading at the first call must not count against an input.
  await Promise.resolve(given[0] ?? Buffer.alloc(0))
    .then(target.read)
    .catch(() => undefined);
  coverage.reset();
  const before = coverage.covered;
  const parents = [];
  const reachesNew = async (input, options) => {
    await tried(target, input, watch);
    return coverage.isNew({ counts: true, ...options });
  };
  const learn = async (inputs, isKept) => {
    const single = inputs.length === 1;
    for (const input of inputs) await tried(target, input, watch);
    if (!coverage.isNew({ learn: single && !isKept, counts: single })) return;
    if (single) {
      const input = isKept ? await trimmed(inputs[0], reachesNew) : inputs[0];
      parents.push(input);
      if (isKept) kept.add(input);
      return;
    }
    // One of them reached something new: look for it in both halves.
    const half = inputs.length >> 1;
    await learn(inputs.slice(0, half), isKept);
    await learn(inputs.slice(half), isKept);
  };
  for (const seed of [Buffer.alloc(0), ...given, ...harmful]) await learn([seed], false);
  parents.push(...given);
  const began = process.cpuUsage();
  const first = parents.length;
  let inputs = 0;
  for (let size = batch.first; inputs < Number(plan.inputs) && cpuMsSince(began) < 1000 * Number(plan.seconds);) {
    // The newest inputs reached something that little was tried on yet.
    const from = below(2) === 0 ? parents.slice(-20) : parents;
    const begin = performance.now();
    await learn(
      Array.from({ length: size }, () => mutated(from, tokens, below)),
      true,
    );
    inputs += size;
    if (performance.now() - begin < batch.leastMs) size = Math.min(batch.most, 2 * size);
  }
  const grown = `${parents.length - first} inputs reached something new`;
  process.stdout.write(
    `fuzz: ${target.name}: ${inputs} inputs, ${grown}, ${coverage.covered - before} characters of code ran\n`,
  );
}

/** The input without parts that it does not need, so that changes hit what matters. */
async function trimmed(input, reachesNew) {
  let best = input;
  let tries = 60;
  for (let size = best.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < best.length && tries > 0;) {
      tries -= 1;
      const shorter = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      if (await reachesNew(shorter, { learn: false })) best = shorter;
      else at += size;
    }
  }
  await reachesNew(best, { learn: true });
  return best;
}

/** Reads one input, and ends the process if the reader breaks its promise. */
async function tried(target, input, watch) {
  watch.begin(target.name, input);
  const begin = process.cpuUsage();
  let failure;
  try {
    const answer = target.read(input);
    if (answer instanceof Promise) await answer;
  } catch (error) {
    if (!isOurs(error) && target.refuses?.(error) !== true) failure = error;
  }
  const tookMs = cpuMsSince(begin);
  watch.done();
  const why =
    failure !== undefined
      ? `throws ${failure?.stack ?? String(failure)}`
      : Reflect.ownKeys(Object.prototype).length !== prototypeSize
        ? 'changes the prototype of all objects'
        : tookMs > budgetMs
          ? `takes ${Math.round(tookMs)} ms of CPU time`
          : undefined;
  if (why === undefined) return;
  // Collecting garbage of other inputs is no fault of this one: it must be slow again.
  if (failure === undefined && tookMs > budgetMs && !(await isSlowAgain(target, input))) return;
  process.stdout.write(reportOf(target.name, input, why));
  process.exit(1);
}

async function isSlowAgain(target, input) {
  const begin = process.cpuUsage();
  await Promise.resolve(input)
    .then(target.read)
    .catch(() => undefined);
  return cpuMsSince(begin) > budgetMs;
}

function cpuMsSince(begin) {
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}

function isOurs(error) {
  return typeof error?.code === 'string' && /^[A-Z_]+$/.test(error.code) && !error.code.startsWith('ERR_');
}

function reportOf(name, input, why) {
  const base64 = input.toString('base64');
  return [
    `FUZZ FAILURE: the reader of ${name} ${why}`,
    `input (${input.length} bytes): ${JSON.stringify(input.toString('latin1').slice(0, 2000))}`,
    `To keep it as a test, add this line to the seeds of '${name}' in ${source}:`,
    `      Buffer.from('${base64}', 'base64'),`,
    '',
  ].join('\n');
}

/** Draws whole numbers from the seed and the name of a reader (mulberry32). */
function drawing(seed, name) {
  let state = (seed ^ createHash('sha256').update(name).digest().readInt32LE(0)) >>> 0;
  return (count) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * count);
  };
}

/** A thread that ends the process, and prints the input, if a reader never returns. */
function watchdog() {
  const shared = new SharedArrayBuffer(16 + maxInputBytes);
  const [state, bytes] = [new Int32Array(shared, 0, 4), new Uint8Array(shared, 16)];
  const thread = new Worker(new URL('./watchdog.mjs', import.meta.url), {
    workerData: { shared, limitMs: 20 * budgetMs, source },
  });
  thread.unref();
  let announced = '';
  return {
    begin(name, input) {
      if (name !== announced) thread.postMessage(name);
      announced = name;
      bytes.set(input.subarray(0, maxInputBytes));
      Atomics.store(state, 1, Math.min(input.length, maxInputBytes));
      Atomics.add(state, 0, 1);
      Atomics.store(state, 2, 1);
    },
    done() {
      Atomics.store(state, 2, 0);
    },
    end: () => thread.terminate(),
  };
}
