import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { defaultSettings } from '#model';
import { parseSettings } from './parse.ts';

const settings = (data: Record<string, string>) => parseSettings(data).settings;
const messages = (data: Record<string, string>) => parseSettings(data).problems.map((problem) => problem.message);

const notes = (data: Record<string, string>) => parseSettings(data).notes.map((note) => note.message);

describe('parseSettings', () => {
  it('returns the defaults for an empty ConfigMap', () => {
    expect(parseSettings({})).toEqual({ settings: defaultSettings, problems: [], notes: [] });
  });

  it('returns the defaults, apart from version and raw data, for unknown keys', () => {
    const { version, raw, enabledSourceTypes, ...rest } = settings({ 'some.key': 'x' });
    expect({ ...defaultSettings, ...rest }).toEqual(defaultSettings);
    expect(Object.keys(rest)).toHaveLength(Object.keys(defaultSettings).length - 3);
    expect(raw).toEqual({ 'some.key': 'x' });
    expect(version).not.toBe('default');
    expect(enabledSourceTypes).toEqual({ Kustomize: true, Helm: true, Directory: true, Plugin: true });
  });

  it('notes rules of ignoreResourceUpdates without effect, because only jq can run them or they are invalid', () => {
    const key = 'resource.customizations.ignoreResourceUpdates.apps_Deployment';
    const rule = (program: string): Record<string, string> => ({ [key]: `jqPathExpressions: ['${program}']` });
    expect(messages(rule('.status.conditions[] | select(.type == "x")'))).toEqual([]);
    expect(messages(rule('.status | limit(1; .[])'))).toEqual([]);
    expect(notes(rule('.status | limit(1; .[])'))).toEqual([
      `${key}: the jqPathExpression ".status | limit(1; .[])" needs full jq, which does not run when an object changes: it hides no updates`,
    ]);
    expect(messages(rule('.status |'))).toEqual([expect.stringContaining(`${key}: the jqPathExpression ".status |" `)]);
  });

  it('notes keys that are not read here', () => {
    const given = { 'resource.selectors': '- selector: a=b', 'resource.manifest.storage': 'json' };
    expect(parseSettings(given).notes.map(({ object, reason, message }) => [object, reason, message])).toEqual([
      [
        'ConfigMap argocd-cm',
        'selectors',
        'resource.selectors: has no effect: objects of a kind are watched whatever their labels are',
      ],
      ['ConfigMap argocd-cm', 'unused', 'resource.manifest.storage: has no effect: live objects are kept as text'],
    ]);
    expect(notes({ 'resource.selectors': ' ', 'resource.manifest.storage': '' })).toEqual([]);
  });

  it.each([
    [
      'ignoreDifferences.all',
      'kind: Rollout\njsonPointers: [/a]',
      ['line 1: "kind" has no effect: the rule holds for all kinds'],
    ],
    [
      'ignoreDifferences.all',
      'group: apps\njsonPointers: [/a]',
      ['line 1: "group" has no effect: the rule holds for all kinds'],
    ],
    ['ignoreDifferences.apps_Deployment', 'group: apps\nkind: Deployment\njsonPointers: [/a]', []],
    ['ignoreDifferences.Secret', 'group: ""\nkind: Secret\njsonPointers: [/a]', []],
    [
      'ignoreDifferences.apps_Deployment',
      'jsonPointers: [/a]\nname: web\nnamespace: shop',
      [
        'line 2: "name" has no effect: the rule holds for every object of apps/Deployment',
        'line 3: "namespace" has no effect: the rule holds for every object of apps/Deployment',
      ],
    ],
    [
      'ignoreResourceUpdates.all',
      'kind: Pod\njsonPointers: [/a]',
      ['line 1: "kind" has no effect: the rule holds for all kinds'],
    ],
  ])('reports that the rule %s of %j holds for more than it names', (field, text, expected) => {
    const { settings, problems } = parseSettings({ [`resource.customizations.${field}`]: text });
    expect(problems.map(({ message }) => message.replace(/^resource\.customizations\.\S+: /, ''))).toEqual(expected);
    expect(settings.unreadable).toEqual([]);
    expect(JSON.stringify(settings.overrides)).toContain('"jsonPointers":["/a"]');
  });

  it('notes rules of ignoreDifferences that hide no update of an object, but are in effect elsewhere', () => {
    const key = 'resource.customizations.ignoreDifferences.apps_Deployment';
    const cm = (program: string, more: Record<string, string> = {}): Record<string, string> => ({
      [key]: `jqPathExpressions: ['${program}']`,
      ...more,
    });
    const onlyJq = '.spec | limit(1; .[])';
    expect(notes(cm('.spec.replicas'))).toEqual([]);
    expect(notes(cm(onlyJq))).toEqual([
      `${key}: the jqPathExpression "${onlyJq}" needs full jq, which does not run when an object changes: it hides no updates. It still applies to comparisons`,
    ]);
    expect(messages(cm(onlyJq))).toEqual([]);
    // Then they hide no update in Argo CD either.
    expect(notes(cm(onlyJq, { 'resource.ignoreResourceUpdatesEnabled': 'false' }))).toEqual([]);
    const compareOptions = { 'resource.compareoptions': 'ignoreDifferencesOnResourceUpdates: false' };
    expect(notes(cm(onlyJq, compareOptions))).toEqual([]);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ['', [], []],
    ['team', ['team'], []],
    ['team, example.com/*,,', ['team', 'example.com/*'], []],
    // Argo CD removes every space, also within a key.
    [' te am ', ['team'], []],
    ['a[,team', ['team'], ['"a[" is not a glob; it matches no label']],
  ])('reads the event label keys "%s" as %j', (text, globs, problems) => {
    for (const [name, key] of [
      ['include', 'resource.includeEventLabelKeys'],
      ['exclude', 'resource.excludeEventLabelKeys'],
    ] as const) {
      const data = { [key]: text };
      expect(settings(data).eventLabelKeys).toEqual({ include: [], exclude: [], [name]: globs });
      expect(messages(data)).toEqual(problems.map((problem) => `${key}: ${problem}`));
    }
  });

  it.each([
    ['', 'off', []],
    ['normal', 'normal', []],
    ['strict', 'strict', []],
    ['Strict', 'off', ['resource.respectRBAC: must be normal, strict or empty']],
  ])('reads resource.respectRBAC "%s" as %s', (text, mode, problems) => {
    const data = { 'resource.respectRBAC': text };
    expect([settings(data).respectRBAC, messages(data)]).toEqual([mode, problems]);
  });

  it('changes its version with the content, not with the order of keys', () => {
    expect(settings({ a: '1', b: '2' }).version).toBe(settings({ b: '2', a: '1' }).version);
    expect(settings({ a: '1' }).version).not.toBe(settings({ a: '2' }).version);
  });

  it.each([
    ['annotation', 'annotation'],
    ['label', 'label'],
    ['annotation+label', 'annotation+label'],
    ['', 'annotation'],
    ['nonsense', 'annotation'],
  ])('reads tracking method "%s" as %s', (text, method) => {
    expect(settings({ 'application.resourceTrackingMethod': text }).tracking.method).toBe(method);
  });

  it('reads tracking label and installation id', () => {
    const { tracking } = settings({ 'application.instanceLabelKey': 'my/label', installationID: 'one' });
    expect(tracking).toEqual({ method: 'annotation', labelKey: 'my/label', installationId: 'one' });
  });

  it.each([
    ['application.sync.impersonation.enabled', 'true', { enabled: true, enforced: true }],
    ['application.sync.impersonation.enabled', 'TRUE', { enabled: false, enforced: true }],
    ['application.sync.impersonation.enforced', 'false', { enabled: false, enforced: false }],
    ['application.sync.impersonation.enforced', '', { enabled: false, enforced: true }],
  ])('reads %s: %s', (key, value, impersonation) => {
    expect(settings({ [key]: value }).impersonation).toEqual(impersonation);
  });

  it('disables the in-cluster destination only by the exact value "false"', () => {
    expect(settings({ 'cluster.inClusterEnabled': 'false' }).inClusterEnabled).toBe(false);
    expect(settings({ 'cluster.inClusterEnabled': 'False' }).inClusterEnabled).toBe(true);
  });

  it('reads exclusions and inclusions', () => {
    const data = {
      'resource.exclusions':
        '- apiGroups: ["*.k8s.io"]\n  kinds: [Endpoints]\n  clusters: ["https://a"]\n- kinds: ["*"]',
      'resource.inclusions': '- apiGroups: [apps]',
    };
    expect(settings(data).exclusions).toEqual([
      { apiGroups: ['*.k8s.io'], kinds: ['Endpoints'], clusters: ['https://a'] },
      { apiGroups: [], kinds: ['*'], clusters: [] },
    ]);
    expect(settings(data).inclusions).toEqual([{ apiGroups: ['apps'], kinds: [], clusters: [] }]);
  });

  it.each([
    ['ignoreResourceStatusField: none', 'none'],
    ['ignoreResourceStatusField: off', 'none'],
    ['ignoreResourceStatusField: "off"', 'none'],
    ['ignoreResourceStatusField: false', 'none'],
    ['ignoreResourceStatusField: crd', 'crd'],
    ['ignoreResourceStatusField: all', 'all'],
    ['ignoreResourceStatusField: ""', 'all'],
    ['ignoreResourceStatusField: nonsense', 'all'],
    ['ignoreAggregatedRoles: true', 'all'],
  ])('reads compareoptions "%s"', (text, field) => {
    expect(settings({ 'resource.compareoptions': text }).ignoreResourceStatusField).toBe(field);
  });

  it('merges compareoptions into their defaults', () => {
    const some = settings({ 'resource.compareoptions': 'ignoreAggregatedRoles: true' });
    expect([some.ignoreAggregatedRoles, some.ignoreDifferencesOnResourceUpdates]).toEqual([true, true]);
    const others = settings({ 'resource.compareoptions': 'ignoreDifferencesOnResourceUpdates: false' });
    expect([others.ignoreAggregatedRoles, others.ignoreDifferencesOnResourceUpdates]).toEqual([false, false]);
  });

  it('reads customizations in both forms; a split key overrides the same field of the bulk form', () => {
    const { overrides } = settings({
      'resource.customizations': [
        'argoproj.io/Rollout:',
        '  health.lua: return bulk',
        '  health.lua.useOpenLibs: true',
        '  ignoreDifferences: |',
        '    jsonPointers: [/spec/replicas]',
        'ConfigMap:',
        '  knownTypeFields: [{field: data, type: core/v1/PodSpec}]',
      ].join('\n'),
      'resource.customizations.health.argoproj.io_Rollout': 'return split',
      'resource.customizations.ignoreResourceUpdates.all': 'jsonPointers: [/status]',
      'resource.customizations.ignoreDifferences.apps_Deployment':
        'jqPathExpressions: [".spec.x"]\nmanagedFieldsManagers: [hpa]',
      'resource.customizations.useOpenLibs.Service': 'true',
      'resource.customizations.actions.Service': 'ignored',
    });
    expect(overrides).toEqual({
      'argoproj.io/Rollout': {
        healthLua: 'return split',
        useOpenLibs: true,
        ignoreDifferences: { jsonPointers: ['/spec/replicas'], jqPathExpressions: [], managedFieldsManagers: [] },
        knownTypeFields: [],
      },
      ConfigMap: { useOpenLibs: false, knownTypeFields: [{ field: 'data', type: 'core/v1/PodSpec' }] },
      '*/*': {
        useOpenLibs: false,
        knownTypeFields: [],
        ignoreResourceUpdates: { jsonPointers: ['/status'], jqPathExpressions: [], managedFieldsManagers: [] },
      },
      'apps/Deployment': {
        useOpenLibs: false,
        knownTypeFields: [],
        ignoreDifferences: { jsonPointers: [], jqPathExpressions: ['.spec.x'], managedFieldsManagers: ['hpa'] },
      },
      Service: { useOpenLibs: true, knownTypeFields: [] },
    });
  });

  it.each([
    ['resource.exclusions', 'a: [', /^resource\.exclusions: not valid YAML: line/],
    ['resource.exclusions', 'a: b', /must be a YAML list/],
    ['resource.customizations.nonsense.Pod', 'x', /unknown kind of customization "nonsense"/],
    ['resource.customizations.health.a_b_c', 'x', /must end in/],
    ['resource.customizations.ignoreDifferences.Pod', '{', /not valid YAML/],
    ['resource.ignoreResourceUpdatesEnabled', 'perhaps', /must be true or false; true is used/],
    ['application.resourceTrackingMethod', 'magic', /unknown method "magic"/],
    ['globalProjects', '- projectName: p\n  labelSelector: 3', /every item needs/],
    ['resource.compareoptions', '[1]', /must be a YAML map/],
  ])('names %s when it is malformed, and spoils nothing else', (key, value, message) => {
    const data = { [key]: value, 'resource.customizations.health.batch_Job': 'return ok', installationID: 'here' };
    expect(messages(data).join()).toMatch(message);
    expect(settings(data).tracking.installationId).toBe('here');
    expect(settings(data).overrides['batch/Job']?.healthLua).toBe('return ok');
  });

  it.each([
    ['- {field: a, type: core/v1/PodSpec}', 1, /^$/],
    [
      '[{field: a, type: core/v1/Nonsense}, {field: b, type: core/Quantity}]',
      1,
      /type 'core\/v1\/Nonsense' is not supported: a is compared as it is$/,
    ],
    ['{field: a, type: core/Quantity}', 0, /must be a list of field and type$/],
    ['- {type: core/Quantity}', 0, /every item needs field and type$/],
    ['- a', 0, /every item needs field and type$/],
  ])('keeps known types that have an effect, and reports others: %s', (text, kept, message) => {
    for (const data of [
      { 'resource.customizations.knownTypeFields.Pod': text },
      { 'resource.customizations': `Pod:\n  knownTypeFields: ${JSON.stringify(text)}` },
    ]) {
      expect(messages(data).join()).toMatch(message);
      expect(settings(data).overrides['Pod']?.knownTypeFields).toHaveLength(kept);
    }
  });

  it('reads global projects, masked annotations, node labels and enabled source types', () => {
    const all = settings({
      globalProjects: '- projectName: base\n  labelSelector: {matchLabels: {a: b}}',
      'resource.sensitive.mask.annotations': ' a/b , c,',
      'application.allowedNodeLabels': 'topology.kubernetes.io/zone, ,team',
      'helm.enable': 'false',
      'kustomize.enable': 'true',
      'resource.ignoreResourceUpdatesEnabled': 'F',
    });
    expect(all.globalProjects).toEqual([{ projectName: 'base', labelSelector: { matchLabels: { a: 'b' } } }]);
    expect(all.sensitiveAnnotations).toEqual(['a/b', 'c']);
    expect(all.allowedNodeLabels).toEqual(['topology.kubernetes.io/zone', 'team']);
    expect(all.enabledSourceTypes).toEqual({ Kustomize: true, Helm: false, Directory: true, Plugin: true });
    expect(all.ignoreResourceUpdatesEnabled).toBe(false);
  });

  it('never throws, whatever the values are', () => {
    const keys = fc.constantFrom(
      'resource.exclusions',
      'resource.customizations',
      'resource.compareoptions',
      'globalProjects',
      'resource.customizations.health.a_b',
      'resource.customizations.ignoreDifferences.all',
      'resource.customizations.',
      'resource.customizations.x',
    );
    const yaml = fc.oneof(
      fc.string(),
      fc.json(),
      fc.constantFrom('- 1', '- a: {b: c}', 'x: {y: [z]}', '__proto__: {a: 1}', '!!bad'),
    );
    fc.assert(
      fc.property(fc.dictionary(keys, yaml), (data) => {
        expect(parseSettings(data).settings.raw).toEqual(data);
      }),
    );
  });
});
