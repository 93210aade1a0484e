import type { AppProject, Cluster, Repository, Settings } from '#model';
import type { UnresolvedDestination } from '#settings';

/** Everything that decides what an Application may do, by value. */
export interface PolicyFacts {
  readonly settings: Settings;
  /** The project that the Application names, and all global projects, as stored. */
  readonly projects: readonly AppProject[];
  /** Secrets of the repositories that the Application names. */
  readonly repositories: readonly Pick<Repository, 'url' | 'project'>[];
  readonly cluster: Cluster | UnresolvedDestination;
  /** Clusters that serve only this project. */
  readonly scoped: readonly Cluster[];
}
