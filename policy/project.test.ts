import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { appNamespaceDenied, isAppNamespacePermitted, isGroupKindPermitted, isOrphanIgnored } from './index.ts';
import { invalidLists, projectWith } from './testing/index.ts';
import type { LooseSpec } from './testing/index.ts';

/** Parses `group/Kind` or `group/Kind/name` (without a name: any). */
function kindOf(text: string): { group: string; kind: string; name: string } {
  const [group = '', kind = '', ...name] = text.split('/');
  return { group, kind, name: name.join('/') };
}
function items(...texts: readonly string[]): unknown[] {
  return texts.map((text) => {
    const { group, kind, name } = kindOf(text);
    return name === '' ? { group, kind } : { group, kind, name };
  });
}

type Lists = Pick<
  LooseSpec,
  'clusterResourceWhitelist' | 'clusterResourceBlacklist' | 'namespaceResourceWhitelist' | 'namespaceResourceBlacklist'
>;
const lists = {
  clusterAllow: (...texts: readonly string[]): Lists => ({ clusterResourceWhitelist: items(...texts) }),
  clusterDeny: (...texts: readonly string[]): Lists => ({ clusterResourceBlacklist: items(...texts) }),
  allow: (...texts: readonly string[]): Lists => ({ namespaceResourceWhitelist: items(...texts) }),
  deny: (...texts: readonly string[]): Lists => ({ namespaceResourceBlacklist: items(...texts) }),
};
const { clusterAllow, clusterDeny, allow, deny } = lists;

/**
 * Lists, permitted and denied namespaced kinds, permitted and denied cluster-scoped kinds; by
 * section 4.5 of the reference.
 */
const table: readonly (readonly [
  what: string,
  spec: Lists,
  scope: 'namespaced' | 'cluster',
  yes: readonly string[],
  no: readonly string[],
])[] = [
  ['no lists', {}, 'namespaced', ['/Pod', 'apps/Deployment', 'x/Y'], []],
  ['no lists', {}, 'cluster', [], ['/Namespace', 'x/Y', '/Node']],
  ['null lists', { namespaceResourceWhitelist: null, namespaceResourceBlacklist: null }, 'namespaced', ['/Pod'], []],
  ['null lists', { clusterResourceWhitelist: null, clusterResourceBlacklist: null }, 'cluster', [], ['/Namespace']],
  ['an empty allow list is nothing', allow(), 'namespaced', [], ['/Pod', 'apps/Deployment']],
  ['an empty allow list is nothing', clusterAllow(), 'cluster', [], ['/Namespace']],
  ['an empty deny list is nothing', deny(), 'namespaced', ['/Pod'], []],
  ['lists of the other scope do not count', { ...clusterAllow(), ...clusterDeny('*/*') }, 'namespaced', ['/Pod'], []],
  [
    'lists of the other scope do not count',
    { ...allow('*/*'), ...deny('*/*'), ...clusterAllow('/Namespace') },
    'cluster',
    ['/Namespace'],
    ['/Node'],
  ],
  [
    'one kind',
    allow('apps/Deployment'),
    'namespaced',
    ['apps/Deployment'],
    ['/Deployment', 'apps/deployment', 'apps/StatefulSet', 'extensions/Deployment', 'apps/DeploymentX'],
  ],
  ['everything', allow('*/*'), 'namespaced', ['/Pod', 'apps/Deployment', 'a.b.c/D'], []],
  ['everything', clusterAllow('*/*'), 'cluster', ['/Namespace', 'a.b/C', 'a.b/C/name'], []],
  ['a star of the group is the core group, too', allow('*/Pod'), 'namespaced', ['/Pod', 'x/Pod'], ['/Pods']],
  ['an empty group is only the core group', allow('/*'), 'namespaced', ['/Pod', '/Secret'], ['apps/Deployment']],
  [
    'a pattern of the group',
    allow('*.example.com/*'),
    'namespaced',
    ['a.example.com/X', '.example.com/X'],
    ['example.com/X', '/X', 'a.example.org/X'],
  ],
  [
    'a pattern of the kind',
    allow('apps/*Set'),
    'namespaced',
    ['apps/ReplicaSet', 'apps/Set'],
    ['apps/Deployment', 'apps/SetX'],
  ],
  ['a question mark', allow('/Po?'), 'namespaced', ['/Pod', '/Pox'], ['/Po', '/Pods']],
  ['a class', allow('/[PS]*'), 'namespaced', ['/Pod', '/Secret'], ['/ConfigMap']],
  ['a negated class uses the caret', allow('/[^S]*'), 'namespaced', ['/Pod'], ['/Secret', '/Service']],
  ['an exclamation mark in a class is a character', allow('/[!S]*'), 'namespaced', ['/Secret'], ['/Pod']],
  ['braces are characters', allow('/{Pod,Secret}'), 'namespaced', ['/{Pod,Secret}'], ['/Pod', '/Secret']],
  ['an exclamation mark is no negation here', allow('/!Pod'), 'namespaced', ['/!Pod'], ['/Pod', '/Secret']],
  [
    'an invalid pattern matches nothing',
    allow('/[', '/[P', '/P\\', '/[]x]'),
    'namespaced',
    [],
    ['/Pod', '/[', '/[P', '/P'],
  ],
  ['a deny list', deny('/Secret'), 'namespaced', ['/Pod', 'x/Secret'], ['/Secret']],
  ['a deny list of everything', deny('*/*'), 'namespaced', [], ['/Pod', 'x/Y']],
  ['a deny entry that is no pattern denies everything', deny('/['), 'namespaced', [], ['/Pod', '/[']],
  ['a deny entry that is no pattern denies everything', deny('x/Y', '*/[a'), 'namespaced', [], ['/Pod', 'x/Y']],
  ['deny wins', { ...allow('*/*'), ...deny('/Secret') }, 'namespaced', ['/Pod'], ['/Secret']],
  ['deny wins over the exact entry', { ...allow('/Secret'), ...deny('/*') }, 'namespaced', [], ['/Secret', '/Pod']],
  ['deny wins', { ...clusterAllow('*/*'), ...clusterDeny('/Node') }, 'cluster', ['/Namespace'], ['/Node', '/Node/n1']],
  ['a deny list alone allows nothing cluster-scoped', clusterDeny('/Node'), 'cluster', [], ['/Namespace', '/Node']],
  [
    'a name',
    clusterAllow('/Namespace/team-a'),
    'cluster',
    ['/Namespace/team-a'],
    ['/Namespace/team-b', '/Namespace', '/Node/team-a'],
  ],
  [
    'a pattern of the name',
    clusterAllow('/Namespace/team-*'),
    'cluster',
    ['/Namespace/team-a', '/Namespace/team-'],
    ['/Namespace/team', '/Namespace/xteam-a', '/Namespace/team-a/b'],
  ],
  [
    'a name stops at slashes',
    clusterAllow('rbac/ClusterRole/*'),
    'cluster',
    ['rbac/ClusterRole/a', 'rbac/ClusterRole/a:b'],
    ['rbac/ClusterRole/a/b'],
  ],
  [
    'a class in the name',
    clusterAllow('/Namespace/[a-c]*'),
    'cluster',
    ['/Namespace/beta'],
    ['/Namespace/delta', '/Namespace'],
  ],
  ['a name that cannot be read', clusterAllow('/Namespace/[a'), 'cluster', [], ['/Namespace/a', '/Namespace/[a']],
  [
    'a denied name',
    { ...clusterAllow('*/*'), ...clusterDeny('/Namespace/kube-*') },
    'cluster',
    ['/Namespace/team', '/Namespace/kube'],
    ['/Namespace/kube-system'],
  ],
  [
    'a name in a namespaced list counts too',
    allow('/Secret/mine'),
    'namespaced',
    ['/Secret/mine'],
    ['/Secret/other', '/Secret'],
  ],
  [
    'several entries',
    clusterAllow('/Namespace', 'rbac/ClusterRole'),
    'cluster',
    ['/Namespace', 'rbac/ClusterRole/x'],
    ['rbac/ClusterRoleBinding', 'rbac/Namespace'],
  ],
];
const rows = table.flatMap(([what, spec, scope, yes, no]) => [
  ...yes.map((text) => [what, spec, scope, text, true] as const),
  ...no.map((text) => [what, spec, scope, text, false] as const),
]);

describe('kinds', () => {
  it.each(rows)('%s: %j, %s %s: %j', (_what, spec, scope, text, expected) => {
    expect(isGroupKindPermitted(projectWith(spec), kindOf(text), scope === 'namespaced')).toBe(expected);
  });

  it('an object without a name is checked with the empty one', () => {
    const project = projectWith(clusterAllow('/Namespace/a*', '/Node/*'));
    const asked = (kind: string): boolean => isGroupKindPermitted(project, { group: '', kind }, false);
    expect([asked('Namespace'), asked('Node')]).toEqual([false, true]);
  });

  it.each(invalidLists.map((value) => [value]))('an allow list %j allows nothing', (value) => {
    const spec = { namespaceResourceWhitelist: value, clusterResourceWhitelist: value };
    for (const text of ['/Pod', '*/*', '0/length'])
      expect(
        [true, false].map((namespaced) => isGroupKindPermitted(projectWith(spec), kindOf(text), namespaced)),
      ).toEqual([false, false]);
  });

  const unreadable: readonly unknown[] = [
    '*',
    5,
    {},
    [5],
    [null],
    ['x'],
    [[]],
    [{ group: 5, kind: '*' }],
    [{ group: '', kind: ['Secret'] }],
    [{ group: '', kind: 'X', name: 5 }],
  ];
  it.each(unreadable.map((value) => [value]))('a deny list %j denies everything', (value) => {
    const spec = {
      clusterResourceWhitelist: items('*/*'),
      namespaceResourceBlacklist: value,
      clusterResourceBlacklist: value,
    };
    for (const namespaced of [true, false])
      expect(isGroupKindPermitted(projectWith(spec), kindOf('/Pod'), namespaced)).toBe(false);
  });

  it.each<[unknown, boolean]>([
    [{ kind: 'Pod' }, true],
    [{ group: null, kind: 'Pod', name: null }, true],
    [{ group: '' }, false],
    [{}, false],
  ])('treat absent and null members as empty: %j', (item, expected) => {
    expect(isGroupKindPermitted(projectWith({ namespaceResourceWhitelist: [item] }), kindOf('/Pod'), true)).toBe(
      expected,
    );
    expect(isGroupKindPermitted(projectWith({ namespaceResourceBlacklist: [item] }), kindOf('/Pod'), true)).toBe(
      !expected,
    );
  });

  it('denies every name where an entry for namespaced kinds has one, which its schema does not know', () => {
    const entries = [{ group: '', kind: 'Pod', name: 'x' }];
    const pod = { ...kindOf('/Pod'), name: 'web' };
    expect(isGroupKindPermitted(projectWith({ namespaceResourceBlacklist: entries }), pod, true)).toBe(false);
    expect(isGroupKindPermitted(projectWith({ clusterResourceWhitelist: entries }), pod, false)).toBe(false);
  });

  const word = fc.constantFrom('', 'a', 'b', 'ab');
  const pattern = fc.constantFrom('', 'a', 'b', '*', 'a*', '?', '[ab]', '[^a]');
  const named: Readonly<Record<string, readonly string[]>> = {
    '': [''],
    a: ['a'],
    b: ['b'],
    '*': ['', 'a', 'b', 'ab'],
    'a*': ['a', 'ab'],
    '?': ['a', 'b'],
    '[ab]': ['a', 'b'],
    '[^a]': ['b'],
  };
  const list = fc.option(fc.array(fc.record({ group: pattern, kind: pattern, name: pattern }), { maxLength: 3 }), {
    nil: undefined,
  });

  it('agree with a naive model: in the allow list, and not in the deny list', () => {
    fc.assert(
      fc.property(
        list,
        list,
        fc.boolean(),
        fc.record({ group: word, kind: word, name: word }),
        (allows, denies, namespaced, gk) => {
          const hit = (item: { group: string; kind: string; name: string }): boolean =>
            (named[item.group] ?? []).includes(gk.group) &&
            (named[item.kind] ?? []).includes(gk.kind) &&
            (item.name === '' || (named[item.name] ?? []).includes(gk.name));
          const allowed = allows === undefined ? namespaced : allows.some(hit);
          const denied = (denies ?? []).some((item) => hit(namespaced ? { ...item, name: '' } : item));
          const spec = namespaced
            ? { namespaceResourceWhitelist: allows, namespaceResourceBlacklist: denies }
            : { clusterResourceWhitelist: allows, clusterResourceBlacklist: denies };
          expect(isGroupKindPermitted(projectWith(spec), gk, namespaced)).toBe(allowed && !denied);
        },
      ),
      { numRuns: 4000 },
    );
  });

  it('never throw, whatever the lists contain', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.boolean(), (one, two, namespaced) => {
        const spec = {
          namespaceResourceWhitelist: one,
          namespaceResourceBlacklist: two,
          clusterResourceWhitelist: two,
          clusterResourceBlacklist: one,
        };
        expect(typeof isGroupKindPermitted(projectWith(spec), kindOf('/Pod/x'), namespaced)).toBe('boolean');
      }),
      { numRuns: 500 },
    );
  });
});

describe('namespaces of applications', () => {
  it.each<[unknown, string, boolean]>([
    [undefined, 'argocd', true],
    [undefined, '', true],
    [undefined, 'team', false],
    [null, 'team', false],
    [[], 'team', false],
    [['*'], 'team', true],
    [['team'], 'team', true],
    [['team'], 'team-a', false],
    [['team-*'], 'team-a', true],
    [['team-*'], 'xteam-a', false],
    [['{a,b}'], 'b', true],
    [['!team'], 'other', false],
    [['['], 'team', false],
    [['/^team-[0-9]+$/'], 'team-12', true],
    [['/^team-[0-9]+$/'], 'team-x', false],
    [['x', '/eam/'], 'team', true],
    // A glob, slashes included.
    [['/team/'], 'team', true],
    [['/team'], 'team', false],
    [['//'], 'team', false],
    [['/'], 'team', false],
    [['/(/', 'team'], 'team', true],
    ['team', 'team', false],
    ['*', 'team', false],
    [{ 0: '*' }, 'team', false],
    [[5, null, ['*'], {}, 'team'], 'team', true],
    [[5, null, ['*'], {}], 'team', false],
  ])('sourceNamespaces %j permit "%s": %j', (sourceNamespaces, namespace, expected) => {
    expect(isAppNamespacePermitted(namespace, projectWith({ sourceNamespaces }), 'argocd')).toBe(expected);
  });

  it("report the reason in Argo CD's words", () => {
    expect(appNamespaceDenied('app', 'ns', projectWith({ sourceNamespaces: ['a', '/b/', 5] }))).toBe(
      "application 'app' in namespace 'ns' is not permitted to use project 'p'",
    );
    expect(appNamespaceDenied('app', 'ns', projectWith({}, {}))).toContain("project ''");
  });

  it('name each unused pattern after these words', () => {
    const project = projectWith({ sourceNamespaces: ['/^(?!kube)/', '/(a/', 'x'] });
    expect(isAppNamespacePermitted('team', project, 'argocd')).toBe(false);
    expect(appNamespaceDenied('app', 'team', project)).toBe(
      "application 'app' in namespace 'team' is not permitted to use project 'p' " +
        '(its sourceNamespaces entry /^(?!kube)/ matches nothing: "^(?!kube)" is not a regular expression: ' +
        'error parsing regexp: invalid or unsupported Perl syntax: `(?!`; its sourceNamespaces entry /(a/ matches nothing: ' +
        '"(a" is not a regular expression: error parsing regexp: missing closing ): `(a`)',
    );
  });
});

describe('orphans', () => {
  const ignore = (list: unknown): LooseSpec => ({ orphanedResources: { ignore: list } });
  it.each<[LooseSpec, string, boolean]>([
    [{}, '/Service/default/kubernetes', true],
    [{}, '/Service/other/kubernetes', false],
    [{}, 'x/Service/default/kubernetes', false],
    [{}, '/ServiceAccount/any/default', true],
    [{}, '/ServiceAccount/any/other', false],
    [{}, '/ConfigMap/any/kube-root-ca.crt', true],
    [{}, '/ConfigMap/any/other', false],
    [{}, 'x/ConfigMap/any/kube-root-ca.crt', false],
    [ignore([{}]), '/Secret/n/a', true],
    [ignore([{}]), 'apps/Deployment/n/a', false],
    [ignore([{ group: '*' }]), 'apps/Deployment/n/a', true],
    [ignore([{ group: 'apps' }]), '/Secret/n/a', false],
    [ignore([{ kind: 'Secret' }]), '/Secret/n/a', true],
    [ignore([{ kind: 'Secret' }]), '/ConfigMap/n/a', false],
    [ignore([{ kind: 'S*', name: 'a*' }]), '/Secret/n/ab', true],
    [ignore([{ kind: 'S*', name: 'a*' }]), '/Secret/n/b', false],
    [ignore([{ kind: '{Secret,ConfigMap}' }]), '/ConfigMap/n/b', true],
    [ignore([{ name: '[' }]), '/Secret/n/[', false],
    [ignore([{ kind: 5 }, { name: {} }, null, 'x', { group: [] }]), '/Secret/n/a', false],
    [ignore('*'), '/Secret/n/a', false],
    [ignore(null), '/Secret/n/a', false],
    [{ orphanedResources: null }, '/Secret/n/a', false],
    [{ orphanedResources: 'x' }, '/Secret/n/a', false],
  ])('%j ignores %s: %j', (spec, text, expected) => {
    const [group = '', kind = '', namespace = '', name = ''] = text.split('/');
    expect(isOrphanIgnored(projectWith(spec), { group, kind, namespace, name })).toBe(expected);
  });
});
