import type { GroupKind } from '#model';

/** A right that the API server decides about. */
export interface ResourceRight {
  readonly verb: 'get' | 'list';
  readonly group: string;
  /** The plural name; `*` for all. */
  readonly resource: string;
  readonly subresource?: string;
  /** "" for all namespaces. */
  readonly namespace: string;
  /** Absent: all objects of the resource. */
  readonly name?: string;
}

/** The contents of pages, each with the rights that show it. */
export type RightName =
  | 'control'
  | 'applications'
  | 'settings'
  | 'projects'
  | 'clusters'
  | 'repositories'
  | 'objects'
  | 'everyObject'
  | 'objectEvents'
  | 'log';

/** Where the rights of a request are asked. */
export interface RightScope {
  /** The controller's own namespace. */
  readonly controller: string;
  /** The namespace of the Application; that of the controller for other pages. */
  readonly application: string;
  /** The namespace of the object; absent: the page is not about one. */
  readonly object?: string;
  /** Whether the objects are in the cluster that answers the reviews. */
  readonly isHub: boolean;
}

/**
 * Group of the rights that Driftless names itself: the API server has no such objects, but its
 * rules decide about them. They spare viewers the right to Secrets.
 */
export const ownGroup = 'driftless.io';

export function applicationsRight(namespace: string): ResourceRight {
  return { verb: 'get', group: 'argoproj.io', resource: 'applications', namespace };
}

/** The rights of which one is enough. */
export function alternativesOf(right: RightName, scope: RightScope): readonly ResourceRight[] {
  const { controller, application, object = application, isHub } = scope;
  // Cluster Secrets hold the credentials, so their readers can read everything in the clusters.
  const secrets: ResourceRight = { verb: 'list', group: '', resource: 'secrets', namespace: controller };
  const own = (resource: string, namespace = controller): ResourceRight => ({
    verb: 'get',
    group: ownGroup,
    resource,
    namespace,
  });
  switch (right) {
    case 'control':
      return [applicationsRight(controller)];
    case 'applications':
      return [applicationsRight(application)];
    case 'settings':
      return [{ verb: 'get', group: '', resource: 'configmaps', namespace: controller, name: 'argocd-cm' }];
    case 'projects':
      return [{ verb: 'get', group: 'argoproj.io', resource: 'appprojects', namespace: controller }];
    case 'clusters':
      return [secrets, own('clusters')];
    case 'repositories':
      return [secrets, own('repositories')];
    case 'objects':
      return [secrets, own('objects', application)];
    case 'everyObject':
      return isHub ? [{ verb: 'get', group: '*', resource: '*', namespace: '' }] : alternativesOf('objects', scope);
    case 'objectEvents':
      return isHub
        ? [{ verb: 'list', group: '', resource: 'events', namespace: eventNamespace(object) }]
        : alternativesOf('objects', scope);
    case 'log':
      return isHub
        ? [{ verb: 'get', group: '', resource: 'pods', subresource: 'log', namespace: object }]
        : [secrets, own('logs', application)];
  }
}

/** Events about cluster-scoped objects are in the namespace "default". */
function eventNamespace(namespace: string): string {
  return namespace === '' ? 'default' : namespace;
}

/** The right to read the objects of a kind in the cluster that answers the reviews. */
export function kindRight({ group }: GroupKind, resource: string, namespace: string): ResourceRight {
  return { verb: 'get', group, resource, namespace };
}

/** A right in the words of `kubectl auth can-i`. */
export function rightText({ verb, group, resource, subresource, namespace, name }: ResourceRight): string {
  const part = subresource === undefined ? '' : `/${subresource}`;
  const what = group === '' ? `${resource}${part}` : `${resource}.${group}${part}`;
  const where = namespace === '' ? 'in all namespaces' : `in namespace "${namespace}"`;
  return `${verb} ${what}${name === undefined ? '' : ` "${name}"`} ${where}`;
}

/** Alternatives in one text. */
export function rightsText(rights: readonly ResourceRight[]): string {
  return rights.map(rightText).join(', or to ');
}
