import { describe, expect, it } from '@jest/globals';
import { projectFaults } from './index.ts';
import type { ProjectFaultReason } from './index.ts';
import { projectWith } from './testing/index.ts';
import type { LooseSpec } from './testing/index.ts';

type Expected = readonly (readonly [ProjectFaultReason, string])[];
type FaultCase = readonly [title: string, spec: LooseSpec, expected: Expected];

function faultsOf(spec: LooseSpec): Expected {
  return projectFaults(projectWith(spec)).map(({ reason, field }) => [reason, field]);
}

const allow = { kind: 'allow', schedule: '0 22 * * *', duration: '8h', applications: ['*'] };

const likeArgo: readonly (readonly [title: string, spec: LooseSpec])[] = [
  ['an empty spec', {}],
  ['null lists', { sourceRepos: null, destinations: null, syncWindows: null }],
  ['patterns and deny entries', { sourceRepos: ['https://git.example.com/*', '!https://git.example.com/secret'] }],
  ['a null entry of a list of strings', { sourceRepos: [null], sourceNamespaces: [null, 'team-*'] }],
  [
    'destinations',
    {
      destinations: [
        { server: '*', namespace: '!kube-*' },
        { name: 'prod', namespace: 'a' },
      ],
    },
  ],
  ['a denied cluster name with every namespace', { destinations: [{ name: '!prod', namespace: '**' }] }],
  ['rules for kinds', { clusterResourceWhitelist: [{ group: '*', kind: '*' }], namespaceResourceBlacklist: [{}] }],
  ['only scoped clusters', { permitOnlyProjectScopedClusters: true }],
  ['a sync window', { syncWindows: [allow, { ...allow, kind: 'deny', schedule: '0 0 30 2 *' }] }],
  ['an invalid schedule, which fails the sync in both', { syncWindows: [{ ...allow, schedule: 'noon' }] }],
  ['a window without schedule and duration', { syncWindows: [{ kind: 'allow' }] }],
  ['a schedule and a duration at the limit', { syncWindows: [{ ...allow, schedule: '*'.repeat(2000) }] }],
  ['a duration at the limit', { syncWindows: [{ ...allow, duration: '1'.repeat(200) }] }],
];

const faults: readonly FaultCase[] = [
  ['a repository deny entry that is no glob', { sourceRepos: ['*', '![a'] }, [['denyGlob', 'spec.sourceRepos[1]']]],
  [
    'each member of a destination with a deny entry that is no glob',
    { destinations: [{ server: '*' }, { server: '![a', namespace: '![b', name: '![c' }] },
    [
      ['denyGlob', 'spec.destinations[1].name'],
      ['denyGlob', 'spec.destinations[1].server'],
      ['denyGlob', 'spec.destinations[1].namespace'],
      ['deniedName', 'spec.destinations[1].name'],
    ],
  ],
  [
    'a denied cluster name beside one namespace',
    { destinations: [{ name: '!prod', namespace: 'team' }] },
    [['deniedName', 'spec.destinations[0].name']],
  ],
  [
    'a denied cluster name beside a denied namespace',
    { destinations: [{ name: '!prod', namespace: '!team' }] },
    [['deniedName', 'spec.destinations[0].name']],
  ],
  [
    'a denied cluster name without and with an empty namespace',
    { destinations: [{ name: '!prod' }, { name: '!prod', namespace: '' }] },
    [
      ['deniedName', 'spec.destinations[0].name'],
      ['deniedName', 'spec.destinations[1].name'],
    ],
  ],
  [
    'an allow window that never opens',
    { syncWindows: [allow, { ...allow, schedule: '0 0 30 2 *' }] },
    [['neverOpen', 'spec.syncWindows[1].schedule']],
  ],
  [
    'a long schedule',
    { syncWindows: [{ ...allow, schedule: '*'.repeat(2001) }] },
    [['tooLong', 'spec.syncWindows[0].schedule']],
  ],
  [
    'a long duration',
    { syncWindows: [{ ...allow, duration: '1'.repeat(201) }] },
    [['tooLong', 'spec.syncWindows[0].duration']],
  ],
  ['a repository that is no string', { sourceRepos: ['*', 5] }, [['unreadable', 'spec.sourceRepos']]],
  ['a namespace that is no string', { sourceNamespaces: [{}] }, [['unreadable', 'spec.sourceNamespaces']]],
  ['a list that is none', { destinations: { 0: {} } }, [['unreadable', 'spec.destinations']]],
  ['a destination that is no object', { destinations: ['*'] }, [['unreadable', 'spec.destinations']]],
  ...['name', 'server', 'namespace'].map((member): FaultCase => [
    `a destination whose ${member} is no string`,
    { destinations: [{ [member]: 5 }] },
    [['unreadable', 'spec.destinations']],
  ]),
  ...['clusterResourceWhitelist', 'clusterResourceBlacklist'].flatMap((list) =>
    ['group', 'kind', 'name'].map((member): FaultCase => [
      `a ${member} in ${list} that is no string`,
      { [list]: [{ [member]: [] }] },
      [['unreadable', `spec.${list}`]],
    ]),
  ),
  ...['namespaceResourceWhitelist', 'namespaceResourceBlacklist'].flatMap((list) =>
    ['group', 'kind'].map((member): FaultCase => [
      `a ${member} in ${list} that is no string`,
      { [list]: [{ [member]: [] }] },
      [['unreadable', `spec.${list}`]],
    ]),
  ),
  ...['server', 'namespace', 'defaultServiceAccount'].map((member): FaultCase => [
    `a ${member} of a service account that is no string`,
    { destinationServiceAccounts: [{ [member]: true }] },
    [['unreadable', 'spec.destinationServiceAccounts']],
  ]),
  [
    'a window of an unknown kind, or of none, that Argo CD leaves out',
    { syncWindows: [allow, { ...allow, kind: 'dney' }, { schedule: '0 22 * * *', duration: '8h' }] },
    [
      ['meaningless', 'spec.syncWindows[1].kind'],
      ['meaningless', 'spec.syncWindows[2].kind'],
    ],
  ],
  ...['applications', 'clusters', 'namespaces'].map((list): FaultCase => [
    `a pattern in ${list} of a window that is no glob`,
    { syncWindows: [{ ...allow, [list]: ['prod-*', '[a'] }] },
    [['meaningless', `spec.syncWindows[0].${list}`]],
  ]),
  ['a window that is no object', { syncWindows: ['deny'] }, [['unreadable', 'spec.syncWindows']]],
  [
    'a window with a number as duration',
    { syncWindows: [{ ...allow, duration: 5 }] },
    [['unreadable', 'spec.syncWindows']],
  ],
  [
    'a text instead of true',
    { permitOnlyProjectScopedClusters: 'true' },
    [['unreadable', 'spec.permitOnlyProjectScopedClusters']],
  ],
];

describe('rules of a project that Argo CD reads differently', () => {
  it.each(likeArgo)('finds none in %s', (_title, spec) => {
    expect(faultsOf(spec)).toEqual([]);
  });

  it.each(faults)('finds %s', (_title, spec, expected) => {
    expect(faultsOf(spec)).toEqual(expected);
  });

  it('finds the faults of every field, in order', () => {
    const all = Object.assign({}, ...faults.map(([, spec]) => spec)) as LooseSpec;
    const fields = faultsOf({ ...all, sourceRepos: ['![a', 5] }).map(([, field]) => field);
    expect(fields.slice(0, 2)).toEqual(['spec.sourceRepos', 'spec.sourceNamespaces']);
    expect(fields.at(-1)).toBe('spec.sourceRepos[0]');
  });
});
