import type { DiffResult } from '#diff';
import type { ApplicationCondition, KubeObject } from '#model';

/** Findings of a comparison besides a difference. */
interface ResourceFindings {
  readonly diff: Pick<DiffResult, 'lastAppliedFault' | 'hiddenFields'>;
  /** Why the API server refuses the change of a server-side diff. */
  readonly refusedChange?: string;
  /** Whether the object is deployed by the Application, and nothing in it says what was applied. */
  readonly isUnrecorded: boolean;
}

const none: readonly ApplicationCondition[] = [];
const maxShownFields = 3;

/** Warnings about one resource; none of them stops a sync. */
export function resourceWarnings(object: KubeObject, found: ResourceFindings): readonly ApplicationCondition[] {
  const { refusedChange: refusal, diff, isUnrecorded } = found;
  const { lastAppliedFault: fault, hiddenFields: hidden } = diff;
  if (refusal === undefined && fault === undefined && hidden === undefined && !isUnrecorded) return none;
  const which = namedInWarning(object);
  return [
    ...(refusal === undefined ? [] : [refusedChange(which, refusal)]),
    ...(fault === undefined ? [] : [lastApplied(which, fault)]),
    ...(hidden === undefined ? [] : [hiddenByVersion(which, object, hidden)]),
    ...(isUnrecorded ? [unrecorded(which)] : []),
  ];
}

/** `Kind/namespace/name`. */
export function namedInWarning({ kind, metadata: { name = '', namespace = '' } }: KubeObject): string {
  return `${kind}/${namespace === '' ? '' : `${namespace}/`}${name}`;
}

function refusedChange(which: string, reason: string): ApplicationCondition {
  return {
    type: 'RefusedChangeWarning',
    message: `${which} differs from its manifest, and the API server refuses the change: ${reason}. A sync with Replace=true,Force=true deletes and recreates the object`,
  };
}

function lastApplied(which: string, fault: string): ApplicationCondition {
  return {
    type: 'LastAppliedWarning',
    message: `The last-applied-configuration annotation of ${which} ${fault}: nothing is removed because of it. The next sync that changes the object rewrites it`,
  };
}

function hiddenByVersion(which: string, { apiVersion }: KubeObject, paths: readonly string[]): ApplicationCondition {
  const more = paths.length > maxShownFields ? ` and ${paths.length - maxShownFields} more` : '';
  return {
    type: 'LastAppliedWarning',
    message: `${which} was applied at another API version, with fields that ${apiVersion} does not show: ${paths.slice(0, maxShownFields).join(', ')}${more}. The next sync removes what Git has dropped`,
  };
}

function unrecorded(which: string): ApplicationCondition {
  return {
    type: 'LastAppliedWarning',
    message: `${which} has lost the managed fields of its last sync: fields that Git has dropped since stay, and nothing else says which they are. The next sync that changes the object records its fields again`,
  };
}
