// Loaded before each test file of `npm run long`: every property is tried this many times more often.
import fc from 'fast-check';

const factor = Number(process.env.DRIFTLESS_LONG_FACTOR ?? 20);
fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: 100 * factor });
