/**
 * @driftless/engine/diff: how a live object differs from its target. Three-way as kubectl's
 * client-side apply, or by the managed fields of server-side apply; normalization, ignore rules and
 * masking of Secrets as in Argo CD. Pure: values in, values out.
 */
import { defined } from '#base';
import type { DiffRules } from '#diff';
import { clientSideManager } from '#model';
import type { ResourceIgnoreDifferences } from '#model';
import { parseSettings } from '#settings';
import { mustBeFieldManager } from './sync/field-manager.ts';

export { diffObjects, maskSecrets } from '#diff';
export type { DiffResult, DiffRules, ObjectPair, RuleFault } from '#diff';
export type { KubeObject, ResourceIgnoreDifferences } from '#model';

export interface DiffOptions {
  /** Rules as in `spec.ignoreDifferences` of an Application. */
  readonly ignoreDifferences?: readonly ResourceIgnoreDifferences[];
  /** Keys of argocd-cm: `resource.customizations.ignoreDifferences.apps_Deployment`, … */
  readonly settings?: Readonly<Record<string, string>>;
  /** Predict server-side apply by our field manager instead of client-side apply. */
  readonly serverSideApply?: boolean;
  /** The name under which the sync applies. Default: `argocd-controller`. */
  readonly fieldManager?: string;
}

/**
 * The rules of `diffObjects`. A malformed key of `settings` is ignored, as in the controller.
 * @throws an error with `code` `USAGE` for a `fieldManager` that no API server accepts
 */
export function diffRules({
  ignoreDifferences = [],
  settings = {},
  serverSideApply = false,
  fieldManager,
}: DiffOptions = {}): DiffRules {
  if (fieldManager !== undefined) mustBeFieldManager(fieldManager, 'fieldManager');
  return {
    settings: parseSettings(settings).settings,
    ignoreDifferences,
    serverSideApply,
    adoptFrom: clientSideManager,
    ...defined({ fieldManager }),
  };
}
