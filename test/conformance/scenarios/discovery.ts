import { get, post, scenario } from '../scenario.ts';
import type { ConformanceScenario } from '../scenario.ts';

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

interface ResourceDiscovery {
  readonly name: string;
}

/** Kinds of the simulator: discovery is compared only for these, since a real server has more. */
const shared: Readonly<Record<string, readonly string[]>> = {
  v1: [
    'configmaps',
    'secrets',
    'pods',
    'services',
    'namespaces',
    'namespaces/status',
    'namespaces/finalize',
    'serviceaccounts',
    'persistentvolumeclaims',
    'persistentvolumes',
    'events',
    'nodes',
    'endpoints',
    'resourcequotas',
    'limitranges',
  ],
  'apps/v1': [
    'deployments',
    'deployments/scale',
    'deployments/status',
    'statefulsets',
    'statefulsets/scale',
    'statefulsets/status',
    'daemonsets',
    'daemonsets/status',
    'replicasets',
    'replicasets/scale',
    'replicasets/status',
    'controllerrevisions',
  ],
  'batch/v1': ['jobs', 'jobs/status', 'cronjobs', 'cronjobs/status'],
  'networking.k8s.io/v1': ['ingresses', 'ingresses/status', 'networkpolicies', 'ingressclasses'],
  'rbac.authorization.k8s.io/v1': ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
  'apiextensions.k8s.io/v1': ['customresourcedefinitions', 'customresourcedefinitions/status'],
  'autoscaling/v2': ['horizontalpodautoscalers', 'horizontalpodautoscalers/status'],
  'policy/v1': ['poddisruptionbudgets', 'poddisruptionbudgets/status'],
  'coordination.k8s.io/v1': ['leases'],
  'storage.k8s.io/v1': ['storageclasses'],
};

const only = (version: string) => (body: Record<string, unknown>) => {
  const wanted = shared[version] ?? [];
  const resources = (body['resources'] as ResourceDiscovery[]).filter(({ name }) => wanted.includes(name));
  return { ...body, resources: resources.sort((a, b) => (a.name < b.name ? -1 : 1)) };
};

interface GroupDiscovery {
  readonly metadata: { readonly name?: string };
  readonly versions: readonly {
    readonly version: string;
    readonly resources: readonly { readonly resource: string }[];
  }[];
}

const onlyGroup = (version: string) => (body: Record<string, unknown>) => {
  const [group = '', name = ''] = version.includes('/') ? version.split('/') : ['', version];
  const found = (body['items'] as GroupDiscovery[]).find(({ metadata }) => (metadata.name ?? '') === group);
  const served = found?.versions.find((one) => one.version === name);
  return {
    kind: body['kind'],
    apiVersion: body['apiVersion'],
    versions: found?.versions.map((one) => one.version),
    resources: served?.resources
      .filter(({ resource }) => (shared[version] ?? []).includes(resource))
      .sort((a, b) => (a.resource < b.resource ? -1 : 1)),
  };
};

const paths = (version: string): string => (version.includes('/') ? `/apis/${version}` : `/api/${version}`);

interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

/** How clients merge the lists and maps of some types. */
const merged = [
  'io.k8s.api.core.v1.PodSpec',
  'io.k8s.api.core.v1.Container',
  'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
  'io.k8s.api.apps.v1.DeploymentSpec',
  'io.k8s.api.apps.v1.DeploymentStatus',
];
const mergeRules = (body: Record<string, unknown>): unknown => {
  const { schemas } = (body as unknown as OpenApi).components;
  return merged.map((type) => {
    const { properties = {} } = schemas[type] as { readonly properties?: Readonly<Record<string, object>> };
    const rules = Object.entries(properties).map(([name, schema]) => {
      const found = Object.entries(schema).filter(([key]) => key.startsWith('x-kubernetes-'));
      return [name, Object.fromEntries(found)] as const;
    });
    return { type, rules: Object.fromEntries(rules.filter(([, found]) => Object.keys(found).length > 0)) };
  });
};
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** Discovery, OpenAPI and version. */
export const discovery: readonly ConformanceScenario[] = [
  scenario('plain discovery', [
    get('/api', { show: ({ kind, versions }) => ({ kind, versions }) }),
    get('/apis', {
      show: ({ kind, apiVersion, groups }) => ({
        kind,
        apiVersion,
        groups: (groups as { name: string }[])
          .filter(({ name }) => Object.keys(shared).some((version) => version.startsWith(`${name}/`)))
          .sort((a, b) => (a.name < b.name ? -1 : 1)),
      }),
    }),
    get('/apis/apps'),
    get('/apis/nothing.example.com'),
    get('/apis/apps/v9'),
    ...Object.keys(shared).map((version) => get(paths(version), { show: only(version) })),
  ]),
  scenario('aggregated discovery', [
    ...Object.keys(shared).map((version) =>
      get(version.includes('/') ? '/apis' : '/api', {
        accept: `${aggregated},application/json`,
        show: onlyGroup(version),
      }),
    ),
    get('/apis', {
      accept: 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
      show: ({ kind, apiVersion }) => ({ kind, apiVersion }),
    }),
  ]),
  scenario('version and health', [
    get('/version', {
      show: ({ major, minor, gitVersion, platform }) =>
        [major, minor, gitVersion, platform].map((value) => typeof value),
    }),
    get('/healthz'),
    get('/livez'),
    get('/readyz'),
  ]),
  scenario('openapi v3', [
    get('/openapi/v3', {
      show: (body) =>
        ['api/v1', 'apis/apps/v1', 'apis/batch/v1'].map((path) => [
          path,
          typeof (body['paths'] as Record<string, { serverRelativeURL: string }>)[path]?.serverRelativeURL,
        ]),
    }),
    get('/openapi/v3/apis/apps/v1', {
      show: (body) => {
        const { openapi, paths: all, components } = body as unknown as OpenApi;
        const path = all['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'];
        return {
          openapi,
          operations: Object.keys(path ?? {})
            .filter((key) => key !== 'parameters')
            .sort(),
          gvk: (components.schemas['io.k8s.api.apps.v1.Deployment'] as Record<string, unknown> | undefined)?.[
            'x-kubernetes-group-version-kind'
          ],
        };
      },
    }),
    get('/openapi/v3/apis/apps/v1', { show: mergeRules }),
    get('/openapi/v3/apis/nothing.example.com/v1'),
  ]),
  scenario('access reviews', [
    post(
      reviews,
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { verb: 'create', resource: 'pods' } },
      },
      { show: ({ status }) => (status as { allowed: unknown }).allowed },
    ),
    get(reviews),
  ]),
];
