import { defined } from '#base';
import { maskSecrets } from '#diff';
import { apiVersionOf, keyOfRef } from '#model';
import type { Application, KubeObject, ResourceRef, Settings } from '#model';
import { shownManifest } from './masked-value.ts';
import { trimmedText } from './resource-differences.ts';
import { treeEntries } from './tree-report.ts';
import type { TreeReportDeps } from './tree-report.ts';

/** One object of an Application, or one that it owns. */
export interface ReportedObject extends ResourceRef {
  readonly version: string;
  /** YAML with masked values, cut after 8 KiB; absent: it is not in the manifests. */
  readonly desired?: string;
  /** The same of the live object; absent: it is missing, or could not be read. */
  readonly live?: string;
  /** Why the live object could not be read. */
  readonly message?: string;
}

export interface ObjectReportDeps extends TreeReportDeps {
  readonly settings: Settings;
}

/** Reads one object of the tree; undefined: the tree does not have it. */
export async function reportObject(
  app: Application,
  ref: ResourceRef,
  deps: ObjectReportDeps,
  signal: AbortSignal,
): Promise<ReportedObject | undefined> {
  const key = keyOfRef(ref);
  const entries = await treeEntries(app, deps, signal);
  const found = typeof entries === 'string' ? undefined : entries.find((entry) => entry.key === key);
  if (found === undefined || deps.cluster === undefined) return undefined;
  const { version } = found.node;
  const { group, kind, namespace, name } = ref;
  const target: KubeObject = { apiVersion: apiVersionOf(group, version), kind, metadata: { name, namespace } };
  // No object is tracked by the empty instance: only this one is read.
  const { objects, unread } = await deps.cluster.managed({ app: '', targets: [target] }, signal);
  const row = deps.rows.find((one) => one.key === key);
  const desired = row?.diff.predictedLive ?? null;
  const masked = maskSecrets(desired, objects.get(key) ?? null, deps.settings.sensitiveAnnotations);
  return {
    group,
    kind,
    namespace,
    name,
    version,
    ...defined({
      desired:
        masked.target === null
          ? undefined
          : row?.isTrimmed === true
            ? `# ${trimmedText}`
            : shownManifest(masked.target),
      live: masked.live === null ? undefined : shownManifest(masked.live),
      message: unread[0]?.message,
    }),
  };
}
