/**
 * health: does an object work? The administrator's script (Lua) -> our check of custom kinds (data, custom/) -> built-in check -> none.
 *
 * Interface:
 *   healthOf(object, settings) -> HealthStatus | null       null: this kind has no check
 *   worstHealth(codes)                                      aggregation for an Application
 *   createLuaEngine(clock), compileHealthScripts(engine, overrides, folder)
 *                                                           the scripts, as a value that settings carry (`healthScripts`)
 *   customChecks, checksTable                               the table of custom kinds, and how docs/health.md shows it
 *
 * Invariants: never throws for what an object holds (Unknown with a message instead); an absent number is 0; the messages are Argo CD's,
 * byte for byte, where its messages are known. It refuses to look at anything but the one object: no children, no clock. (Only the Lua
 * engine has one, handed in: it ends what runs too long, and scripts may ask for the time.)
 */
export { customChecks } from './custom/index.ts';
export { checksTable } from './custom/document.ts';
export type { Check } from './custom/form.ts';
export { healthOf, worstHealth } from './health.ts';
export type { HealthSettings } from './health.ts';
export { createLuaEngine, defaultLuaLimits } from './lua/engine.ts';
export type { LuaClock, LuaEngine, LuaLimits } from './lua/engine.ts';
export { compileHealthScripts } from './scripts.ts';
export type { FolderScript } from './scripts.ts';
