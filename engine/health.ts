/**
 * @driftless/engine/health: does an object work? The built-in checks of Kubernetes' kinds, checks
 * of about 290 custom kinds, and the caller's Lua scripts, with the statuses and messages of Argo
 * CD. Pure: no socket, no file, no clock but the one that bounds scripts.
 */
import { systemClock } from '#base';
import { compileHealthScripts, createLuaEngine, healthOf as checkHealth } from '#health';
import type { HealthSettings } from '#health';
import type { HealthStatus, KubeObject } from '#model';

export { worstHealth } from '#health';
export type { HealthSettings } from '#health';
export type { HealthStatus, HealthStatusCode, KubeObject } from '#model';

const builtInChecks: HealthSettings = { overrides: {} };

/**
 * Health of one live object; null for a kind without a check. Never throws: an unreadable object is
 * Unknown, with the reason.
 */
export function healthOf(object: KubeObject, settings: HealthSettings = builtInChecks): HealthStatus | null {
  return checkHealth(object, settings);
}

/**
 * Settings with Lua scripts that replace the check of their kind: keys are `group/Kind`, or `Kind`
 * for the core group, with `*` as a wildcard. A script gets `obj` and returns `status` and
 * `message`, as in `resource.customizations.health` of Argo CD. It is stopped beyond its limits of
 * time and memory.
 */
export async function healthScripts(scripts: Readonly<Record<string, string>>): Promise<HealthSettings> {
  const engine = await createLuaEngine(systemClock);
  const entries = Object.entries(scripts).map(([key, healthLua]) => [key, { healthLua, useOpenLibs: false }] as const);
  const overrides = Object.fromEntries(entries) as HealthSettings['overrides'];
  return { overrides, healthScripts: compileHealthScripts(engine, overrides) };
}
