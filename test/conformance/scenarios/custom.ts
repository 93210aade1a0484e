import { get, patch, post, put, quietly, scenario } from '../scenario.ts';
import type { ConformanceScenario } from '../scenario.ts';
import { all, definitions, place, say, schema, served, text, widget } from './definitions.ts';

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const ab = { type: 'object', properties: { a: text, b: text } };
const either = [{ required: ['a'] }, { required: ['b'] }];
const combined = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        any: { ...ab, anyOf: either },
        one: { ...ab, oneOf: either },
        not: { ...ab, not: { required: ['a'] } },
        all: { ...ab, allOf: [{ required: ['a'] }] },
        deep: { type: 'array', items: { type: 'object', properties: { name: text } } },
        length: { type: 'string', minLength: 2 },
        embedded: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    },
  },
};

/** Custom resources, and their definitions. */
export const custom: readonly ConformanceScenario[] = [
  ...definitions,
  scenario('schemas that are combined', [
    ...served('combined', { schema: combined }),
    ...[
      { any: { a: 'x' }, one: { a: 'x' }, all: { a: 'x' }, deep: [{ name: 'a' }], length: 'ab' },
      { any: {} },
      { one: {} },
      { one: { a: 'x', b: 'y' } },
      { not: { a: 'x' } },
      { all: {} },
      { deep: [{ name: 1 }] },
      { deep: {} },
      { length: 'a' },
    ].map((spec) => say('combined', spec)),
    post(`${place('combined')}?fieldValidation=Strict`, {
      ...widget('combined', 'x', { embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, free: true } }),
      metadata: { name: 'x', alien: 1 },
    }),
    say('combined', { embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, free: true } }, 'embedded'),
    say('combined', {}, 'none'),
    post(place('combined'), { ...widget('combined', 'x', {}), metadata: { name: 'x', labels: { a: 1 } } }),
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
      widget('apply', 'w', { size: 2, parts: [{ name: 'b', weight: 2 }], tags: ['y'] }),
    ),
    patch('apply', `${place('apply')}/w?fieldManager=second`, widget('apply', 'w', { size: 3, atoms: ['r'] })),
    patch('apply', `${place('apply')}/w?fieldManager=second`, widget('apply', 'w', { size: 2, unknown: 'x' })),
    patch(
      'apply',
      `${place('apply')}/w?fieldManager=second&fieldValidation=Strict`,
      widget('apply', 'w', { size: 2, unknown: 'x' }),
    ),
    patch('apply', `${place('apply')}/w?fieldManager=first`, widget('apply', 'w', { size: 2 })),
    ...[{ free: { x: { y: 1 }, list: [1] } }, { free: { x: { z: 2 } } }, { free: { list: [2] } }].map((spec, i) =>
      patch('apply', `${place('apply')}/w?fieldManager=free${i}`, widget('apply', 'w', { size: 2, ...spec })),
    ),
    ...[{ labels: { x: 'y' } }, {}].map((metadata) =>
      patch('apply', `${place('apply')}/w?fieldManager=labels`, {
        ...widget('apply', 'w', undefined),
        metadata: { name: 'w', ...metadata },
      }),
    ),
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
