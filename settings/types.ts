import type { Runnable } from '#base';
import type { ApplicationDestination, Cluster, Repository, Settings } from '#model';

/** Why a destination cannot be resolved; the message is Argo CD's (util/argo GetDestinationCluster). */
export interface UnresolvedDestination {
  readonly error: string;
}

/** Live view of argocd-cm, cluster Secrets and repository Secrets of the controller namespace. Reads are synchronous and from memory. */
export interface SettingsStore extends Runnable {
  /** The current snapshot; never changes in place. */
  settings(): Settings;
  /** All clusters, the implicit in-cluster one included, sorted by id then server. */
  clusters(): readonly Cluster[];
  /** `spec.destination` to a cluster, by server or by name, with Argo CD's errors. */
  resolve(destination: ApplicationDestination): Cluster | UnresolvedDestination;
  /** The repository of a URL for a project, with inherited credentials; a bare one when no Secret knows it. */
  repository(url: string, project: string): Repository;
  /**
   * The repositories of charts that Secrets name (those of type helm have a name there, too), and the credentials for others by the beginning
   * of their URL. A project may not be permitted to use all of them.
   */
  chartRepositories(): { readonly repositories: readonly Repository[]; readonly credentials: readonly Repository[] };
  /** The armored public keys of ConfigMap argocd-gpg-keys-cm, by key ID, once that has been read; none where there is no such ConfigMap. */
  gpgKeys(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Called after each change, with what changed. Returns the way to stop listening. */
  onChange(
    listener: (change: {
      readonly settings: boolean;
      readonly clusters: boolean;
      readonly repositories: boolean;
    }) => void,
  ): () => void;
  /** Entries that could not be read: where and why, without secrets. */
  problems(): readonly { readonly object: string; readonly message: string }[];
}
