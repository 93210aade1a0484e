import { contentHashOf } from '#controller';
import { keyOf, keyOfRef } from '#model';
import type { KubeObject, ResourceKey, ResourceResult } from '#model';
import { changedWriter } from '#sync';
import type { ClusterWriter } from '#sync';

/** The objects that a sync changes, or would change in a dry run. */
export class SyncChanges {
  readonly #isDryRun: boolean;
  readonly #changed = new Set<ResourceKey>();
  #hasWritten = false;

  constructor(isDryRun: boolean) {
    this.#isDryRun = isDryRun;
  }

  /** A request since the last `beginStep` has changed an object: the next wave waits for it. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  beginStep(): void {
    this.#hasWritten = false;
  }

  /** A dry run sends no deletions. */
  has(result: ResourceResult): boolean {
    return result.status === 'Pruned' || this.#changed.has(keyOfRef(result));
  }

  /** The writer; notes which requests change an object. */
  noting(writer: ClusterWriter): ClusterWriter {
    const changed = <T>(object: KubeObject, result: T): T => {
      this.#changed.add(keyOf(object));
      this.#hasWritten ||= !this.#isDryRun;
      return result;
    };
    return changedWriter(writer, {
      apply: async (target, live, how, signal) => {
        const result = await writer.apply(target, live, how, signal);
        return this.#isSame(target, live, result.object) ? result : changed(result.object, result);
      },
      create: async (object, signal) => {
        const result = await writer.create(object, signal);
        return changed(result.object, result);
      },
      delete: async (live, propagation, signal) => changed(live, await writer.delete(live, propagation, signal)),
      patchMetadata: async (live, patch, signal) => changed(live, await writer.patchMetadata(live, patch, signal)),
    });
  }

  /** A cached live object may have an older version, and a dry run has that of the live object. */
  #isSame(target: KubeObject, live: KubeObject | null, stored: KubeObject): boolean {
    if (live === null) return false;
    const { resourceVersion } = stored.metadata;
    const isVersion = resourceVersion !== undefined && resourceVersion === live.metadata.resourceVersion;
    return (
      stored === live || (isVersion && !this.#isDryRun) || contentHashOf(stored, target) === contentHashOf(live, target)
    );
  }
}
