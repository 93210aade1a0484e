// The thread of scripts/fuzz/worker.mjs that ends the process when a reader does not return.
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

const { shared, limitMs, source } = workerData;
const [state, bytes] = [new Int32Array(shared, 0, 4), new Uint8Array(shared, 16)];
const looks = 10;
let name = '';
let seen = -1;
let same = 0;
parentPort.on('message', (next) => (name = next));
setInterval(() => {
  const now = Atomics.load(state, 0);
  same = now === seen && Atomics.load(state, 2) === 1 ? same + 1 : 0;
  seen = now;
  if (same <= looks) return;
  const input = Buffer.from(bytes.subarray(0, Atomics.load(state, 1)));
  writeSync(
    1,
    `FUZZ FAILURE: the reader of ${name} in ${source} does not return within ${limitMs} ms\n` +
      `input: Buffer.from('${input.toString('base64')}', 'base64')\n`,
  );
  process.kill(process.pid, 'SIGKILL');
}, limitMs / looks);
