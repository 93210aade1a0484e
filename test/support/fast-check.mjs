// Stands for fast-check in tests (jest.config.mjs): the same library with a fixed seed, so that a
// change that turns a test red is its cause. `npm run nightly` looks for new cases.
import fc from '../../node_modules/fast-check/lib/fast-check.js';

const { DRIFTLESS_SEED: seed = '20261122', DRIFTLESS_LONG_FACTOR: factor = '1' } = process.env;
fc.configureGlobal({
  ...fc.readConfigureGlobal(),
  numRuns: 100 * Number(factor),
  ...(seed === 'random' ? {} : { seed: Number(seed) }),
});
export * from '../../node_modules/fast-check/lib/fast-check.js';
export default fc;
