import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { asApplication } from '#model';
import { answerWith } from '../testing/explained-application.ts';
import type { ReplicaFacts } from '../facts.ts';
import { partFaults, usedFaults } from '../pages/degradations.ts';

const own = { server: 'https://own', url: 'https://git/own', path: 'own', revision: 'main', kind: 'ConfigMap' };

const app = asApplication({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { name: 'a', namespace: 'argocd' },
  spec: { project: 'p', source: { repoURL: own.url, path: own.path, targetRevision: own.revision }, destination: {} },
  status: { resources: [{ kind: own.kind, version: 'v1', name: 'c' }], sync: { status: 'Synced', revision: 'abc' } },
});

const text = fc.constantFrom('away', 'is forbidden: User "u"', 'app path does not exist', 'Failed to unmarshal "x"');
const kindNamed = (names: readonly string[]): fc.Arbitrary<object> =>
  fc.record({
    group: fc.constant(''),
    version: fc.constant('v1'),
    kind: fc.constantFrom(...names),
    state: fc.constantFrom('listing', 'polled', 'degraded', 'forbidden', 'left-out'),
    message: text,
  });

/** Clusters, kinds, repositories and sources with any fault, none of which the Application uses. */
const unusedFaults = fc.record({
  own: fc.array(kindNamed(['Widget', 'Pod']), { maxLength: 3 }),
  others: fc.array(
    fc.record({
      info: fc.record({
        server: fc.constantFrom('https://b', 'https://c'),
        state: fc.constant('failed'),
        message: text,
      }),
      kinds: fc.array(kindNamed(['ConfigMap', 'Pod']), { maxLength: 3 }),
    }),
    { maxLength: 3 },
  ),
  paused: fc.array(
    fc.record({
      path: fc.constantFrom('own-2', 'other', ''),
      revision: fc.constantFrom('main', 'abc'),
      message: text,
      since: fc.constant(0),
    }),
    { maxLength: 3 },
  ),
  paused2: fc.array(
    fc.record({
      path: fc.constant('own'),
      revision: fc.constantFrom('v1', 'v2'),
      message: text,
      since: fc.constant(0),
    }),
    { maxLength: 2 },
  ),
  failing: fc.array(fc.record({ url: fc.constantFrom('https://git/b', 'https://git/own2'), message: text }), {
    maxLength: 3,
  }),
});

const ownState = fc.record(
  {
    sync: fc.constantFrom('Synced' as const, 'OutOfSync' as const, 'Unknown' as const),
    health: fc.constantFrom('Healthy', 'Degraded', 'Progressing'),
    operation: fc.constantFrom('Succeeded', 'Failed', 'Running'),
    isAutomated: fc.boolean(),
  },
  { requiredKeys: [] },
);

it('a fault that an Application does not use never changes its verdict', () => {
  fc.assert(
    fc.property(unusedFaults, ownState, (faults, state) => {
      const facts = {
        ownership: { conditions: () => [{ type: 'HubUnreadable', message: 'x', since: 0 }] },
        settingsProblems: () => [{ object: 'ConfigMap argocd-cm', message: 'x' }],
        watched: () => [{ info: { server: own.server, state: 'synced' }, kinds: faults.own }, ...faults.others],
        repositories: () => [
          { url: own.url, failuresInRow: 0, lastFetch: {}, paused: [...faults.paused, ...faults.paused2] },
          ...faults.failing.map(({ url, message }) => ({ url, failuresInRow: 3, lastFetch: { message }, paused: [] })),
        ],
      } as unknown as ReplicaFacts;
      const all = partFaults(facts);
      const degraded = usedFaults(all, { server: own.server, repositories: [own.url] }, app);
      const verdict = ({ application }: ReturnType<typeof answerWith>): unknown => application.verdict;
      expect(verdict(answerWith({ ...state, degraded }))).toEqual(verdict(answerWith(state)));
    }),
  );
});
