import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AppProject } from '#model';
import {
  effectiveProject,
  globalProjectFault,
  impersonationTarget,
  isDestinationPermitted,
  isGroupKindPermitted,
  isSourcePermitted,
} from './index.ts';
import type { ProjectSources } from './index.ts';
import { addressOf } from '../model/testing/index.ts';
import { invalidLists, projectWith } from './testing/index.ts';
import type { LooseSpec } from './testing/index.ts';

const nothing: ProjectSources = { globalProjects: [], lookup: () => undefined, repositories: [], clusters: [] };

function sources(
  globals: Readonly<Record<string, LooseSpec>>,
  selectors: readonly (readonly [string, unknown])[],
): ProjectSources {
  const known = new Map<string, AppProject>(
    Object.entries(globals).map(([name, spec]) => [name, projectWith(spec, { name })]),
  );
  return {
    ...nothing,
    globalProjects: selectors.map(([projectName, labelSelector]) => ({
      projectName,
      labelSelector,
    })) as ProjectSources['globalProjects'],
    lookup: (name) => known.get(name),
  };
}

const labelled = (spec: LooseSpec, labels: Record<string, string> = { team: 'a', tier: '1' }): AppProject =>
  projectWith(spec, { name: 'p', labels });

describe('what Secrets add to a project', () => {
  it('permits repositories whose Secret names the project', () => {
    const project = projectWith({ sourceRepos: ['https://h/a'] });
    const repositories = [
      { url: 'https://h/b', project: 'p' },
      { url: 'https://h/c', project: 'q' },
      { url: 'https://h/d' },
    ];
    const effective = effectiveProject(project, {
      ...nothing,
      repositories: repositories,
    });
    expect(effective.spec.sourceRepos).toEqual(['https://h/a', 'https://h/b']);
    expect(project.spec.sourceRepos).toEqual(['https://h/a']);
  });

  it.each<[readonly string[], unknown]>([
    [[], [{ server: 's', namespace: '*' }]],
    [
      ['a', 'b'],
      [
        { server: 's', namespace: 'a' },
        { server: 's', namespace: 'b' },
      ],
    ],
  ])('permits clusters whose Secret names the project, with the namespaces %j', (namespaces, expected) => {
    const clusters = [
      { server: 's', namespaces, project: 'p' },
      { server: 't', namespaces: [], project: 'q' },
      { server: 'u', namespaces: [] },
    ];
    expect(effectiveProject(projectWith({}), { ...nothing, clusters }).spec.destinations).toEqual(expected);
  });

  it('still denies them by a deny entry of the project', () => {
    const project = projectWith({ sourceRepos: ['!https://h/b'], destinations: [{ server: '!s', namespace: '*' }] });
    const effective = effectiveProject(project, {
      ...nothing,
      repositories: [{ url: 'https://h/b', project: 'p' }],
      clusters: [{ server: 's', namespaces: [], project: 'p' }],
    });
    expect(isSourcePermitted(effective, addressOf('https://h/b'))).toBe(false);
    expect(isDestinationPermitted(effective, { server: 's', name: 'n', namespace: 'a' })).toBe(false);
  });

  /** Null is an entry without content, as in Go. */
  const isEmpty = (value: unknown): boolean => Array.isArray(value) && value[0] === null;

  it.each(invalidLists.map((value) => [value]))('permits nothing more beside invalid lists %j', (value) => {
    const effective = effectiveProject(projectWith({ sourceRepos: value, destinations: value }), {
      ...nothing,
      repositories: [{ url: 'https://h/b', project: 'p' }],
      clusters: [{ server: 's', namespaces: [], project: 'p' }],
    });
    expect(
      ['https://h/b', 'https://h/c', 'oci://h/x'].map((url) => isSourcePermitted(effective, addressOf(url))),
    ).toEqual([isEmpty(value), false, false]);
    const at = (server: string): boolean => isDestinationPermitted(effective, { server, name: 'n', namespace: 'a' });
    expect([at('s'), at('t'), at('*')]).toEqual([isEmpty(value) || JSON.stringify(value) === '[{}]', false, false]);
  });

  it('does not treat Secrets without a project as those of a project without a name', () => {
    const anonymous = projectWith({ sourceRepos: ['x'] }, {});
    const repositories = [{ url: 'https://h/b' }] as ProjectSources['repositories'];
    expect(effectiveProject(anonymous, { ...nothing, repositories }).spec.sourceRepos).toEqual(['x']);
  });
});

describe('global projects', () => {
  const one = { kind: 'X', group: '' };
  const full: LooseSpec = {
    clusterResourceWhitelist: [one],
    clusterResourceBlacklist: [one],
    namespaceResourceWhitelist: [one],
    namespaceResourceBlacklist: [one],
    syncWindows: [{ kind: 'deny' }],
    sourceRepos: ['https://g'],
    destinations: [{ server: 'g' }],
    destinationServiceAccounts: [{ server: 'g', defaultServiceAccount: 'x' }],
  };

  it('append eight lists, and nothing else', () => {
    const own = Object.fromEntries(Object.keys(full).map((field) => [field, ['own']]));
    const more = {
      ...full,
      sourceNamespaces: ['*'],
      orphanedResources: { warn: true },
      permitOnlyProjectScopedClusters: true,
      description: 'g',
    };
    const effective = effectiveProject(
      labelled({ ...own, sourceNamespaces: ['a'] }),
      sources({ g: more }, [['g', {}]]),
    );
    expect(effective.spec).toEqual({
      ...Object.fromEntries(Object.entries(full).map(([field, list]) => [field, ['own', ...(list as unknown[])]])),
      sourceNamespaces: ['a'],
    });
  });

  it.each<[string, unknown, unknown, unknown]>([
    ['absent and absent stay absent', undefined, undefined, undefined],
    ['absent and empty stay absent', undefined, [], undefined],
    ['null and empty stay null', null, [], null],
    ['empty and absent stay empty', [], undefined, []],
    ['absent and a list is the list', undefined, [one], [one]],
    ['empty and a list is the list', [], [one], [one]],
    ['a list and empty', [one], [], [one]],
    ['a list and null', [one], null, [one]],
  ])('allow list of namespaced kinds: %s', (_what, own, global, expected) => {
    const effective = effectiveProject(
      labelled({ namespaceResourceWhitelist: own }),
      sources({ g: { namespaceResourceWhitelist: global } }, [['g', {}]]),
    );
    expect(effective.spec.namespaceResourceWhitelist).toEqual(expected);
  });

  it('restrict an open list by a global allow list', () => {
    const effective = effectiveProject(
      labelled({}),
      sources({ g: { namespaceResourceWhitelist: [{ group: '', kind: 'Pod' }] } }, [['g', {}]]),
    );
    const may = (kind: string): boolean => isGroupKindPermitted(effective, { group: '', kind }, true);
    expect([may('Pod'), may('Secret')]).toEqual([true, false]);
  });

  it.each(['x', 5, {}, [null]].map((value) => [value]))(
    'keep denying everything with an invalid deny list %j of the project or a global one',
    (value) => {
      const list = [{ group: '', kind: 'Secret' }];
      const may = (own: unknown, global: unknown): boolean => {
        const globals = sources({ g: { namespaceResourceBlacklist: global } }, [['g', {}]]);
        return isGroupKindPermitted(
          effectiveProject(labelled({ namespaceResourceBlacklist: own }), globals),
          { group: '', kind: 'Pod' },
          true,
        );
      };
      expect([may(list, list), may(value, list), may(list, value), may(value, undefined)]).toEqual([
        true,
        false,
        false,
        false,
      ]);
    },
  );

  const labelTable: readonly (readonly [selector: unknown, matches: boolean | 'invalid'])[] = [
    [{}, true],
    [{ matchLabels: {} }, true],
    [{ matchLabels: null, matchExpressions: null }, true],
    [{ matchLabels: { team: 'a' } }, true],
    [{ matchLabels: { team: 'b' } }, false],
    [{ matchLabels: { team: 'a', tier: '1' } }, true],
    [{ matchLabels: { team: 'a', tier: '2' } }, false],
    [{ matchLabels: { nope: '' } }, false],
    [{ matchLabels: { constructor: 'a' } }, false],
    [{ matchExpressions: [] }, true],
    [{ matchExpressions: [{ key: 'team', operator: 'In', values: ['a', 'b'] }] }, true],
    [{ matchExpressions: [{ key: 'team', operator: 'In', values: ['b'] }] }, false],
    [{ matchExpressions: [{ key: 'nope', operator: 'In', values: ['a'] }] }, false],
    [{ matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['b'] }] }, true],
    [{ matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['a'] }] }, false],
    [{ matchExpressions: [{ key: 'nope', operator: 'NotIn', values: ['a'] }] }, true],
    [{ matchExpressions: [{ key: 'team', operator: 'Exists' }] }, true],
    [{ matchExpressions: [{ key: 'nope', operator: 'Exists', values: [] }] }, false],
    [{ matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] }, false],
    [{ matchExpressions: [{ key: 'nope', operator: 'DoesNotExist' }] }, true],
    [{ matchExpressions: [{ key: 'a.b/c-d_e', operator: 'DoesNotExist' }] }, true],
    [{ matchLabels: { team: 'a' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] }, true],
    [{ matchLabels: { team: 'b' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] }, false],
    [{ matchLabels: { team: 'a' }, matchExpressions: [{ key: 'nope', operator: 'Exists' }] }, false],
    [{ matchLabels: 'x' }, 'invalid'],
    [{ matchLabels: { team: 5 } }, 'invalid'],
    [{ matchLabels: { 'two words': 'a' } }, 'invalid'],
    [{ matchLabels: { team: 'two words' } }, 'invalid'],
    [{ matchLabels: { team: 'x'.repeat(64) } }, 'invalid'],
    [{ matchLabels: { ['x'.repeat(64)]: 'a' } }, 'invalid'],
    [{ matchExpressions: {} }, 'invalid'],
    [{ matchExpressions: [null] }, 'invalid'],
    [{ matchExpressions: [{ operator: 'Exists' }] }, 'invalid'],
    [{ matchExpressions: [{ key: 5, operator: 'Exists' }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'team', operator: 'In' }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'team', operator: 'In', values: [] }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'team', operator: 'In', values: 'a' }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'team', operator: 'In', values: [5] }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'team', operator: 'NotIn' }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'team', operator: 'Exists', values: ['a'] }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'team', operator: 'DoesNotExist', values: ['a'] }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'team', operator: 'in', values: ['a'] }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'team' }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'no spaces', operator: 'DoesNotExist' }] }, 'invalid'],
    [{ matchExpressions: [{ key: '', operator: 'DoesNotExist' }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'a/b/c', operator: 'DoesNotExist' }] }, 'invalid'],
    [{ matchExpressions: [{ key: 'UP/b', operator: 'DoesNotExist' }] }, 'invalid'],
    [{ matchExpressions: [{ key: '/b', operator: 'DoesNotExist' }] }, 'invalid'],
    [{ matchExpressions: [{ key: `${'a.'.repeat(130)}a/b`, operator: 'DoesNotExist' }] }, 'invalid'],
    // A selector that does not match does not hide an invalid one.
    [{ matchLabels: { team: 'b' }, matchExpressions: [{ key: 'team', operator: 'like' }] }, 'invalid'],
  ];
  it.each(labelTable)('selector %j: %j', (selector, matches) => {
    const globals = { g: { sourceRepos: ['https://g'] }, h: { sourceRepos: ['https://h'] } };
    const effective = effectiveProject(
      labelled({ sourceRepos: [] }),
      sources(globals, [
        ['g', selector],
        ['h', {}],
      ]),
    );
    expect(effective.spec.sourceRepos).toEqual(matches === true ? ['https://g', 'https://h'] : ['https://h']);
    const fault = globalProjectFault(labelled({}), sources(globals, [['g', selector]]));
    const invalid = 'the labelSelector of "g" in globalProjects of argocd-cm is invalid';
    expect(fault).toBe(matches === 'invalid' ? invalid : undefined);
  });

  it.each<[string, readonly (readonly [string, unknown])[], readonly string[], string?]>([
    [
      'the project itself is skipped',
      [
        ['p', {}],
        ['g', {}],
      ],
      ['https://g'],
    ],
    [
      'a missing project is a fault',
      [
        ['nope', {}],
        ['g', {}],
      ],
      ['https://g'],
      'the AppProject "nope", named by globalProjects of argocd-cm, does not exist',
    ],
    [
      'a missing project that does not match does not',
      [
        ['nope', { matchLabels: { team: 'b' } }],
        ['g', {}],
      ],
      ['https://g'],
    ],
    [
      'several projects apply in order',
      [
        ['h', {}],
        ['g', {}],
      ],
      ['https://h', 'https://g'],
    ],
    [
      'a project that is listed twice applies once',
      [
        ['g', {}],
        ['g', {}],
      ],
      ['https://g', 'https://g'],
    ],
  ])('%s', (_what, selectors, expected, fault = '') => {
    const globals = { g: { sourceRepos: ['https://g'] }, h: { sourceRepos: ['https://h'] } };
    const given = sources(globals, selectors);
    expect(effectiveProject(labelled({ sourceRepos: [] }), given).spec.sourceRepos).toEqual(expected);
    expect(globalProjectFault(labelled({}), given) ?? '').toBe(fault);
  });

  it('do not match a project without labels unless the selector requires none', () => {
    const globals = sources({ g: { sourceRepos: ['https://g'] } }, [
      ['g', { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] }],
    ]);
    expect(effectiveProject(projectWith({}), globals).spec.sourceRepos).toEqual(['https://g']);
  });

  it('never throw, whatever projects and selectors contain', () => {
    fc.assert(
      fc.property(fc.anything(), fc.object(), fc.dictionary(fc.string(), fc.string()), (value, selector, labels) => {
        const spec = Object.fromEntries(Object.keys(full).map((field) => [field, value]));
        const effective = effectiveProject(
          labelled(spec, labels),
          sources({ g: spec }, [
            ['g', {}],
            ['g', selector],
          ]),
        );
        expect(typeof isSourcePermitted(effective, addressOf('https://h'))).toBe('boolean');
      }),
      { numRuns: 300 },
    );
  });
});

describe('destinationServiceAccounts', () => {
  const server = 'https://s';
  const entry = (defaultServiceAccount: unknown, namespace: unknown = '*', at: unknown = '*'): unknown => ({
    server: at,
    namespace,
    defaultServiceAccount,
  });
  it.each<[unknown, string, string]>([
    [undefined, 'ns', ''],
    [null, 'ns', ''],
    [[], 'ns', ''],
    [[entry('sa')], 'ns', 'system:serviceaccount:ns:sa'],
    [[entry('sa')], '', 'system:serviceaccount:appns:sa'],
    [[entry('other:sa')], 'ns', 'system:serviceaccount:other:sa'],
    [[entry('a:b:c')], 'ns', 'system:serviceaccount:a:b:c'],
    [[entry('sa', 'x')], 'ns', ''],
    [[entry('sa', 'n*', server)], 'ns', 'system:serviceaccount:ns:sa'],
    [[entry('sa', '*', 'https://other')], 'ns', ''],
    [[entry('sa', '*', 'https://*')], 'ns', 'system:serviceaccount:ns:sa'],
    // An empty pattern matches only the empty namespace.
    [[entry('sa', '')], 'ns', ''],
    [[entry('sa', '')], '', 'system:serviceaccount:appns:sa'],
    [[{ server: '*', defaultServiceAccount: 'sa' }], 'ns', ''],
    [[{ server: '*', namespace: null, defaultServiceAccount: 'sa' }], '', 'system:serviceaccount:appns:sa'],
    [[{ namespace: '*', defaultServiceAccount: 'sa' }], 'ns', ''],
    [[entry('first', 'x'), entry('second'), entry('third')], 'ns', 'system:serviceaccount:ns:second'],
    [[entry('sa', '!x')], 'ns', ''],
    [[entry('sa', '{ns,x}')], 'ns', 'system:serviceaccount:ns:sa'],
    // Invalid entries after the matching one are ignored.
    [[entry('sa'), entry('b', '['), 5], 'ns', 'system:serviceaccount:ns:sa'],
  ])('%j for "%s": %s', (destinationServiceAccounts, namespace, user) => {
    expect(impersonationTarget(projectWith({ destinationServiceAccounts }), server, namespace, 'appns')).toEqual({
      user,
    });
  });

  it.each<[unknown, string]>([
    ...['', ' ', '\t', '!a', 'a*', 'a[', 'a]', 'a{', 'a}', 'a\\b', 'a/b', 'ns:a*'].map((account): [unknown, string] => [
      [entry(account)],
      `default service account contains invalid chars '${account}'`,
    ]),
    [[{ server: '*', namespace: '*' }], "default service account contains invalid chars ''"],
    [[entry('sa', '*', '[')], 'invalid glob pattern for destination server: ['],
    [[entry('sa', 'a[')], 'invalid glob pattern for destination namespace: a['],
    // Before the matching entry: skipping it could leave the controller its own permissions.
    [[entry('a', 'x['), entry('sa')], 'invalid glob pattern for destination namespace: x['],
    [[entry('a', 'x[', 'https://other'), entry('sa')], 'invalid glob pattern for destination namespace: x['],
    [[entry('a', '*', 'x['), entry('sa')], 'invalid glob pattern for destination server: x['],
    ...['x', 5, {}, [null], ['x'], [entry(5)], [entry('sa', 5)], [entry('sa', '*', {})]].map(
      (list): [unknown, string] => [list, 'an entry of destinationServiceAccounts has a member that is not a string'],
    ),
  ])('%j is an error: %s', (destinationServiceAccounts, error) => {
    expect(impersonationTarget(projectWith({ destinationServiceAccounts }), server, 'ns', 'appns')).toEqual({ error });
  });
});
