import { get, patch, post, put, quietly, remove, scenario } from '../scenario.ts';
import type { ScenarioCall, ConformanceScenario } from '../scenario.ts';

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

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

const schema = {
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
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

const place = (group: string): string => `/apis/${group}.example.com/v1/namespaces/{ns}/widgets`;
const widget = (group: string, name: string, spec: unknown, more: object = {}): object => ({
  apiVersion: `${group}.example.com/v1`,
  kind: 'Widget',
  metadata: { name },
  ...(spec === undefined ? {} : { spec }),
  ...more,
});

const established = (body: Record<string, unknown> | undefined): boolean =>
  ((body?.['status'] as { conditions?: { type: string; status: string }[] } | undefined)?.conditions ?? []).some(
    ({ type, status }) => type === 'Established' && status === 'True',
  );

/** Creates a CRD and waits until discovery, OpenAPI and requests know its kind. */
function served(group: string, what: CrdOptions): readonly ScenarioCall[] {
  const name = `widgets.${group}.example.com`;
  return [
    quietly(post(crds, crd(group, what))),
    quietly(get(`${crds}/${name}`, { until: ({ body }) => established(body) })),
    quietly(get(place(group), { until: ({ status }) => status === 200 })),
    quietly(get(`/apis/${group}.example.com/v1`, { until: ({ status }) => status === 200 })),
  ];
}

const all = { schema, version: { subresources: { status: {} }, additionalPrinterColumns: columns } };
const say = (group: string, spec: unknown, name = 'w'): ScenarioCall => post(place(group), widget(group, name, spec));

export const custom: readonly ConformanceScenario[] = [
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
  scenario('pruning and defaulting', [
    ...served('prune', all),
    say('prune', {
      size: 3,
      unknown: 'x',
      nested: { deep: 'set', other: 1 },
      free: { any: ['thing', { a: null }] },
      parts: [{ name: 'p', junk: 1 }],
    }),
    post(
      `${place('prune')}?fieldValidation=Strict`,
      widget('prune', 'strict', { size: 3, unknown: 'x', nested: { other: 1 } }),
    ),
    post(
      `${place('prune')}?fieldValidation=Warn`,
      widget('prune', 'warn', { size: 3, unknown: 'x', nested: { other: 1 } }),
    ),
    post(`${place('prune')}?fieldValidation=Ignore`, widget('prune', 'ignore', { size: 3, unknown: 'x' })),
    patch('merge', `${place('prune')}/w`, { spec: { nested: null, color: null } }),
    patch('merge', `${place('prune')}/w`, { spec: { maybe: null, port: '80%' } }),
    say('prune', { size: 1, maybe: null, color: null, nested: null }, 'nulls'),
    post(place('prune'), widget('prune', 'extra', { size: 1 }, { extra: 'top' })),
    post(place('prune'), widget('prune', 'st', { size: 1 }, { status: { state: 'mine' } })),
  ]),
  scenario('values that do not fit the schema', [
    ...served('check', all),
    say('check', undefined),
    say('check', {}),
    say('check', { size: 'big' }),
    say('check', { size: 1.5 }),
    say('check', { size: 0 }),
    say('check', { size: 11 }),
    say('check', { size: 1, color: 'green' }),
    say('check', { size: 1, label: 'toolongvalue' }),
    say('check', { size: 1, label: 'UPPER' }),
    say('check', { size: 1, ratio: 'x', flag: 'yes' }),
    say('check', { size: 1, port: true }),
    say('check', { size: 1, when: 'yesterday' }),
    say('check', { size: 1, parts: [{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }] }),
    say('check', { size: 1, parts: [{ name: 'a' }, { name: 'a' }] }),
    say('check', { size: 1, parts: [{ weight: 1 }] }),
    say('check', { size: 1, tags: ['a', 'a'] }),
    say('check', { size: 1, map: { a: 'x' } }),
    say('check', { size: 1, free: 'text' }),
    say('check', 'text'),
    say('check', { size: 1, nested: 'text' }),
    say('check', { size: 1, flag: null }, 'nulled'),
    say('check', { size: 1, replicas: 4294967296 }),
    say('check', { size: 0, color: 'green', label: 'UPPER' }),
    quietly(say('check', { size: 1 }, 'good')),
    patch('merge', `${place('check')}/good`, { spec: { size: 99 } }),
    patch('json', `${place('check')}/good`, [{ op: 'replace', path: '/spec/size', value: 'x' }]),
    patch('json', `${place('check')}/good`, [{ op: 'remove', path: '/spec/absent' }]),
    patch('strategic', `${place('check')}/good`, { spec: { size: 2 } }),
    put(`${place('check')}/good`, widget('check', 'good', { size: 2 })),
    say('check', { size: 1 }, 'Bad_Name'),
  ]),
  scenario('rules in CEL', [
    ...served('cel', {
      schema: {
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            properties: { min: { type: 'integer' }, max: { type: 'integer' }, name: { type: 'string' } },
            'x-kubernetes-validations': [
              { rule: 'self.min <= self.max', message: 'min must not be above max' },
              { rule: '!has(oldSelf.name) || self.name == oldSelf.name', message: 'name is immutable' },
            ],
          },
        },
      },
    }),
    say('cel', { min: 1, max: 2, name: 'a' }),
    say('cel', { min: 3, max: 2 }, 'x'),
    patch('merge', `${place('cel')}/w`, { spec: { name: 'b' } }),
  ]),
  scenario('custom tables and apply', [
    ...served('apply', all),
    patch(
      'apply',
      `${place('apply')}/w?fieldManager=first`,
      widget('apply', 'w', { size: 2, parts: [{ name: 'a', weight: 1 }], tags: ['x'], atoms: ['p', 'q'] }),
    ),
    patch(
      'apply',
      `${place('apply')}/w?fieldManager=second`,
      widget('apply', 'w', { size: 2, parts: [{ name: 'b' }], tags: ['y'] }),
    ),
    patch('apply', `${place('apply')}/w?fieldManager=second`, widget('apply', 'w', { size: 3, atoms: ['r'] })),
    patch('apply', `${place('apply')}/w?fieldManager=second`, widget('apply', 'w', { size: 2, unknown: 'x' })),
    patch(
      'apply',
      `${place('apply')}/w?fieldManager=second&fieldValidation=Strict`,
      widget('apply', 'w', { size: 2, unknown: 'x' }),
    ),
    patch('apply', `${place('apply')}/w?fieldManager=first`, widget('apply', 'w', { size: 2 })),
    get(place('apply'), { accept: table }),
    get(`${place('apply')}/w`, { accept: table }),
  ]),
  scenario('custom status and generation', [
    ...served('status', {
      ...all,
      version: {
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
            labelSelectorPath: '.status.selector',
          },
        },
      },
    }),
    say('status', { size: 1 }),
    patch('merge', `${place('status')}/w`, { status: { state: 'ignored' } }),
    patch('merge', `${place('status')}/w/status`, {
      status: { state: 'ready', replicas: 1, selector: 'a=b' },
      spec: { size: 9 },
    }),
    patch('merge', `${place('status')}/w`, { spec: { size: 2 } }),
    patch('merge', `${place('status')}/w`, { metadata: { labels: { a: 'b' } } }, { show: ({ metadata }) => metadata }),
    get(`${place('status')}/w/scale`),
    patch('merge', `${place('status')}/w/scale`, { spec: { replicas: 4 } }),
    patch('merge', `${place('status')}/w/scale`, { spec: { replicas: -1 } }),
    get(`${place('status')}/w`, { show: ({ spec, status }) => ({ spec, status }) }),
  ]),
  scenario('custom without status', [
    ...served('plain', { schema }),
    post(place('plain'), widget('plain', 'w', { size: 1 }, { status: { state: 'kept' } })),
    patch('merge', `${place('plain')}/w`, { status: { state: 'changed' } }),
    patch('merge', `${place('plain')}/w`, { metadata: { labels: { a: 'b' } } }),
    get(`${place('plain')}/w/status`),
    get(place('plain'), { accept: table }),
    get(`${place('plain')}?fieldSelector=metadata.name%3Dw`, { show: ({ items }) => (items as unknown[]).length }),
    get(`${place('plain')}?fieldSelector=spec.size%3D1`),
  ]),
];
