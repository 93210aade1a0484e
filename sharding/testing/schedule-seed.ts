/**
 * Seed of the simulated schedules: other schedules every day, the same all day. DRIFTLESS_SEED
 * repeats those of another day, or is `random`.
 */
export function scheduleSeed(configured: string | undefined, now: number): number {
  if (configured === 'random') return now % 2 ** 31;
  return Number(configured ?? new Date(now).toISOString().slice(0, 10).replaceAll('-', ''));
}
