import { defined, messageOf } from '#base';
import { maskSecrets } from '#diff';
import type { ContainerChoice, LiveCluster, LiveEvent, LiveLog } from '#live';
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

/** An object of the tree of an Application, and where it lives. */
export interface ObjectInTree {
  readonly ref: ResourceRef;
  readonly version: string;
  readonly cluster: LiveCluster;
}

/** The events about an object. */
export interface ReportedEvents {
  /** The newest first. */
  readonly items: readonly LiveEvent[];
  /** Why they could not be read. */
  readonly message?: string;
}

export type ReportedLog = LiveLog;

/** Finds an object; undefined: the tree does not have it, or there is none. */
export async function findInTree(
  app: Application,
  ref: ResourceRef,
  deps: TreeReportDeps,
  signal: AbortSignal,
): Promise<ObjectInTree | undefined> {
  const key = keyOfRef(ref);
  const entries = await treeEntries(app, deps, signal);
  const found = typeof entries === 'string' ? undefined : entries.find((entry) => entry.key === key);
  if (found === undefined || deps.cluster === undefined) return undefined;
  return { ref, version: found.node.version, cluster: deps.cluster };
}

/** Reads the object, and its row of the last comparison. */
export async function reportObject(
  { ref, version, cluster }: ObjectInTree,
  { rows, settings }: Pick<TreeReportDeps, 'rows'> & { readonly settings: Settings },
  signal: AbortSignal,
): Promise<ReportedObject> {
  const key = keyOfRef(ref);
  const { group, kind, namespace, name } = ref;
  const target: KubeObject = { apiVersion: apiVersionOf(group, version), kind, metadata: { name, namespace } };
  // No object is tracked by the empty instance: only this one is read.
  const { objects, unread } = await cluster.managed({ app: '', targets: [target] }, signal);
  const row = rows.find((one) => one.key === key);
  const desired = row?.diff.predictedLive ?? null;
  const masked = maskSecrets(desired, objects.get(key) ?? null, settings.sensitiveAnnotations);
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

export function reportEvents({ ref, cluster }: ObjectInTree, signal: AbortSignal): Promise<ReportedEvents> {
  const read = async (): Promise<ReportedEvents> => ({ items: await cluster.activity.events(ref, signal) });
  return orMessage(read, { items: [] }, signal);
}

/** The log of a Pod. */
export function reportLog(
  { ref, cluster }: ObjectInTree,
  choice: ContainerChoice,
  signal: AbortSignal,
): Promise<ReportedLog> {
  const none = { container: choice.container ?? '', containers: [], text: '' };
  return orMessage(() => cluster.activity.log(ref, choice, signal), none, signal);
}

/** Whether an object can have a log. */
export function isPod({ group, kind }: ResourceRef): boolean {
  return group === '' && kind === 'Pod';
}

async function orMessage<T extends object>(
  read: () => Promise<T>,
  none: T,
  signal: AbortSignal,
): Promise<T & { readonly message?: string }> {
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    return { ...none, message: messageOf(error) };
  }
}
