const fixedSeed = 20261122;

/**
 * Seed of the simulated schedules: one fixed seed, so that a test that fails after a change fails
 * because of that change. DRIFTLESS_SEED is another one (`npm run nightly`), or `random`.
 */
export function scheduleSeed(configured: string | undefined, now: number): number {
  if (configured === 'random') return now % 2 ** 31;
  return Number(configured ?? fixedSeed);
}
