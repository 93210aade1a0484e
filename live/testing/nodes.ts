import { defaultSettings } from '#model';
import type { KubeObject, OwnerReference } from '#model';
import { createNodeReader } from '../objects/stored-node.ts';

/** Kinds of the fixtures without a namespace. */
export const clusterScoped = new Set(['Namespace', 'ClusterRole']);
/** Converts an object with the default settings. */
export const nodeOf = createNodeReader(defaultSettings, ({ kind }) => !clusterScoped.has(kind));

/** The fields of an object that matter to the store. */
export interface NodeSpec {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly apiVersion?: string;
  readonly uid?: string;
  readonly owners?: readonly Partial<OwnerReference>[];
  readonly app?: string;
  /** The object that the tracking id names, if it was copied from there. */
  readonly original?: string;
  readonly rest?: Record<string, unknown>;
}

/** An object with default values for the other fields. */
export function object({
  kind,
  name,
  namespace = 'ns',
  apiVersion = 'v1',
  uid = `uid-${name}`,
  owners = [],
  app,
  original = name,
  rest,
}: NodeSpec): KubeObject {
  const scope = clusterScoped.has(kind) ? {} : { namespace };
  const annotations =
    app === undefined ? {} : { 'argocd.argoproj.io/tracking-id': `${app}:/${kind}:${namespace}/${original}` };
  const ownerReferences = owners.map((o) => ({ apiVersion: 'v1', kind, name: '', uid: '', ...o }));
  const metadata = { name, ...scope, uid, resourceVersion: '1', annotations, ownerReferences };
  return { apiVersion, kind, metadata, ...rest };
}
