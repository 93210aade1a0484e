import type { Runnable } from '#base';
import type { ApplicationDestination, Cluster, KubeObject, Repository, Settings, SourceDecryption } from '#model';

/**
 * Why a destination cannot be resolved; the message is Argo CD's (util/argo GetDestinationCluster).
 */
export interface UnresolvedDestination {
  readonly error: string;
  /** The cluster exists, but the project may not use it. */
  readonly refused?: true;
  /** Why the cluster may exist all the same: an unreadable Secret, a setting or the spec. */
  readonly claim?: string;
  /** The Secret that had the cluster before, and what became of it. */
  readonly former?: string;
}

/** Writes the ConfigMap of the settings in force, and Events. */
export interface SettingsWriter {
  /** Creates the ConfigMap, or replaces the version that was read. */
  keep(object: KubeObject, signal: AbortSignal): Promise<void>;
  record(event: KubeObject, signal: AbortSignal): Promise<void>;
}

/**
 * Live view of argocd-cm, cluster Secrets and repository Secrets of the controller namespace. Reads
 * are synchronous and from memory.
 */
export interface SettingsStore extends Runnable {
  /** The current snapshot; never mutated. */
  settings(): Settings;
  /** All clusters, one for each URL, with the implicit in-cluster one, sorted by id then server. */
  clusters(): readonly Cluster[];
  /**
   * Resolves `spec.destination` by server or by name, with Argo CD's errors. With a project,
   * refuses a cluster scoped to another one; without, only locates it: that grants no permission.
   */
  resolve(destination: ApplicationDestination, project?: string): Cluster | UnresolvedDestination;
  /**
   * The repository of a URL for a project, with inherited credentials; a bare one if no Secret
   * names it.
   */
  repository(url: string, project: string): Repository;
  /**
   * The repository of a URL for writing hydrated manifests: only the Secrets for writing count.
   */
  writeRepository(url: string, project: string): Repository;
  /**
   * Chart repositories named by Secrets (those of type helm also have a name), and credentials by
   * URL prefix. A project may not be permitted to use all of them.
   */
  chartRepositories(): { readonly repositories: readonly Repository[]; readonly credentials: readonly Repository[] };
  /**
   * The armored public keys of ConfigMap argocd-gpg-keys-cm by key ID, after its first read; none
   * if the ConfigMap does not exist.
   */
  gpgKeys(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** The keys of a Secret for decryption, or why there are none. */
  decryptionKeys(secret: string): SourceDecryption;
  /** Called after each change, with its kind. Returns a function that unsubscribes. */
  onChange(
    listener: (change: {
      readonly settings: boolean;
      readonly clusters: boolean;
      readonly repositories: boolean;
    }) => void,
  ): () => void;
  /** Unreadable entries: object and reason, without secret values. */
  problems(): readonly { readonly object: string; readonly message: string }[];
}
