import { omit } from '#base';
import type { ApplyPatch } from '../applied/client-side-apply.ts';
import type { KubeObject } from '#model';
import { clientSideApplyPatch, predictApply } from '../applied/client-side-apply.ts';
import { serverSideTarget } from '../applied/server-side-target.ts';
import type { OwnershipRules } from '../field-ownership/known-shape.ts';
import type { ApplyMethod } from './apply-method.ts';

/** The request of a server-side diff: what a sync sends, as a dry run. */
export type DryRunRequest =
  | { readonly verb: 'apply'; readonly body: KubeObject }
  | ({ readonly verb: 'patch' } & ApplyPatch)
  | { readonly verb: 'replace'; readonly body: KubeObject };

/**
 * Undefined when the sync would send nothing. A replacement is predicted with what only other
 * writers own in live: they set it again, so it would differ after every sync. Like the sync, it
 * names no version and no managed fields: another writer may have stored a status meanwhile.
 */
export function dryRunRequest(
  target: KubeObject,
  live: KubeObject,
  method: ApplyMethod,
  rules: OwnershipRules,
): DryRunRequest | undefined {
  if (method === 'server') return { verb: 'apply', body: serverSideTarget(target, live, rules) };
  if (method === 'client') {
    const patch = clientSideApplyPatch(target, live, rules);
    return patch === undefined ? undefined : { verb: 'patch', ...patch };
  }
  const body = predictApply(target, live, 'replace', rules);
  if (body === live) return undefined;
  return { verb: 'replace', body: { ...body, metadata: omit(body.metadata, 'managedFields', 'resourceVersion') } };
}
