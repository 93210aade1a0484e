import { deepEqual, omit } from '#base';
import type { LiveCluster, LiveSchemas } from '#live';
import { jsonOf } from '#model';
import type { AppKey, Application, KubeObject, ResourceKey, Settings } from '#model';
import { withoutRefreshRequest } from '../application/refresh-annotation.ts';
import type { RenderedSources } from './rendering.ts';

/**
 * All inputs of a comparison, by identity, version or content id: equal bases, equal results. Keeps
 * none of the objects alive, except the Application, which the informer keeps too.
 */
export interface ComparisonBasis {
  readonly app: Application;
  readonly settings: Settings;
  /** Cluster, served kinds and project: see `policyVersion` of `CompareFacts` in #compare. */
  readonly policyVersion: string;
  /** The rendered objects of each source, by content id or, if it has none, by list. */
  readonly objects: readonly (string | WeakRef<readonly KubeObject[]>)[];
  /** Revisions and types of the sources: the status contains them. */
  readonly revisions: string;
  /** The live objects and their trees: see `evidence` of #live. */
  readonly evidence: string;
  readonly schemas: string;
}

/** The live objects that a comparison has seen. An event about one of them may arrive later. */
export interface LiveSight {
  readonly cluster: LiveCluster;
  /** Without them the sight is lost: it keeps no manifests alive. */
  readonly targets: WeakRef<readonly KubeObject[]>;
  /** See `evidence` of #live. */
  readonly evidence: string;
}

/** Asks whether a comparison has seen objects that changed. */
export interface SeenQuestion {
  readonly sight: LiveSight;
  readonly key: AppKey;
  readonly app: Application;
  readonly changed: ReadonlySet<ResourceKey>;
}

/** A pass that left nothing to do: another one with the same inputs would do nothing either. */
export interface RestingPass {
  readonly basis: ComparisonBasis;
  readonly rowsCount: number;
  readonly isOutOfSync: boolean;
}

/** The facts of a comparison that are known before it reads the live objects. */
export interface BasisFacts {
  readonly app: Application;
  readonly settings: Settings;
  readonly policyVersion: string | undefined;
  readonly schemas: LiveSchemas | undefined;
  /** The API server takes part in the comparison. */
  readonly isServerSide: boolean;
  readonly rendered: RenderedSources;
  readonly evidence: string | undefined;
}

/**
 * Undefined if the result depends on more than these inputs, or one of them is in doubt or
 * incomplete.
 */
export function basisOf(inputs: BasisFacts): ComparisonBasis | undefined {
  const { app, settings, policyVersion, schemas, isServerSide, rendered, evidence } = inputs;
  const { parts } = rendered;
  if (policyVersion === undefined || evidence === undefined || parts === undefined) return undefined;
  if (rendered.facts.failed || rendered.apis !== undefined || isServerSide) return undefined;
  return {
    app,
    settings,
    policyVersion,
    objects: parts.map((part) => (typeof part === 'string' ? part : new WeakRef(part))),
    revisions: JSON.stringify([rendered.facts.revisions, rendered.facts.sourceTypes]),
    evidence,
    schemas: schemas?.version ?? '',
  };
}

export function isSameBasis(before: ComparisonBasis, now: ComparisonBasis): boolean {
  return (
    isSameApplication(before.app, now.app) &&
    before.settings === now.settings &&
    before.policyVersion === now.policyVersion &&
    before.objects.length === now.objects.length &&
    before.objects.every((part, i) => isSamePart(part, now.objects[i])) &&
    before.revisions === now.revisions &&
    before.evidence === now.evidence &&
    before.schemas === now.schemas
  );
}

/**
 * Whether a comparison of both has the same result: they are equal except for a refresh request and
 * what each write changes.
 */
function isSameApplication(before: Application, now: Application): boolean {
  return (
    before === now || (hasSameInputs(before, now) && deepEqual(jsonOf(before.status ?? {}), jsonOf(now.status ?? {})))
  );
}

/** Like {@link isSameApplication}, whatever their statuses are. */
export function hasSameInputs(before: Application, now: Application): boolean {
  return deepEqual(jsonOf(inputsOf(before)), jsonOf(inputsOf(now)));
}

function inputsOf(app: Application): object {
  const { metadata, ...rest } = withoutRefreshRequest(app);
  return {
    ...omit(rest, 'status'),
    metadata: omit(metadata, 'resourceVersion', 'generation', 'managedFields'),
  };
}

function isSamePart(before: ComparisonBasis['objects'][number], now: typeof before | undefined): boolean {
  if (typeof before === 'string' || typeof now === 'string') return before === now;
  return isSameObject(before, now);
}

/** An object that was collected is never the same. */
function isSameObject<T extends object>(before: WeakRef<T>, now: WeakRef<T> | undefined): boolean {
  const object = before.deref();
  return object !== undefined && object === now?.deref();
}

/**
 * Whether one of these objects has another version than in the last comparison. It saves reading
 * the evidence, which takes all objects of a big Application.
 * @param compared the live objects of the last comparison, if they are kept
 */
export async function hasChangedSince(
  cluster: Pick<LiveCluster, 'rows'>,
  changed: ReadonlySet<ResourceKey>,
  compared: ReadonlyMap<ResourceKey, KubeObject> | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (compared === undefined) return false;
  const rows = await cluster.rows([...changed], signal);
  return [...changed].some((key) => {
    const version = compared.get(key)?.metadata.resourceVersion;
    return version !== undefined && version !== rows.get(key)?.resourceVersion;
  });
}
