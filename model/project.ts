import type { KubeObject, ObjectMeta } from './object.ts';

export interface ProjectDestination {
  readonly server?: string;
  readonly name?: string;
  readonly namespace?: string;
}

export interface ProjectGroupKind {
  readonly group: string;
  readonly kind: string;
  readonly name?: string;
}

export interface SyncWindow {
  readonly kind?: string;
  readonly schedule?: string;
  readonly duration?: string;
  readonly applications?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly clusters?: readonly string[];
  readonly manualSync?: boolean;
  readonly timeZone?: string;
  readonly andOperator?: boolean;
  readonly syncOverrun?: boolean;
}

/** One entry of `spec.sourceIntegrity.git.policies`. */
export interface GitIntegrityPolicy {
  /** Globs over repository URLs; `!glob` excludes a repository from this policy. */
  readonly repos?: readonly { readonly url?: string }[];
  readonly gpg?: {
    /** `none`, `head` or `strict`. */
    readonly mode?: string;
    /** Key IDs (16 hexadecimal digits) or fingerprints (40). */
    readonly keys?: readonly string[];
  };
}

export interface AppProjectSpec {
  readonly sourceRepos?: readonly string[];
  readonly destinations?: readonly ProjectDestination[];
  readonly clusterResourceWhitelist?: readonly ProjectGroupKind[];
  readonly clusterResourceBlacklist?: readonly ProjectGroupKind[];
  readonly namespaceResourceWhitelist?: readonly ProjectGroupKind[];
  readonly namespaceResourceBlacklist?: readonly ProjectGroupKind[];
  readonly orphanedResources?: {
    readonly warn?: boolean;
    readonly ignore?: readonly { readonly group?: string; readonly kind?: string; readonly name?: string }[];
  };
  readonly syncWindows?: readonly SyncWindow[];
  readonly sourceNamespaces?: readonly string[];
  /**
   * Deprecated upstream: the newest commit, or tag, of every repository must be signed by one of
   * these.
   */
  readonly signatureKeys?: readonly { readonly keyID?: string }[];
  readonly sourceIntegrity?: { readonly git?: { readonly policies?: readonly GitIntegrityPolicy[] } };
  readonly permitOnlyProjectScopedClusters?: boolean;
  readonly destinationServiceAccounts?: readonly {
    readonly server: string;
    readonly namespace?: string;
    readonly defaultServiceAccount: string;
  }[];
}

export interface AppProject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: AppProjectSpec;
}

export function asProject(object: KubeObject): AppProject {
  return { ...object, spec: object['spec'] ?? {} } as unknown as AppProject;
}
