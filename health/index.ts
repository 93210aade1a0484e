/**
 * health: does an object work? Override (Lua) -> built-in check -> none. Pure.
 *
 * Doors:
 *   healthOf(object, overrides) -> HealthStatus | null      null: this kind has no check
 *   worstHealth(...)                                        aggregation for an Application
 */
export {};
