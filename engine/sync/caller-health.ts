import { isObject, messageOf } from '#base';
import { healthOrder, refOf } from '#model';
import type { SyncInputs } from './types.ts';
import type { SyncWarnings } from './warnings.ts';

type HealthCheck = NonNullable<SyncInputs['health']>;

/**
 * The caller's health check. As in Argo CD, the sync waits for an object whose check fails: the
 * warning is the only sign of why.
 */
export function reportingHealth(health: HealthCheck, warnings: SyncWarnings): HealthCheck {
  return (object) => {
    try {
      const result = health(object);
      requireHealth(result);
      return result;
    } catch (error) {
      const message = `inputs.health failed, so the sync waits for the object: ${messageOf(error)}`;
      warnings.report({ source: 'sync', message, object: refOf(object) });
      throw error;
    }
  };
}

/** @throws TypeError for what is neither null nor a status of a known code. */
function requireHealth(value: unknown): void {
  const codes: readonly unknown[] = healthOrder;
  if (value === null || (isObject(value) && codes.includes((value as { status?: unknown }).status))) return;
  throw new TypeError(`it must return null or { status }, with a status of ${healthOrder.join(', ')}`);
}
