/**
 * health: does an object work? The administrator's script (Lua), our check of custom kinds (data,
 * custom/), the built-in check, or none, in this order.
 *
 * Interface:
 *   healthOf(object, settings) -> HealthStatus | null      null: this kind has no check
 *   worstHealth(codes)                            aggregation for an Application
 *   createLuaEngine(clock), compileHealthScripts(engine, overrides, folder)
 *                                                 the scripts (`healthScripts` of the settings)
 *   hasHealthScripts(overrides), noHealthScripts  whether an engine is needed at all
 *   customChecks, checksTable                     checks of custom kinds, table in docs/health.md
 *
 * Invariants: never throws, whatever the object contains (Unknown with a message instead); an
 * absent number is 0; messages are Argo CD's, byte for byte, where those are known. A check sees
 * only the one object: no children, no clock. (Only the Lua engine has an injected clock, to stop
 * long runs and for `os.time()`.)
 */
export { customChecks } from './custom/index.ts';
export { checksTable } from './custom/checks-table.ts';
export { healthOf, worstHealth } from './health.ts';
export type { HealthSettings } from './health.ts';
export { createLuaEngine, defaultLuaLimits } from './lua/engine.ts';
export type { LuaEngine } from './lua/engine.ts';
export { compileHealthScripts, hasHealthScripts, noHealthScripts } from './scripts.ts';
export type { FolderScript } from './scripts.ts';
