import type { JsonObject, Runnable } from '#base';
import type { Repository } from '#model';
import type { DryCommit } from './dry-commit.ts';
import type { HydrationTexts } from './hydration-texts.ts';

/** The manifests of one Application, for its path in the hydrated branch. */
export interface HydratedPath {
  readonly path: string;
  readonly objects: readonly JsonObject[];
  /** The commands that rendered them, if they are known. */
  readonly commands: readonly string[];
}

/** A write to a repository or server, which ends when the right to write ends. */
export interface FencedCall {
  readonly signal: AbortSignal;
  /** Called right before each write is sent; throws OwnershipLost. */
  readonly beforeSend: () => void;
}

/** One commit for a group of Applications. */
export interface HydrationCommit {
  /** The destination, with credentials that may write. */
  readonly repository: Repository;
  /** The branch that the Applications sync from. */
  readonly syncBranch: string;
  /** The branch to write; based on `syncBranch` if it does not exist. */
  readonly targetBranch: string;
  /** The repository of the dry commit, as texts for people name it. */
  readonly dryUrl: string;
  readonly drySha: string;
  readonly dryCommit: DryCommit;
  /** The dry source is the default branch of this repository, which must not be written. */
  readonly isDryDefaultBranch: boolean;
  readonly message: string;
  /** Empty: Argo CD's default. */
  readonly readmeTemplate: string;
  /** The project of the Applications; empty if they have several. */
  readonly project: string;
  /** Empty: Argo CD's default. */
  readonly author: { readonly name: string; readonly email: string };
  readonly paths: readonly HydratedPath[];
  /** Runs a write under the ownership of the group. */
  readonly fenced: <T>(send: (call: FencedCall) => Promise<T>) => Promise<T>;
}

/** Writes hydrated manifests to a branch. */
export interface HydrationCommitter extends Runnable {
  readonly texts: Pick<HydrationTexts, 'message'>;
  /** A commit with more bytes of manifests is refused. */
  readonly maxBytes: number;
  /**
   * Returns the commit that has the manifests: a new one, or the present one if it has them.
   * @throws DesiredError with the text for `status.sourceHydrator`
   */
  commit(request: HydrationCommit, signal: AbortSignal): Promise<string>;
}
