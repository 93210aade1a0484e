import { defined, messageOf } from '#base';
import { maskSecrets } from '#diff';
import type { ContainerChoice, LiveCluster, LiveEvent, LiveLog } from '#live';
import { apiVersionOf, keyOfRef } from '#model';
import type { Application, KubeObject, ResourceKey, ResourceRef, Settings } from '#model';
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

/** What was reported about an object of an Application. */
export interface ReportedEvents {
  /** The newest first. */
  readonly items: readonly LiveEvent[];
  /** Why they could not be read. */
  readonly message?: string;
}

/** The end of a container's log. */
export interface ReportedLog extends LiveLog {
  /** Why it could not be read. */
  readonly message?: string;
}

/** Reads one object of the tree; undefined: the tree does not have it. */
export async function reportObject(
  app: Application,
  ref: ResourceRef,
  deps: ObjectReportDeps,
  signal: AbortSignal,
): Promise<ReportedObject | undefined> {
  const found = await findInTree(app, ref, deps, signal);
  if (found === undefined) return undefined;
  const { key, version, cluster } = found;
  const { group, kind, namespace, name } = ref;
  const target: KubeObject = { apiVersion: apiVersionOf(group, version), kind, metadata: { name, namespace } };
  // No object is tracked by the empty instance: only this one is read.
  const { objects, unread } = await cluster.managed({ app: '', targets: [target] }, signal);
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

/** The events about one object of the tree; undefined: the tree does not have it. */
export async function reportEvents(
  app: Application,
  ref: ResourceRef,
  deps: TreeReportDeps,
  signal: AbortSignal,
): Promise<ReportedEvents | undefined> {
  const found = await findInTree(app, ref, deps, signal);
  if (found === undefined) return undefined;
  const read = async (): Promise<ReportedEvents> => ({ items: await found.cluster.activity.events(ref, signal) });
  return orMessage(read, { items: [] }, signal);
}

/** The log of one pod of the tree; undefined: the tree does not have it, or it is no pod. */
export async function reportLog(
  app: Application,
  { ref, choice }: WantedLog,
  deps: TreeReportDeps,
  signal: AbortSignal,
): Promise<ReportedLog | undefined> {
  const found = ref.group === '' && ref.kind === 'Pod' ? await findInTree(app, ref, deps, signal) : undefined;
  if (found === undefined) return undefined;
  const none = { container: choice.container ?? '', containers: [], text: '' };
  return orMessage(() => found.cluster.activity.log(ref, choice, signal), none, signal);
}

/** A pod, and one of its containers. */
export interface WantedLog {
  readonly ref: ResourceRef;
  readonly choice: ContainerChoice;
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

interface FoundObject {
  readonly key: ResourceKey;
  readonly version: string;
  readonly cluster: LiveCluster;
}

async function findInTree(
  app: Application,
  ref: ResourceRef,
  deps: TreeReportDeps,
  signal: AbortSignal,
): Promise<FoundObject | undefined> {
  const key = keyOfRef(ref);
  const entries = await treeEntries(app, deps, signal);
  const found = typeof entries === 'string' ? undefined : entries.find((entry) => entry.key === key);
  if (found === undefined || deps.cluster === undefined) return undefined;
  return { key, version: found.node.version, cluster: deps.cluster };
}
