import type { JsonObject } from '#base';
import type { ResourceIgnoreDifferences } from './application.ts';
import type { KubeObject } from './object.ts';
import type { HealthStatus } from './status.ts';
import type { TrackingSettings } from './tracking.ts';

/** One entry of `resource.exclusions` / `resource.inclusions`. Empty lists mean any. */
export interface FilteredResource {
  readonly apiGroups: readonly string[];
  readonly kinds: readonly string[];
  readonly clusters: readonly string[];
}

/** One entry of `resource.customizations`, keyed by `group/Kind` (or `Kind`, or globs, or `*\/*`). */
export interface ResourceOverride {
  readonly healthLua?: string;
  readonly useOpenLibs: boolean;
  readonly ignoreDifferences?: Omit<ResourceIgnoreDifferences, 'kind'>;
  readonly ignoreResourceUpdates?: Omit<ResourceIgnoreDifferences, 'kind'>;
  readonly knownTypeFields: readonly { readonly field: string; readonly type: string }[];
}

/** The health scripts of the administrators, compiled: a value of the settings, made by whoever holds the Lua engine. */
export interface HealthScripts {
  /** What the script of this kind says; null: it says nothing; undefined: there is no script for this kind. Never throws. */
  run(group: string, object: KubeObject): HealthStatus | null | undefined;
}

/**
 * Everything that argocd-cm says, as one immutable value. A pass of the controller reads it once, so that it never sees two versions of a
 * setting. `version` changes with the content: caches that depend on settings compare it.
 */
export interface Settings {
  readonly version: string;
  readonly tracking: TrackingSettings;
  readonly exclusions: readonly FilteredResource[];
  readonly inclusions: readonly FilteredResource[];
  readonly overrides: Readonly<Record<string, ResourceOverride>>;
  /** Absent where there is no Lua engine: kinds that `overrides` has a script for are then Unknown, never judged by another check. */
  readonly healthScripts?: HealthScripts;
  readonly ignoreResourceStatusField: 'all' | 'crd' | 'none';
  readonly ignoreAggregatedRoles: boolean;
  readonly ignoreDifferencesOnResourceUpdates: boolean;
  readonly ignoreResourceUpdatesEnabled: boolean;
  /** What becomes of a kind that may not be listed: told (`off`), or left out of the cache; with `strict`, when a review of access confirms it. */
  readonly respectRBAC: 'off' | 'normal' | 'strict';
  readonly sensitiveAnnotations: readonly string[];
  /** Labels of machines that the resource tree shows. */
  readonly allowedNodeLabels: readonly string[];
  readonly inClusterEnabled: boolean;
  readonly impersonation: { readonly enabled: boolean; readonly enforced: boolean };
  readonly globalProjects: readonly { readonly projectName: string; readonly labelSelector: JsonObject }[];
  readonly enabledSourceTypes: Readonly<Record<string, boolean>>;
  /** Raw ConfigMap data, for keys that only one reader knows. */
  readonly raw: Readonly<Record<string, string>>;
}

/** What holds with an empty or missing argocd-cm. */
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
  enabledSourceTypes: {},
  raw: {},
};
