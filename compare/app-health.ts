import { annotationOf, annotations, gkOf, isHook, isSkipped, isWorseHealth } from '#model';
import type { HealthStatus, HealthStatusCode, KubeObject } from '#model';
import { describeObject } from './targets.ts';

export interface HealthPair {
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
  /** The live object could not be read. */
  readonly unread?: boolean;
}

/** A resource with the health from {@link resourceHealth}. */
export interface JudgedPair extends HealthPair {
  readonly health: HealthStatus | null;
}

export interface AppHealth {
  readonly status: HealthStatusCode;
  readonly message: string;
}

/**
 * Health of an Application: the worst of its resources, with the first three causes. A missing
 * resource counts only if no resource is live; a child Application counts unless it is Missing or
 * Unknown. Source: Argo CD controller/health.go setApplicationHealth.
 *
 * Resources that could not be read are Unknown. They make an otherwise Healthy Application Unknown,
 * but do not hide a known problem.
 */
export function applicationHealth(pairs: readonly JudgedPair[]): AppHealth {
  const counted = pairs.filter(countsForHealth);
  let status: HealthStatusCode = 'Healthy';
  let causes: string[] = [];
  for (const { live, health } of counted) {
    if (health === null || live === null || isSilentChild(live, health)) continue;
    if (isWorseHealth(status, health.status)) {
      status = health.status;
      causes = [describeObject(live)];
    } else if (health.status === status && status !== 'Healthy') causes.push(describeObject(live));
  }
  const dark = counted.flatMap((pair) => (pair.unread === true && pair.target !== null ? [pair.target] : []));
  if (dark.length > 0 && !isWorseHealth('Healthy', status))
    return { status: 'Unknown', message: causeText(dark.map(describeObject)) };
  const nothing = counted.every((pair) => pair.live === null && pair.unread !== true);
  if (counted.length > 0 && nothing && isWorseHealth(status, 'Missing')) return { status: 'Missing', message: '' };
  return { status, message: causeText(causes) };
}

/**
 * Health of one resource; null if it has none or does not count.
 * @param isSelf whether the object is the Application itself (an Application may manage itself).
 */
export function resourceHealth(
  pair: HealthPair,
  healthOf: (object: KubeObject) => HealthStatus | null,
  isSelf: (object: KubeObject) => boolean,
): HealthStatus | null {
  const { live, unread } = pair;
  if (!countsForHealth(pair)) return null;
  if (live === null) return { status: unread === true ? 'Unknown' : 'Missing' };
  if (annotationOf(live, annotations.ignoreHealthcheck) === 'true' || isSelf(live)) return null;
  return healthOf(live);
}

function countsForHealth({ target, live }: HealthPair): boolean {
  if (target !== null) return !isSkipped(target);
  return live === null || !isHook(live);
}

function isSilentChild(live: KubeObject, health: HealthStatus): boolean {
  const { group, kind } = gkOf(live);
  return (
    group === 'argoproj.io' && kind === 'Application' && (health.status === 'Missing' || health.status === 'Unknown')
  );
}

function causeText(causes: readonly string[]): string {
  if (causes.length === 0) return '';
  const shown = causes.slice(0, 3).join(', ');
  return `Caused by ${shown}${causes.length > 3 ? ` and ${causes.length - 3} more` : ''}`;
}
