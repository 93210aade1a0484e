import { describe, expect, it } from '@jest/globals';
import type { AppProjectSpec } from '#model';
import { addressOf } from '../model/testing/index.ts';
import {
  canSync,
  gitIntegrity,
  impersonationTarget,
  isAppNamespacePermitted,
  isDestinationPermitted,
  isGroupKindPermitted,
  isSourcePermitted,
} from './index.ts';
import { invalidLists, projectWith } from './testing/index.ts';
import type { LooseSpec } from './testing/index.ts';

const open: LooseSpec = {
  sourceRepos: ['*'],
  destinations: [{ server: '*', name: '*', namespace: '*' }],
  clusterResourceWhitelist: [{ group: '*', kind: '*' }],
  sourceNamespaces: ['*'],
};

const window = {
  kind: 'deny',
  schedule: '0 0 * * *',
  duration: '24h',
  applications: ['app'],
  namespaces: ['red'],
  clusters: ['c'],
};

/** Values of each field that narrow; `nothing`: why the field narrows no write. */
const narrowing: Readonly<Record<keyof AppProjectSpec, readonly unknown[] | { readonly nothing: string }>> = {
  sourceRepos: [['https://git/a'], ['*', '!https://git/b'], ['!https://git/b', '*']],
  destinations: [
    [{ server: 'https://a', namespace: 'red' }],
    [
      { server: '*', namespace: '*' },
      { server: 'https://a', namespace: '!blue' },
    ],
    [
      { server: '*', namespace: '*' },
      { server: '!https://b', namespace: '*' },
    ],
    [
      { name: '*', server: '*', namespace: '*' },
      { name: '!b', namespace: '*' },
    ],
  ],
  clusterResourceWhitelist: [[{ group: '', kind: 'Namespace' }], [{ group: '', kind: 'Namespace', name: 'a' }]],
  clusterResourceBlacklist: [[{ group: '', kind: 'Namespace' }], [{ group: '*', kind: '*', name: 'a' }]],
  namespaceResourceWhitelist: [[{ group: '', kind: 'Secret' }], []],
  namespaceResourceBlacklist: [[{ group: '', kind: 'Secret' }], [{ group: '*', kind: '*' }]],
  sourceNamespaces: [['team-a'], ['/^team-[a]$/'], []],
  syncWindows: [
    [window],
    [{ ...window, andOperator: true, manualSync: false, syncOverrun: false, timeZone: 'Europe/Berlin' }],
    [{ kind: 'allow', schedule: '0 0 1 1 *', duration: '1m', applications: ['*'] }],
  ],
  signatureKeys: [[{ keyID: '4AEE18F83AFDEB23' }]],
  sourceIntegrity: [
    { git: { policies: [{ repos: [{ url: '*' }], gpg: { mode: 'head', keys: ['4AEE18F83AFDEB23'] } }] } },
    { git: { policies: [{ repos: [{ url: 'https://git/a' }], gpg: { mode: 'strict', keys: ['4AEE18F83AFDEB23'] } }] } },
  ],
  permitOnlyProjectScopedClusters: [true],
  destinationServiceAccounts: [[{ server: 'https://a', namespace: 'red', defaultServiceAccount: 'limited' }]],
  orphanedResources: { nothing: 'it warns of objects without an Application, which are never written' },
};

const urls = ['https://git/a', 'https://git/b'];
const servers = [
  { server: 'https://a', name: 'a' },
  { server: 'https://b', name: 'b' },
];
const kinds = [
  { group: '', kind: 'Secret' },
  { group: 'apps', kind: 'Deployment' },
  { group: '', kind: 'Namespace', name: 'a' },
  { group: '', kind: 'Namespace', name: 'b' },
];
const apps = [
  { name: 'app', destination: { server: 'c', namespace: 'red' } },
  { name: 'other', destination: { name: 'c', namespace: 'blue' } },
];
const times = [Date.UTC(2026, 5, 1, 12), Date.UTC(2026, 0, 1, 0, 0, 30)];

/** Everything that the project permits, of a fixed list of questions. */
function permitted(spec: LooseSpec): readonly string[] {
  const project = projectWith(spec);
  const all: (readonly [string, boolean])[] = [
    ...urls.map((url) => [`source ${url}`, isSourcePermitted(project, addressOf(url))] as const),
    ...urls.map((url) => [`unsigned ${url}`, gitIntegrity(project, { repoURL: url }) === undefined] as const),
    ...['team-a', 'team-b'].map(
      (namespace) => [namespace, isAppNamespacePermitted(namespace, project, 'argocd')] as const,
    ),
  ];
  for (const place of servers) {
    for (const namespace of ['red', 'blue']) {
      const scoped = [{ server: 'https://a', name: 'a' }];
      all.push([`${place.name} ${namespace}`, isDestinationPermitted(project, { ...place, namespace }, scoped)]);
      const target = impersonationTarget(project, place.server, namespace, 'argocd');
      if ('user' in target) all.push([`as ${target.user} on ${place.name} ${namespace}`, true]);
    }
  }
  for (const kind of kinds)
    for (const namespaced of [true, false])
      all.push([`${JSON.stringify(kind)} ${namespaced}`, isGroupKindPermitted(project, kind, namespaced)]);
  const windows = project.spec.syncWindows;
  for (const [i, app] of apps.entries())
    for (const at of times)
      for (const manual of [true, false])
        all.push([`sync ${i} ${at} ${manual}`, canSync(windows, app, { manual }, at).allowed]);
  return all.flatMap(([title, isPermitted]) => (isPermitted ? [title] : []));
}

/** The value with each of its parts replaced by one that cannot be read; null counts as absent. */
function* unreadable(value: unknown, isWhole = true): Generator {
  const wrong = [5, true, 'text', {}, [], [5], ['text'], [[]], { a: 1 }, '[a', '![a', '\uFFFD'];
  yield* (isWhole ? [...invalidLists, ...wrong] : wrong).filter((other) => !isSameType(value, other));
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value))
    for (const other of unreadable(part, false)) {
      if (Array.isArray(value)) yield value.map((one: unknown, i) => (String(i) === name ? other : one));
      else yield { ...value, [name]: other };
    }
}

/** A deny entry without its mark is another readable value. */
function isDeny(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith('!');
}

/** Another readable value is an edit; what is no pattern at all is not readable. */
function isSameType(value: unknown, other: unknown): boolean {
  if (Array.isArray(value))
    return Array.isArray(other) && other.every((one) => value.some((own) => isSameType(own, one)));
  if (typeof value === 'object') return typeof other === 'object' && !Array.isArray(other);
  return typeof value === typeof other && (other !== '[a' || isDeny(value));
}

const cases = Object.entries(narrowing).flatMap(([field, values]) =>
  'nothing' in values ? [] : values.flatMap((value) => [...unreadable(value)].map((bad) => ({ field, value, bad }))),
);

describe('a field of an AppProject that narrows what is written', () => {
  it('narrows with each value of this table', () => {
    const all = permitted(open);
    for (const [field, values] of Object.entries(narrowing))
      for (const value of 'nothing' in values ? [] : values) {
        const some = permitted({ ...open, [field]: value });
        expect([field, value, all.every((one) => some.includes(one))]).toEqual([field, value, false]);
      }
  });

  it(`permits nothing more while it cannot be read (${cases.length} values)`, () => {
    const wider: string[] = [];
    for (const { field, value, bad } of cases) {
      const before = permitted({ ...open, [field]: value });
      const now = permitted({ ...open, [field]: bad });
      const more = now.filter((one) => !before.includes(one));
      if (more.length > 0)
        wider.push(`${field} ${JSON.stringify(value)} -> ${JSON.stringify(bad)}: ${more.join('; ')}`);
    }
    expect(wider).toEqual([]);
  });
});
