import { recordAtVersion } from '#diff';
import { isConflict } from '#kube';
import type { KubeObject } from '#model';
import { needsVersion } from './apply-rules.ts';

/** Attempts of a write that conflicts with other writers. */
export const maxConflictAttempts = 5;

/** The replacement of one object. */
export interface Replacement {
  readonly target: KubeObject;
  /** Live fields are merged into what is sent: it needs the version that they come from. */
  readonly isMerged: boolean;
  /** Whether another owner has the newer version; undefined if a replacement may overwrite any. */
  readonly isTaken: ((fresh: KubeObject) => boolean) | undefined;
  readonly read: () => Promise<KubeObject | null>;
  /** Sends the target, with the fields of `live`, under a version; undefined: under any. */
  readonly send: (live: KubeObject | null, version: string | undefined) => Promise<KubeObject>;
}

/**
 * Replaces the current object despite busy writers: without a resourceVersion where the server
 * allows it, otherwise with the current one. With `isTaken`, names the version that was compared,
 * like Argo CD; after a conflict, the decision holds for a newer version of the same object.
 */
export async function replaceObject(
  { target, isMerged, isTaken, read, send }: Replacement,
  current: KubeObject,
): Promise<KubeObject> {
  const isExact = isTaken !== undefined;
  const named = isExact ? current.metadata.resourceVersion : target.metadata.resourceVersion;
  const attempts = isExact ? maxConflictAttempts : named === undefined ? maxConflictAttempts + 1 : 1;
  let version = named ?? (isMerged ? current.metadata.resourceVersion : undefined);
  let live: KubeObject | null = current;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(live, version);
    } catch (error) {
      const isRace = isConflict(error) || (!isExact && needsVersion(error));
      if (!isRace || attempt >= attempts) throw error;
      live = await read();
      if (isExact && (!isSame(live, current) || isTaken(live))) throw error;
      version = live?.metadata.resourceVersion;
    }
  }
}

function isSame(live: KubeObject | null, object: KubeObject): live is KubeObject {
  return live !== null && live.metadata.uid === object.metadata.uid;
}

export function withVersion(object: KubeObject, resourceVersion: string | undefined): KubeObject {
  return resourceVersion === undefined ? object : { ...object, metadata: { ...object.metadata, resourceVersion } };
}

/** The manifest with our record in the managed fields at its own API version, if that changes. */
export function withRecord(
  sent: KubeObject,
  under: KubeObject | null,
  own: { readonly fieldManager?: string },
): KubeObject {
  const managedFields = under === null ? undefined : recordAtVersion(sent, under, own);
  return managedFields === undefined ? sent : { ...sent, metadata: { ...sent.metadata, managedFields } };
}
