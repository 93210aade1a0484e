// What tests get when they import fast-check (jest.config.mjs): the same library with the seed of the run. One seed makes a red test of a
// change that change's own fault; new cases come from `npm run long -- --seed random`, by whoever looks for them.
import fc from '../../node_modules/fast-check/lib/fast-check.js';

const { DRIFTLESS_SEED: seed = '20261122', DRIFTLESS_LONG_FACTOR: factor = '1' } = process.env;
fc.configureGlobal({
  ...fc.readConfigureGlobal(),
  numRuns: 100 * Number(factor),
  ...(seed === 'random' ? {} : { seed: Number(seed) }),
});
export * from '../../node_modules/fast-check/lib/fast-check.js';
export default fc;
