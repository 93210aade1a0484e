import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createMergePatch } from '#base';
import type { Json, JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject, ResourceIgnoreDifferences, ResourceOverride, Settings } from '#model';
import { compileExpression } from '../jq/compile.ts';
import { clientSideApplyPatch, predictApply } from '../applied/client-side-apply.ts';
import { removePaths } from '../shared/removal.ts';
import type { RespectMethod } from './merge.ts';
import { respectIgnored } from './respect.ts';

type Part = Record<string, unknown>;
const methods: readonly RespectMethod[] = ['client', 'server', 'whole'];

function kube(apiVersion: string, kind: string, body: Part, metadata: Part = {}): KubeObject {
  return { apiVersion, kind, metadata: { name: 'x', ...metadata }, ...body };
}
const deployment = (spec: Part, metadata?: Part): KubeObject => kube('apps/v1', 'Deployment', { spec }, metadata);
const custom = (spec: Part, metadata?: Part): KubeObject => kube('example.com/v1', 'Thing', { spec }, metadata);
const pods = (containers: readonly Part[], more: Part = {}): Part => ({ template: { spec: { containers, ...more } } });

/** Live with the last-applied annotation of kubectl. */
function noted(live: KubeObject, applied: unknown): KubeObject {
  const annotations = {
    ...live.metadata.annotations,
    'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(applied),
  };
  return { ...live, metadata: { ...live.metadata, annotations } };
}

function respect(
  target: KubeObject,
  live: KubeObject,
  rule: Partial<ResourceIgnoreDifferences>,
  method: RespectMethod = 'whole',
): KubeObject {
  const ignoreDifferences = [{ group: '*', kind: '*', ...rule }];
  return respectIgnored(target, live, { settings: defaultSettings, ignoreDifferences }, method);
}
const bare = (object: KubeObject): Part => object['spec'] as Part;
function afterApply(target: KubeObject, live: KubeObject, rule: Partial<ResourceIgnoreDifferences>): KubeObject {
  return predictApply(respect(target, live, rule, 'client'), live);
}

describe('respectIgnored', () => {
  it.each<[string, Partial<ResourceIgnoreDifferences>, Part, Part, Part]>([
    [
      'a pointer',
      { jsonPointers: ['/spec/replicas'] },
      { replicas: 1, paused: true },
      { replicas: 7 },
      { replicas: 7, paused: true },
    ],
    [
      'absent live',
      { jsonPointers: ['/spec/replicas'] },
      { replicas: 1, paused: true },
      { paused: false },
      { paused: true },
    ],
    [
      'absent in the target',
      { jsonPointers: ['/spec/replicas'] },
      { paused: true },
      { replicas: 7 },
      { paused: true, replicas: 7 },
    ],
    [
      'absent on both sides',
      { jsonPointers: ['/spec/replicas'] },
      { paused: true },
      { paused: false },
      { paused: true },
    ],
    [
      'a whole map',
      { jsonPointers: ['/spec/strategy'] },
      { strategy: { type: 'a' } },
      { strategy: { type: 'b', c: 1 } },
      { strategy: { type: 'b', c: 1 } },
    ],
    [
      'below a map that the target lacks',
      { jsonPointers: ['/spec/strategy/type'] },
      {},
      { strategy: { type: 'b', c: 1 } },
      { strategy: { type: 'b' } },
    ],
    [
      'below a map that live lacks',
      { jsonPointers: ['/spec/strategy/type'] },
      { strategy: { type: 'a', c: 1 } },
      {},
      { strategy: { c: 1 } },
    ],
    [
      'jq',
      { jqPathExpressions: ['.spec.a?, .spec.b.c'] },
      { a: 1, b: { c: 1, d: 1 } },
      { a: 2, b: { c: 2, d: 2 } },
      { a: 2, b: { c: 2, d: 1 } },
    ],
    [
      'several rules',
      { jsonPointers: ['/spec/a'], jqPathExpressions: ['.spec.b'] },
      { a: 1, b: 1, c: 1 },
      { a: 2, b: 2, c: 2 },
      { a: 2, b: 2, c: 1 },
    ],
    [
      'a rule that matches only the live value',
      { jqPathExpressions: ['.spec.a | select(. == 2)'] },
      { a: 1 },
      { a: 2 },
      { a: 1 },
    ],
    [
      'a rule that cannot be run, beside one that can',
      { jqPathExpressions: ['.spec | map(1)', '.spec.a'] },
      { a: 1, b: 1 },
      { a: 2, b: 2 },
      { a: 2, b: 1 },
    ],
    ['a value of another type', { jsonPointers: ['/spec/a/b'] }, { a: 'text' }, { a: { b: 1 } }, { a: 'text' }],
  ])('%s', (_name, rule, target, live, expected) => {
    expect(bare(respect(custom(target), custom(live), rule))).toEqual(expected);
    expect(bare(respect(deployment(target), deployment(live), rule))).toEqual(expected);
  });

  const image = '.spec.template.spec.containers[] | select(.name == "b") | .image';
  const sidecar = '.spec.template.spec.containers[] | select(.name == "proxy")';
  it.each<[string, Partial<ResourceIgnoreDifferences>, readonly Part[], readonly Part[], readonly Part[]]>([
    [
      'by name, whatever the order',
      { jqPathExpressions: [image] },
      [
        { name: 'a', image: '1' },
        { name: 'b', image: '1', tty: true },
      ],
      [
        { name: 'b', image: '9' },
        { name: 'a', image: '9' },
      ],
      [
        { name: 'a', image: '1' },
        { name: 'b', image: '9', tty: true },
      ],
    ],
    [
      'by index, where the indices differ',
      { jsonPointers: ['/spec/template/spec/containers/0/image'] },
      [
        { name: 'a', image: '1' },
        { name: 'b', image: '1' },
      ],
      [
        { name: 'a', image: '9' },
        { name: 'b', image: '9' },
      ],
      [
        { name: 'a', image: '9' },
        { name: 'b', image: '1' },
      ],
    ],
    [
      'a new container is as in the manifest',
      { jqPathExpressions: ['.spec.template.spec.containers[].image'] },
      [
        { name: 'new', image: '1' },
        { name: 'a', image: '1' },
      ],
      [{ name: 'a', image: '9' }],
      [
        { name: 'new', image: '1' },
        { name: 'a', image: '9' },
      ],
    ],
    [
      'an injected container keeps its position',
      { jqPathExpressions: [sidecar] },
      [{ name: 'a' }, { name: 'b' }],
      [{ name: 'a' }, { name: 'proxy', image: '9' }, { name: 'b' }],
      [{ name: 'a' }, { name: 'proxy', image: '9' }, { name: 'b' }],
    ],
    [
      "a container that both have is live's",
      { jqPathExpressions: [sidecar] },
      [{ name: 'proxy', image: '1', tty: true }, { name: 'a' }],
      [{ name: 'a' }, { name: 'proxy', image: '9' }],
      [{ name: 'proxy', image: '9' }, { name: 'a' }],
    ],
    [
      'an ignored container that live lacks is dropped',
      { jqPathExpressions: [sidecar] },
      [{ name: 'a' }, { name: 'proxy' }],
      [{ name: 'a' }],
      [{ name: 'a' }],
    ],
    [
      'variables inside',
      { jqPathExpressions: ['.spec.template.spec.containers[].env[]? | select(.name | test("^INJECTED_.*_.*_.*$"))'] },
      [{ name: 'a', env: [{ name: 'MINE', value: '1' }] }],
      [
        {
          name: 'a',
          env: [
            { name: 'INJECTED_A_B_C', value: '9' },
            { name: 'MINE', value: '9' },
          ],
        },
      ],
      [
        {
          name: 'a',
          env: [
            { name: 'INJECTED_A_B_C', value: '9' },
            { name: 'MINE', value: '1' },
          ],
        },
      ],
    ],
    [
      'arguments, a list of scalars',
      { jqPathExpressions: ['.spec.template.spec.containers[].args[]? | select(startswith("--tuned="))'] },
      [{ name: 'a', args: ['--x', '--tuned=1', '--y'] }],
      [{ name: 'a', args: ['--x', '--tuned=9', '--z'] }],
      [{ name: 'a', args: ['--x', '--tuned=9', '--y'] }],
    ],
  ])('containers: %s', (_name, rule, target, live, expected) => {
    const sent = respect(deployment(pods(target)), deployment(pods(live)), rule);
    expect(bare(sent)).toEqual(pods(expected));
    // The apply gives the same containers; kubectl chooses their order.
    const present = noted(deployment(pods(live)), deployment(pods(target)));
    const after = bare(afterApply(deployment(pods(target)), present, rule)) as {
      template: { spec: { containers: Part[] } };
    };
    const byName = (list: readonly Part[]): unknown => Object.fromEntries(list.map((item) => [item['name'], item]));
    expect(byName(after.template.spec.containers)).toEqual(byName(expected));
  });

  it.each<[string, readonly Part[], readonly Part[], readonly Part[]]>([
    [
      'items that are equal except for the ignored field, in another order',
      [
        { path: '/b', weight: 1 },
        { path: '/a', weight: 1 },
      ],
      [
        { path: '/a', weight: 50 },
        { path: '/b', weight: 60 },
      ],
      [
        { path: '/b', weight: 60 },
        { path: '/a', weight: 50 },
      ],
    ],
    [
      'a new first item does not match an old one',
      [
        { path: '/new', weight: 1 },
        { path: '/a', weight: 1 },
      ],
      [{ path: '/a', weight: 50 }],
      [
        { path: '/new', weight: 1 },
        { path: '/a', weight: 50 },
      ],
    ],
    [
      'a changed item with the same name',
      [
        { name: 'a', path: '/1', weight: 1 },
        { name: 'b', path: '/1', weight: 1 },
      ],
      [
        { name: 'b', path: '/9', weight: 60 },
        { name: 'a', path: '/9', weight: 50 },
      ],
      [
        { name: 'a', path: '/1', weight: 50 },
        { name: 'b', path: '/1', weight: 60 },
      ],
    ],
    [
      'a changed item without a name',
      [
        { path: '/a2', weight: 1 },
        { path: '/b', weight: 1 },
      ],
      [
        { path: '/a', weight: 50 },
        { path: '/b', weight: 60 },
      ],
      [
        { path: '/a2', weight: 50 },
        { path: '/b', weight: 60 },
      ],
    ],
    [
      'a removed item',
      [{ path: '/b', weight: 1 }],
      [
        { path: '/a', weight: 50 },
        { path: '/b', weight: 60 },
      ],
      [{ path: '/b', weight: 60 }],
    ],
  ])('lists of custom resources: %s', (_name, target, live, expected) => {
    const rule = { jqPathExpressions: ['.spec.routes[].weight'] };
    for (const method of methods)
      expect(bare(respect(custom({ routes: target }), custom({ routes: live }), rule, method))).toEqual({
        routes: expected,
      });
  });

  describe('rules from settings and managers', () => {
    const settings = (overrides: Settings['overrides']): Settings => ({ ...defaultSettings, overrides });
    const override = (ignoreDifferences: ResourceOverride['ignoreDifferences']): ResourceOverride => ({
      useOpenLibs: false,
      knownTypeFields: [],
      ...(ignoreDifferences === undefined ? {} : { ignoreDifferences }),
    });
    it.each(['apps/Deployment', '*/*'])('resource.customizations of %s', (key) => {
      const rules = {
        settings: settings({ [key]: override({ jsonPointers: ['/spec/replicas'] }) }),
        ignoreDifferences: [],
      };
      const sent = respectIgnored(
        deployment({ replicas: 1, paused: true }),
        deployment({ replicas: 7 }),
        rules,
        'whole',
      );
      expect(bare(sent)).toEqual({ replicas: 7, paused: true });
    });

    const fieldsV1 = {
      'f:spec': {
        'f:replicas': {},
        'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"a"}': { '.': {}, 'f:image': {}, 'f:tty': {} } } } },
      },
    };
    const managedFields = [
      { manager: 'scaler', operation: 'Update', apiVersion: 'apps/v1', fieldsType: 'FieldsV1', fieldsV1 },
    ] as unknown as Json;
    const live = deployment(
      { replicas: 7, paused: false, ...pods([{ name: 'a', image: '9', tty: true }]) },
      { managedFields },
    );
    const target = deployment({
      replicas: 1,
      paused: true,
      ...pods([
        { name: 'b', image: '1' },
        { name: 'a', image: '1' },
      ]),
    });
    const expected = {
      replicas: 7,
      paused: true,
      ...pods([
        { name: 'b', image: '1' },
        { name: 'a', image: '9' },
      ]),
    };

    it.each(['apps/Deployment', '*/*'])('managers of resource.customizations of %s', (key) => {
      const rules = {
        settings: settings({ [key]: override({ managedFieldsManagers: ['scaler'] }) }),
        ignoreDifferences: [],
      };
      expect(bare(respectIgnored(target, live, rules, 'whole'))).toEqual(expected);
    });

    it('managers of the Application decide only fields that both sides have', () => {
      expect(bare(respect(target, live, { managedFieldsManagers: ['scaler'] }))).toEqual(expected);
      expect(respect(target, live, { managedFieldsManagers: ['other'] })).toBe(target);
    });

    it('combines a manager with a rule', () => {
      const rule = { managedFieldsManagers: ['scaler'], jsonPointers: ['/spec/paused'] };
      expect(bare(respect(target, live, rule))).toEqual({ ...expected, paused: false });
    });
  });

  describe('values left out of the request', () => {
    const rule = { jsonPointers: ['/spec/replicas'] };
    const live = deployment({ replicas: 7, paused: false });
    const annotation = (object: KubeObject): unknown =>
      JSON.parse(
        predictApply(object, live).metadata.annotations?.['kubectl.kubernetes.io/last-applied-configuration'] ?? '',
      );

    it('client-side apply: a field that was never applied stays out of last-applied and is not reverted later', () => {
      const target = deployment({ paused: true });
      const sent = respect(target, live, rule, 'client');
      expect(annotation(sent)).toMatchObject({ spec: { paused: true } });
      const stored = predictApply(sent, live);
      expect(bare(stored)).toEqual({ replicas: 7, paused: true });
      // Without the option, a field that the manifest never had is not deleted.
      expect(clientSideApplyPatch(target, stored)).toBeUndefined();
    });

    it("client-side apply: a field applied before is sent with live's value, since kubectl would delete it", () => {
      const present = noted(live, deployment({ replicas: 1 }));
      const stored = predictApply(respect(deployment({ paused: true }), present, rule, 'client'), present);
      expect(bare(stored)).toEqual({ replicas: 7, paused: true });
    });

    it('client-side apply: a map dropped from the target keeps its ignored fields', () => {
      const present = noted(
        deployment({ strategy: { type: 'a', rollingUpdate: 9 } }),
        deployment({ strategy: { type: 'a' } }),
      );
      const rule = { jsonPointers: ['/spec/strategy/rollingUpdate'] };
      expect(bare(afterApply(deployment({}), present, rule))).toEqual({ strategy: { rollingUpdate: 9 } });
    });

    it('a struct that kubectl replaces keeps its ignored fields', () => {
      const present = deployment({ strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 9 } } });
      const target = deployment({ strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } });
      const stored = predictApply(
        respect(target, present, { jsonPointers: ['/spec/strategy/rollingUpdate'] }, 'client'),
        present,
      );
      expect(bare(stored)).toEqual({ strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 9 } } });
    });

    const owners = (...list: readonly (readonly [string, Part])[]): Json =>
      list.map(([manager, spec]) => ({ manager, operation: 'Apply', fieldsV1: { 'f:spec': spec } })) as unknown as Json;
    it.each<[string, Json, Part]>([
      ['others own it', owners(['hpa', { 'f:replicas': {} }]), { paused: true }],
      ['it has no owner', [], { paused: true }],
      [
        'we share it with others',
        owners(['hpa', { 'f:replicas': {} }], ['argocd-controller', { 'f:replicas': {} }]),
        { paused: true },
      ],
      [
        'only we own it',
        owners(['hpa', { 'f:paused': {} }], ['argocd-controller', { 'f:replicas': {} }]),
        { paused: true, replicas: 7 },
      ],
      [
        'kubectl owned it, and we take over its fields',
        owners(['kubectl-client-side-apply', { 'f:replicas': {} }]),
        { paused: true, replicas: 7 },
      ],
    ])('server-side apply takes over no field: %s', (_name, managedFields, expected) => {
      const present = deployment({ replicas: 7, paused: false }, { managedFields });
      expect(bare(respect(deployment({ replicas: 1, paused: true }), present, rule, 'server'))).toEqual(expected);
    });
  });

  it('never ignores identity, server fields and tracking marks', () => {
    const tracking = { 'argocd.argoproj.io/tracking-id': 'demo:apps/Deployment:apps/x' };
    const target = deployment(
      { replicas: 1 },
      { namespace: 'apps', annotations: { ...tracking, a: '1' }, labels: { b: '1' } },
    );
    const live = noted(
      deployment(
        { replicas: 7 },
        { namespace: 'apps', uid: 'u', resourceVersion: '9', managedFields: [], annotations: { a: '9', c: '9' } },
      ),
      target,
    );
    for (const rule of [{ jsonPointers: ['/metadata', '/kind'] }, { jqPathExpressions: ['.metadata, .apiVersion'] }])
      expect(respect(target, live, rule)).toEqual(
        deployment(
          { replicas: 1 },
          { name: 'x', namespace: 'apps', annotations: { ...tracking, a: '9', c: '9' }, labels: {} },
        ),
      );
  });

  it("a Secret's stringData does not overwrite an ignored value in data", () => {
    const target = kube('v1', 'Secret', { stringData: { password: 'git', user: 'me' } });
    const live = kube('v1', 'Secret', { data: { password: 'bGl2ZQ==', user: 'eW91' } });
    const sent = respect(target, live, { jsonPointers: ['/data/password'] });
    expect(sent).toEqual(kube('v1', 'Secret', { data: { password: 'bGl2ZQ==', user: 'bWU=' } }));
    expect(respect(target, live, { jsonPointers: ['/data/other'] })).toBe(target);
  });

  it('keeps the status, ignored by default, and leaves it out of last-applied', () => {
    const [target, live] = [
      kube('example.com/v1', 'Thing', { status: { a: 1 } }),
      kube('example.com/v1', 'Thing', { status: { a: 9 } }),
    ];
    expect(respect(target, live, {})).toEqual(live);
    expect(respect(target, live, {}, 'client')).toEqual(kube('example.com/v1', 'Thing', {}, { annotations: {} }));
  });

  it('returns the target itself when nothing is ignored, with every method', () => {
    for (const method of methods) {
      const target = deployment(pods([{ name: 'a', image: '1' }]));
      expect(
        respect(target, deployment(pods([{ name: 'a', image: '9' }])), { jsonPointers: ['/spec/x'] }, method),
      ).toBe(target);
    }
  });
});

/** Rules that select the same paths on both sides. */
const names = ['a', 'b', 'c', 'd'] as const;
const rulePool = [
  '.spec.a',
  '.spec.b',
  '.spec.b.c',
  '.spec.c.a?',
  '.metadata.annotations.a',
  '.spec.template.spec.containers[]?.image',
  '.spec.template.spec.containers[]? | select(.name == "b")',
  '.spec.template.spec.containers[]?.env[]? | select(.name == "a")',
  '.spec.template.spec.containers[]? | select(.name == "a") | .env',
  '.spec.template.spec.nodeSelector',
];
const scalar = fc.constantFrom('1', '2', '3');
const maps = fc.dictionary(fc.constantFrom(...names), scalar, { maxKeys: 3 });
const named = (extra: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown[]> =>
  fc.uniqueArray(fc.record({ name: fc.constantFrom(...names), ...extra }, { requiredKeys: ['name'] }), {
    selector: (item) => (item as { name: string }).name,
    maxLength: 3,
  });
const containers = named({ image: scalar, tty: fc.boolean(), env: named({ value: scalar }) });
const specs = fc.record(
  {
    a: scalar,
    b: maps,
    c: maps,
    template: fc.record({ spec: fc.record({ containers, nodeSelector: maps }, { requiredKeys: [] }) }),
  },
  { requiredKeys: [] },
);
const objects = fc
  .record({ spec: specs, annotations: fc.option(maps, { nil: undefined }) })
  .map(({ spec, annotations }) => deployment(spec as Part, annotations === undefined ? {} : { annotations }));

function strip(object: KubeObject, expressions: readonly string[]): Json {
  return expressions.reduce<Json>(
    (value, expression) => removePaths(value, compileExpression(expression).find(value)),
    object as unknown as Json,
  );
}
/** Paths (items by name) of all scalars, with their values. */
function leaves(value: Json, path = '', found = new Map<string, Json>()): Map<string, Json> {
  if (Array.isArray(value))
    for (const item of value as readonly JsonObject[]) leaves(item, `${path}[${JSON.stringify(item['name'])}]`, found);
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value))
      if (!key.startsWith('kubectl.kubernetes.io/')) leaves(member ?? null, `${path}/${key}`, found);
      else continue;
  else found.set(path, value);
  return found;
}
function ignoredLeaves(object: KubeObject, expressions: readonly string[]): Map<string, Json> {
  const kept = leaves(strip(object, expressions));
  return new Map([...leaves(asJson(object))].filter(([path]) => !kept.has(path)));
}
/**
 * Live's ignored values, except those in list items that the target drops: they go with the item.
 */
function lasting(live: KubeObject, target: KubeObject, expressions: readonly string[]): [string, Json][] {
  const [kept, wanted] = [leaves(strip(live, expressions)), leaves(asJson(target))];
  const goes = (item: string): boolean => kept.has(`${item}/name`) && !wanted.has(`${item}/name`);
  const itemsOf = (path: string): string[] => [...path.matchAll(/\]/g)].map(({ index }) => path.slice(0, index + 1));
  return [...ignoredLeaves(live, expressions)].filter(([path]) => !itemsOf(path).some(goes));
}

describe('a sync with RespectIgnoreDifferences', () => {
  const cases = fc.record({
    target: objects,
    live: objects,
    before: fc.option(objects, { nil: undefined }),
    rules: fc.subarray(rulePool, { minLength: 1 }),
  });

  it("keeps live's ignored values and applies all others", () => {
    fc.assert(
      fc.property(cases, ({ target, live: found, before, rules }) => {
        const live = before === undefined ? found : noted(found, before);
        const rule = { jqPathExpressions: rules };
        const after = afterApply(target, live, rule);
        const stored = leaves(after as unknown as Json);
        for (const [path, value] of lasting(live, target, rules))
          expect([path, stored.get(path)]).toEqual([path, value]);
        for (const [path, value] of leaves(strip(target, rules)))
          expect([path, stored.get(path)]).toEqual([path, value]);
        // A value that was applied before and is dropped now remains only if it is ignored.
        const [kept, wanted] = [ignoredLeaves(live, rules), leaves(target as unknown as Json)];
        for (const path of leaves(strip(before ?? target, rules)).keys())
          if (!wanted.has(path) && !kept.has(path)) expect([path, stored.has(path)]).toEqual([path, false]);
      }),
      { numRuns: 300 },
    );
  });

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(cases, ({ target, live, rules }) => {
        const rule = { jqPathExpressions: rules };
        const once = afterApply(target, live, rule);
        expect(createMergePatch(asJson(once), asJson(afterApply(target, once, rule)))).toBeUndefined();
      }),
      { numRuns: 100 },
    );
  });

  it("sends live's ignored values and the target's others when sent whole", () => {
    fc.assert(
      fc.property(cases, ({ target, live, rules }) => {
        const sent = leaves(respect(target, live, { jqPathExpressions: rules }) as unknown as Json);
        const ignored = ignoredLeaves(live, rules);
        for (const [path, value] of lasting(live, target, rules)) expect([path, sent.get(path)]).toEqual([path, value]);
        const all = leaves(target as unknown as Json);
        for (const [path, value] of leaves(strip(target, rules))) expect([path, sent.get(path)]).toEqual([path, value]);
        for (const path of sent.keys()) expect([path, ignored.has(path) || all.has(path)]).toEqual([path, true]);
      }),
      { numRuns: 300 },
    );
  });
});

function asJson(object: KubeObject): JsonObject {
  return object as unknown as JsonObject;
}
