/**
 * health: does an object work? Override (Lua) -> built-in check -> none. Pure.
 *
 * Interface:
 *   healthOf(object, overrides) -> HealthStatus | null      null: this kind has no check
 *   worstHealth(codes)                                      aggregation for an Application
 *   unsupportedOverrides(overrides)                         health scripts that are configured but not run
 *
 * Invariants: never throws for what an object holds (Unknown with a message instead); an absent number is 0; the messages are Argo CD's,
 * byte for byte. It refuses to look at anything but the one object: no children, no clock.
 */
export { healthOf, unsupportedOverrides, worstHealth } from './health.ts';
