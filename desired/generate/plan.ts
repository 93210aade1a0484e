import type { ApplicationSource, KubeObject, Repository } from '#model';
import type { FileDecryption } from '../decrypt/file-decryption.ts';
import type { Snapshot } from '../fetch/files/snapshot.ts';
import type { DirectoryNode } from '../fetch/files/tree.ts';
import type { Unpacker } from '../fetch/files/unpacker.ts';
import type { InputBudget } from '../inputs/input-budget.ts';
import type { DesiredLimits } from '../limits.ts';
import type { ManifestsRequest } from '../types.ts';
import type { ManifestReader } from './manifest-reader.ts';
import type { RenderTools } from './tools.ts';
import type { UnnamedObject } from './unnamed.ts';

/** A Git repository at a branch, tag or commit; "" is HEAD. */
export interface RemoteRepository {
  readonly url: string;
  readonly revision: string;
}

/** A chart that another chart depends on. */
export interface WantedChart {
  /** Its URL is that of the chart repository; `oci://` for a registry. */
  readonly repository: Repository;
  readonly chart: string;
  /** A version or a constraint. */
  readonly version: string;
}

/** Fetches files from outside the source's own repository. Each fails with DesiredError. */
export interface RelatedFetches {
  /** The repository of another source of the request, by `$ref`. */
  readonly fetchReferenced: (name: string, signal: AbortSignal) => Promise<Snapshot>;
  /** A repository that only the source names, if the project permits it. */
  readonly fetchRepository: (repository: RemoteRepository, signal: AbortSignal) => Promise<Snapshot>;
  /** A chart, if the project permits its repository. */
  readonly downloadChart: (chart: WantedChart, signal: AbortSignal) => Promise<Snapshot>;
  /** The content of a file by its URL, if the project permits the URL. */
  readonly downloadFile: (url: string, maxBytes: number, signal: AbortSignal) => Promise<Uint8Array>;
}

/** One source to render. */
export interface RenderJob extends RelatedFetches {
  readonly request: ManifestsRequest;
  /** With the override files of its directory applied. */
  readonly source: ApplicationSource;
  readonly repository: Repository;
  readonly snapshot: Snapshot;
  /**
   * The application's directory: its segments from the root as written (links allowed), and the
   * node they lead to.
   */
  readonly segments: readonly string[];
  readonly directory: DirectoryNode;
  /** Decrypts the files that the source names. */
  readonly decryption: FileDecryption;
  /** Names the server that renders it from now on, for the error at the deadline; '' for none. */
  readonly noteWait?: (server: string) => void;
}

export interface RenderedManifests {
  readonly objects: readonly KubeObject[];
  readonly unnamed?: readonly UnnamedObject[];
  /** Files that have some keys of a manifest but are none, each with its fault. */
  readonly ignored?: readonly string[];
  /** Approximate memory of the objects. */
  readonly bytes: number;
  /** Files were decrypted for it: it is never written to disk. */
  readonly isSecret?: boolean;
}

/**
 * How a source would be rendered. Planning comes first, so that an unchanged source is not rendered
 * again.
 */
export interface RenderPlan {
  /** Everything that decides the result: equal keys give equal manifests. */
  readonly key: readonly unknown[];
  render(signal: AbortSignal): Promise<RenderedManifests>;
}

/** The dependencies of every generator. */
export interface GeneratorDeps {
  readonly tools: RenderTools;
  readonly limits: DesiredLimits;
  readonly reader: ManifestReader;
  readonly inputs: InputBudget;
  readonly unpacker: Unpacker;
}
