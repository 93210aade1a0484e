import { recordApiVersions, schemaApiVersions } from '#compare';
import type { LiveState } from '#compare';
import type { LiveCluster, LiveSchemas } from '#live';
import type { Application, KubeObject, Settings } from '#model';
import { DerivedCache } from './derived-cache.ts';

/** The schemas of a comparison, and the group versions that were read for them. */
export interface ReadSchemas {
  readonly read: readonly string[];
  readonly schemas: LiveSchemas | undefined;
}

/** The cluster, and the manifests that are compared with its objects. */
interface ComparedSides {
  readonly cluster: LiveCluster;
  readonly targets: readonly KubeObject[];
}

/** Reads the published schemas that comparisons need, and no others. */
export class SchemaReads {
  readonly #described = new DerivedCache<readonly KubeObject[], readonly string[]>();
  /** Group versions whose schemas the live objects of these targets turned out to need. */
  readonly #recorded = new WeakMap<readonly KubeObject[], readonly string[]>();

  /** Before the live objects are read: what the manifests need, and what they needed last time. */
  async begin(
    { cluster, targets }: ComparedSides,
    app: Application,
    settings: Settings,
    signal: AbortSignal,
  ): Promise<ReadSchemas> {
    const described = this.#described.of(targets, [settings, app.spec.ignoreDifferences, app.spec.syncPolicy], () =>
      schemaApiVersions(app, targets, settings),
    );
    const read = [...new Set([...described, ...(this.#recorded.get(targets) ?? [])])];
    return { read, schemas: read.length === 0 ? undefined : await cluster.schemas(read, signal) };
  }

  /** Adds the schemas that only the live objects show to be needed. */
  async complete(
    { cluster, targets }: ComparedSides,
    { read, schemas }: ReadSchemas,
    { objects }: LiveState,
    signal: AbortSignal,
  ): Promise<LiveSchemas | undefined> {
    const recorded = recordApiVersions(targets, objects);
    const all = [...new Set([...read, ...recorded])];
    if (all.length === read.length) return schemas;
    this.#recorded.set(targets, recorded);
    return cluster.schemas(all, signal);
  }
}
