/**
 * @driftless/engine/health: does an object work? The built-in checks of Kubernetes' kinds, checks
 * of about 290 custom kinds, and the caller's Lua scripts, with the statuses and messages of Argo
 * CD. Pure: no socket, no file, no clock but the one that bounds scripts.
 */
import { isObject, messageOf, systemClock } from '#base';
import { compileHealthScripts, createLuaEngine, healthOf as checkHealth, worstHealth as worstOf } from '#health';
import type { HealthSettings } from '#health';
import { healthOrder } from '#model';
import type { HealthStatus, HealthStatusCode, KubeObject } from '#model';
import {
  mustHaveMembers,
  mustBeObject,
  mustBeListOf,
  mustBeOneOf,
  mustBeRecordOf,
  mustBeText,
} from './options/checks.ts';

export type { HealthSettings } from '#health';
export type { HealthStatus, HealthStatusCode, KubeObject } from '#model';

const builtInChecks: HealthSettings = { overrides: {} };

const mustBeHealthSettings = mustHaveMembers<HealthSettings>({ overrides: mustBeObject, healthScripts: mustBeObject }, [
  'overrides',
]);

/**
 * Health of one live object; null for a kind without a check. Never throws for an object: an
 * unreadable one is Unknown, with the reason.
 * @throws an error with `code` `USAGE` for settings that are not of `healthScripts`
 */
export function healthOf(object: KubeObject, settings: HealthSettings = builtInChecks): HealthStatus | null {
  mustBeHealthSettings(settings, 'settings');
  try {
    const fault = faultOf(object);
    return fault === undefined ? checkHealth(object, settings) : { status: 'Unknown', message: fault };
  } catch (error) {
    return { status: 'Unknown', message: `the object cannot be read: ${messageOf(error)}` };
  }
}

function faultOf(object: unknown): string | undefined {
  if (!isObject(object)) return 'this is not an object';
  const missing = ['apiVersion', 'kind'].find((name) => typeof object[name] !== 'string');
  if (missing !== undefined) return `the object has no ${missing}`;
  return isObject(object['metadata']) ? undefined : 'the object has no metadata';
}

/**
 * The worst of the codes, as an Application computes its health; Healthy if there are none.
 * @throws an error with `code` `USAGE` for an unknown code
 */
export function worstHealth(codes: Iterable<HealthStatusCode>): HealthStatusCode {
  const list = Array.isArray(codes) || typeof codes !== 'object' ? codes : [...codes];
  mustBeListOf(mustBeOneOf(healthOrder))(list, 'codes');
  return worstOf(list);
}

/**
 * Settings with Lua scripts that replace the check of their kind: keys are `group/Kind`, or `Kind`
 * for the core group, with `*` as a wildcard. A script gets `obj` and returns `status` and
 * `message`, as in `resource.customizations.health` of Argo CD. It is stopped beyond its limits of
 * time and memory.
 */
export async function healthScripts(scripts: Readonly<Record<string, string>>): Promise<HealthSettings> {
  mustBeRecordOf(mustBeText)(scripts, 'scripts');
  const engine = await createLuaEngine(systemClock);
  const entries = Object.entries(scripts).map(([key, healthLua]) => [key, { healthLua, useOpenLibs: false }] as const);
  const overrides = Object.fromEntries(entries) as HealthSettings['overrides'];
  return { overrides, healthScripts: compileHealthScripts(engine, overrides) };
}
