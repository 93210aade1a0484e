import type { JsonObject } from '#base';
import type { ResourceIgnoreDifferences } from './application.ts';
import type { KubeObject } from './object.ts';
import type { HealthStatus } from './status.ts';
import type { TrackingSettings } from './tracking.ts';

/** One entry of `resource.exclusions` / `resource.inclusions`. An empty list matches everything. */
export interface FilteredResource {
  readonly apiGroups: readonly string[];
  readonly kinds: readonly string[];
  readonly clusters: readonly string[];
}

/**
 * One entry of `resource.customizations`, keyed by `group/Kind` (or `Kind`, or globs, or `*\/*`).
 */
export interface ResourceOverride {
  readonly healthLua?: string;
  readonly useOpenLibs: boolean;
  readonly ignoreDifferences?: Omit<ResourceIgnoreDifferences, 'kind'>;
  readonly ignoreResourceUpdates?: Omit<ResourceIgnoreDifferences, 'kind'>;
  readonly knownTypeFields: readonly { readonly field: string; readonly type: string }[];
}

/**
 * A setting that narrows what the controller does, and cannot be read: see `unreadable` of {@link
 * Settings}.
 */
export interface UnreadableSetting {
  /** The key of argocd-cm; `argocd-cm` if all of it is missing. */
  readonly key: string;
  /** The fault and its line, as the end of a sentence about the key. Never contains a value. */
  readonly problem: string;
  /**
   * The customization (`apps/Deployment`, `*\/*`) whose ignored fields it names; absent: the
   * setting concerns every write.
   */
  readonly kind?: string;
  /** True: its last readable value stays in force. False: there is none. */
  readonly isKept: boolean;
}

/**
 * The administrators' compiled health scripts: a value of the settings, created by the module with
 * the Lua engine.
 */
export interface HealthScripts {
  /**
   * The health that the script of this kind returns; null if it returns none, undefined if the kind
   * has no script. Never throws.
   */
  run(group: string, object: KubeObject): HealthStatus | null | undefined;
}

/**
 * The content of argocd-cm as one immutable value. A pass of the controller reads it once, so it
 * never mixes two versions. `version` changes with the content: caches that depend on settings
 * compare it.
 */
export interface Settings {
  readonly version: string;
  readonly tracking: TrackingSettings;
  readonly exclusions: readonly FilteredResource[];
  readonly inclusions: readonly FilteredResource[];
  readonly overrides: Readonly<Record<string, ResourceOverride>>;
  /**
   * Absent without a Lua engine: kinds with a script in `overrides` are then Unknown, never
   * assessed by another check.
   */
  readonly healthScripts?: HealthScripts;
  readonly ignoreResourceStatusField: 'all' | 'crd' | 'none';
  readonly ignoreAggregatedRoles: boolean;
  readonly ignoreDifferencesOnResourceUpdates: boolean;
  readonly ignoreResourceUpdatesEnabled: boolean;
  /**
   * How to handle a kind that must not be listed: report it (`off`), or leave it out of the cache
   * (`strict`: only if an access review confirms it).
   */
  readonly respectRBAC: 'off' | 'normal' | 'strict';
  readonly sensitiveAnnotations: readonly string[];
  /** Node labels that the resource tree shows. */
  readonly allowedNodeLabels: readonly string[];
  readonly inClusterEnabled: boolean;
  readonly impersonation: { readonly enabled: boolean; readonly enforced: boolean };
  readonly globalProjects: readonly { readonly projectName: string; readonly labelSelector: JsonObject }[];
  /** Globs of the label keys that Events about an Application carry, and of those left out. */
  readonly eventLabelKeys: { readonly include: readonly string[]; readonly exclude: readonly string[] };
  readonly enabledSourceTypes: Readonly<Record<string, boolean>>;
  /**
   * Narrowing settings that cannot be read. Without a last readable value, nothing that they
   * concern is written.
   */
  readonly unreadable: readonly UnreadableSetting[];
  /** Raw ConfigMap data, for keys with a single reader. */
  readonly raw: Readonly<Record<string, string>>;
}

/** The settings for an empty or missing argocd-cm. */
export const defaultSettings: Settings = {
  version: 'default',
  tracking: { method: 'annotation', labelKey: 'app.kubernetes.io/instance', installationId: '' },
  exclusions: [],
  inclusions: [],
  overrides: {},
  ignoreResourceStatusField: 'all',
  ignoreAggregatedRoles: false,
  ignoreDifferencesOnResourceUpdates: true,
  ignoreResourceUpdatesEnabled: true,
  respectRBAC: 'off',
  sensitiveAnnotations: [],
  allowedNodeLabels: [],
  inClusterEnabled: true,
  impersonation: { enabled: false, enforced: true },
  globalProjects: [],
  eventLabelKeys: { include: [], exclude: [] },
  enabledSourceTypes: {},
  unreadable: [],
  raw: {},
};
