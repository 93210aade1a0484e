import { get, patch, post, quietly, remove, scenario } from '../scenario.ts';
import type { ScenarioCall, ConformanceScenario } from '../scenario.ts';

export const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface CrdOptions {
  readonly schema: object;
  readonly version?: object;
  readonly spec?: object;
}

/** A CRD in a group of its own, so that scenarios do not share kinds. */
function crd(group: string, { schema, version = {}, spec = {} }: CrdOptions): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}.example.com` },
    spec: {
      group: `${group}.example.com`,
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList', shortNames: ['wd'] },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version }],
      ...spec,
    },
  };
}

export const schema = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1, maximum: 10 },
        color: { type: 'string', enum: ['red', 'blue'], default: 'red' },
        label: { type: 'string', maxLength: 5, pattern: '^[a-z]*$' },
        replicas: { type: 'integer', format: 'int32', default: 1 },
        ratio: { type: 'number' },
        flag: { type: 'boolean' },
        port: { 'x-kubernetes-int-or-string': true },
        when: { type: 'string', format: 'date-time' },
        nested: { type: 'object', default: {}, properties: { deep: { type: 'string', default: 'value' } } },
        maybe: { type: 'string', nullable: true },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        map: { type: 'object', additionalProperties: { type: 'integer' } },
        parts: {
          type: 'array',
          maxItems: 3,
          items: {
            type: 'object',
            required: ['name'],
            properties: { name: { type: 'string' }, weight: { type: 'integer', default: 5 } },
          },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
        tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        atoms: { type: 'array', items: { type: 'string' } },
      },
    },
    status: {
      type: 'object',
      properties: { state: { type: 'string' }, replicas: { type: 'integer' }, selector: { type: 'string' } },
    },
  },
};

const columns = [
  { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
  { name: 'Color', type: 'string', jsonPath: '.spec.color', description: 'what it looks like' },
  { name: 'Part', type: 'string', jsonPath: '.spec.parts[0].name', priority: 1 },
  { name: 'Absent', type: 'string', jsonPath: '.spec.none' },
  { name: 'Second', type: 'string', jsonPath: '.spec.parts[?(@.weight==2)].name' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

export const place = (group: string): string => `/apis/${group}.example.com/v1/namespaces/{ns}/widgets`;
export const widget = (group: string, name: string, spec: unknown, more: object = {}): object => ({
  apiVersion: `${group}.example.com/v1`,
  kind: 'Widget',
  metadata: { name },
  ...(spec === undefined ? {} : { spec }),
  ...more,
});

interface CrdCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

const conditionsOf = (body: Record<string, unknown> | undefined): readonly CrdCondition[] =>
  (body?.['status'] as { conditions?: readonly CrdCondition[] } | undefined)?.conditions ?? [];
const established = (body: Record<string, unknown> | undefined): boolean =>
  conditionsOf(body).some(({ type, status }) => type === 'Established' && status === 'True');

/** Creates a CRD and waits until discovery, OpenAPI and requests know its kind. */
export function served(group: string, what: CrdOptions): readonly ScenarioCall[] {
  const name = `widgets.${group}.example.com`;
  return [
    quietly(post(crds, crd(group, what))),
    quietly(get(`${crds}/${name}`, { until: ({ body }) => established(body) })),
    quietly(get(place(group), { until: ({ status }) => status === 200 })),
    quietly(get(`/apis/${group}.example.com/v1`, { until: ({ status }) => status === 200 })),
  ];
}

export const text = { type: 'string' };
const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
const old = '/apis/twice.example.com/v1beta1/namespaces/{ns}/widgets';
export const all = { schema, version: { subresources: { status: {} }, additionalPrinterColumns: columns } };
export const say = (group: string, spec: unknown, name = 'w'): ScenarioCall =>
  post(place(group), widget(group, name, spec));

/** CustomResourceDefinitions: their checks, versions, names and deletion. */
export const definitions: readonly ConformanceScenario[] = [
  scenario('a definition', [
    post(crds, crd('crd', all)),
    get(`${crds}/widgets.crd.example.com`, {
      until: ({ body }) => established(body),
      show: ({ status, spec, metadata }) => ({
        status,
        spec,
        generation: (metadata as { generation?: unknown }).generation,
      }),
    }),
    quietly(get('/apis/crd.example.com/v1', { until: ({ status }) => status === 200 })),
    get('/apis/crd.example.com/v1'),
    get('/apis/crd.example.com'),
    quietly(get(place('crd'), { until: ({ status }) => status === 200 })),
    get(place('crd')),
    quietly(post(place('crd'), widget('crd', 'w', { size: 1 }))),
    remove(`${crds}/widgets.crd.example.com`, undefined, {
      show: ({ kind, metadata, status }) => ({
        kind,
        finalizers: (metadata as { finalizers?: unknown } | undefined)?.finalizers,
        status: typeof status,
      }),
    }),
    get(`${crds}/widgets.crd.example.com`, { until: ({ status }) => status === 404 }),
    get(place('crd'), { until: ({ status }) => status === 404 }),
  ]),
  scenario('definitions that are refused', [
    post(crds, crd('bad1', { schema: { type: 'object', properties: { a: { type: 'wheel' } } } })),
    post(crds, crd('bad2', { schema: { properties: { a: { type: 'string' } } } })),
    post(crds, crd('bad3', { schema: { type: 'object', properties: { a: { properties: {} } } } })),
    post(crds, crd('bad4', { schema: { type: 'object', properties: { a: { type: 'array' } } } })),
    post(crds, crd('bad5', { schema, spec: { scope: 'Somewhere' } })),
    post(crds, { ...crd('bad6', { schema }), metadata: { name: 'other.bad6.example.com' } }),
    post(crds, crd('bad7', { schema, version: { storage: false } })),
    post(crds, crd('bad8', { schema, spec: { versions: [] } })),
    post(crds, crd('bad9', { schema: { type: 'object', properties: { a: { type: 'integer', default: 'word' } } } })),
    post(crds, crd('bad10', { schema: { type: 'object', properties: { a: { type: 'string', pattern: '[' } } } }), {
      show: ({ reason, code }) => ({ reason, code }),
    }),
    post(
      crds,
      crd('bad11', {
        schema,
        version: { additionalPrinterColumns: [{ name: 'X', type: 'widget', jsonPath: 'nope' }] },
      }),
    ),
  ]),
  scenario('definitions with a bad member', [
    ...[
      { names: { plural: 'widgets', kind: undefined } },
      { names: { plural: 'widgets', kind: 'Widget', listKind: 'Widget' } },
      { scope: undefined },
      ...[
        [{ storage: true }, { name: 'v2', storage: true }],
        [{ storage: true }, { storage: false }],
        [{ schema: undefined }],
      ].map((list) => ({ versions: list.map((one) => ({ ...version, ...one })) })),
    ].map((spec, i) => post(crds, crd(`odd${i}`, { schema, spec }))),
    ...[
      { properties: {} },
      { type: 'object', properties: { a: text }, additionalProperties: text },
      { type: 'object', $ref: '#/x' },
      { type: 'array', items: text, uniqueItems: true },
      { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'map' },
      {
        type: 'array',
        items: { type: 'object', properties: { a: text } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['b'],
      },
      { type: 'string', 'x-kubernetes-int-or-string': true },
      { type: 'object', anyOf: [{ type: 'object' }] },
    ].map((spec, i) => post(crds, crd(`member${i}`, { schema: { type: 'object', properties: { spec } } }))),
  ]),
  scenario('definitions are completed', [
    post(crds, crd('plain-names', { schema, spec: { names: { plural: 'widgets', kind: 'Widget' } } }), {
      show: ({ spec }) => (spec as { names: unknown }).names,
    }),
  ]),
  scenario('a kind that is in use', [
    ...served('used', { schema }),
    quietly(
      post(crds, {
        ...crd('used', { schema, spec: { names: { plural: 'gadgets', kind: 'Widget' } } }),
        metadata: { name: 'gadgets.used.example.com' },
      }),
    ),
    get(`${crds}/gadgets.used.example.com`, {
      until: ({ body }) =>
        conditionsOf(body).some(({ type, status }) => type === 'NamesAccepted' && status === 'False'),
      show: (body) => conditionsOf(body).map(({ type, status, reason }) => ({ type, status, reason })),
    }),
    get('/apis/used.example.com/v1/gadgets'),
  ]),
  scenario('one object in several versions', [
    ...served('twice', {
      schema,
      spec: { versions: [version, { ...version, name: 'v1beta1', storage: false }] },
    }),
    quietly(get(old, { until: ({ status }) => status === 200 })),
    say('twice', { size: 1 }),
    get(`${old}/w`),
    patch('merge', `${old}/w`, { spec: { size: 2 } }),
    get(`${place('twice')}/w`),
    get('/apis/twice.example.com', { until: ({ status }) => status === 200 }),
    patch(
      'merge',
      `${crds}/widgets.twice.example.com`,
      { spec: { versions: [version] } },
      { show: ({ kind }) => kind },
    ),
  ]),
  scenario('a definition that goes before its objects', [
    ...served('going', { schema }),
    quietly(post(place('going'), widget('going', 'w', { size: 1 }))),
    quietly(
      post(place('going'), {
        ...widget('going', 'held', { size: 1 }),
        metadata: { name: 'held', finalizers: ['example.com/hold'] },
      }),
    ),
    quietly(remove(`${crds}/widgets.going.example.com`)),
    get(`${place('going')}/w`, { until: ({ status }) => status === 404 }),
    get(`${place('going')}/held`, { show: ({ kind }) => kind }),
    quietly(patch('merge', `${place('going')}/held`, { metadata: { finalizers: null } })),
    get(`${crds}/widgets.going.example.com`, { until: ({ status }) => status === 404 }),
  ]),
];
