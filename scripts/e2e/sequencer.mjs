// The order of test files for two workers (jest.e2e.config.mjs): the longest first, so that no worker
// waits long for the last file of the other. Jest remembers how long a file took; for a machine
// without earlier runs a long file says it in its first line: `/** @seconds 180 */`.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const ofJest = createRequire(createRequire(import.meta.url).resolve('@jest/core'));
const { default: Sequencer } = ofJest('@jest/test-sequencer');

export default class LongestFirst extends Sequencer {
  /** Milliseconds. */
  time(test) {
    return super.time(test) ?? 1000 * secondsOf(test.path);
  }
}

/** The seconds that a file says it takes; 0 for a short file. */
function secondsOf(path) {
  const [head = ''] = readFileSync(path, 'utf8').split('\n', 1);
  return Number(/^\/\*\* @seconds (\d+) \*\/$/.exec(head)?.[1] ?? 0);
}
