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
  readonly read: () => Promise<KubeObject | null>;
  /** Sends the target, with the fields of `live`, under a version; undefined: under any. */
  readonly send: (live: KubeObject | null, version: string | undefined) => Promise<KubeObject>;
}

/**
 * Replaces the current object despite busy writers: without a resourceVersion where the server
 * allows it, otherwise with the current one.
 */
export async function overwrite(
  { target, isMerged, read, send }: Replacement,
  current: KubeObject,
): Promise<KubeObject> {
  const named = target.metadata.resourceVersion;
  let version = named ?? (isMerged ? current.metadata.resourceVersion : undefined);
  let live: KubeObject | null = current;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(live, version);
    } catch (error) {
      const mayRetry = named === undefined && attempt <= maxConflictAttempts;
      if (!mayRetry || !(isConflict(error) || needsVersion(error))) throw error;
      live = await read();
      version = live?.metadata.resourceVersion;
    }
  }
}

/**
 * Replaces an object whose deletion would delete its contents. Like Argo CD, names the version that
 * was compared. After a conflict, the decision holds for a newer version of the object, unless
 * another owner has taken it over.
 */
export async function replaceInPlace(
  { read, send }: Replacement,
  compared: KubeObject,
  isTaken: (fresh: KubeObject) => boolean,
): Promise<KubeObject> {
  let live = compared;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(live, live.metadata.resourceVersion);
    } catch (error) {
      if (!isConflict(error) || attempt >= maxConflictAttempts) throw error;
      const fresh = await read();
      if (fresh === null || fresh.metadata.uid !== compared.metadata.uid || isTaken(fresh)) throw error;
      live = fresh;
    }
  }
}

export function withVersion(object: KubeObject, resourceVersion: string | undefined): KubeObject {
  return resourceVersion === undefined ? object : { ...object, metadata: { ...object.metadata, resourceVersion } };
}
