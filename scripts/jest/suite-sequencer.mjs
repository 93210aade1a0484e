import TestSequencer from '@jest/test-sequencer';

/** Suites of test/ first: acceptance tests take longest, and at the end one processor would wait. */
export default class SuiteSequencer extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => (path.includes('/suites/test-') ? 0 : 1);
    return [...tests].sort((a, b) => rank(a) - rank(b) || a.path.localeCompare(b.path));
  }
}
