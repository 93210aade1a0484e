import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isDestinationPermitted } from './index.ts';
import { invalidLists, isResourcePermitted, projectWith } from './testing/index.ts';

interface Item {
  readonly server?: string;
  readonly name?: string;
  readonly namespace?: string;
}
const dev = 'https://dev';
const prod = 'https://prod';

/** Parses `server|name|namespace`. */
function at(text: string): { server: string; name: string; namespace: string } {
  const [server = '', name = '', namespace = ''] = text.split('|');
  return { server, name, namespace };
}

/**
 * Entries of destinations, permitted destinations, denied destinations; by section 4.4 of the
 * reference.
 */
const table: readonly (readonly [
  what: string,
  items: readonly Item[],
  yes: readonly string[],
  no: readonly string[],
])[] = [
  ['nothing is listed', [], [], [`${dev}|dev|a`, '||']],
  ['everything', [{ server: '*', namespace: '*' }], [`${dev}|dev|a`, `${dev}||`, `${dev}|dev|`], ['|dev|a', '||a']],
  [
    'by server and namespace',
    [{ server: dev, namespace: 'a' }],
    [`${dev}|dev|a`, `${dev}||a`],
    [`${dev}|dev|b`, `${dev}|dev|`, `${prod}|dev|a`, '|dev|a', `${dev}/|dev|a`, 'HTTPS://dev|dev|a', `${dev}|dev|A`],
  ],
  [
    'by name and namespace',
    [{ name: 'dev', namespace: 'a' }],
    [`${dev}|dev|a`, `${prod}|dev|a`, '|dev|a'],
    [`${dev}||a`, `${dev}|prod|a`, `${dev}|dev|b`],
  ],
  [
    'by name or server',
    [{ server: dev, name: 'prod', namespace: '*' }],
    [`${dev}|x|a`, `${prod}|prod|a`, `${dev}|prod|a`],
    [`${prod}|x|a`, `${prod}||a`],
  ],
  [
    'a star of the server',
    [{ server: 'https://*', namespace: '*' }],
    [`${dev}|dev|a`, 'https://x/y|x|a'],
    ['http://x|x|a'],
  ],
  [
    'a star of the name',
    [{ name: 'dev-*', namespace: '*' }],
    [`${dev}|dev-1|a`, `${dev}|dev-|a`],
    [`${dev}|dev|a`, `${dev}||a`],
  ],
  [
    'stars cross slashes and dots',
    [{ server: '*dev*', namespace: 'team-*' }],
    ['https://x.dev/y|n|team-a', 'https://dev|n|team-'],
    ['https://prod|n|team-a', 'https://dev|n|team'],
  ],
  ['an absent namespace is only the empty one', [{ server: dev }], [`${dev}|dev|`], [`${dev}|dev|a`]],
  ['an absent server and name match nothing', [{ namespace: '*' }], [], [`${dev}|dev|a`, '||a', `${dev}||`]],
  [
    'braces',
    [{ server: '*', namespace: '{a,b-*}' }],
    [`${dev}|dev|a`, `${dev}|dev|b-1`],
    [`${dev}|dev|b`, `${dev}|dev|c`],
  ],
  [
    'classes',
    [{ server: '*', namespace: 'team-[ab]' }],
    [`${dev}|dev|team-a`],
    [`${dev}|dev|team-c`, `${dev}|dev|team-ab`],
  ],
  [
    'negated classes use the exclamation mark',
    [{ server: '*', namespace: 'team-[!ab]' }],
    [`${dev}|dev|team-c`],
    [`${dev}|dev|team-a`],
  ],
  [
    'an in-cluster by name only',
    [{ name: 'in-cluster', namespace: '*' }],
    ['https://kubernetes.default.svc|in-cluster|a'],
    ['https://kubernetes.default.svc|other|a'],
  ],
  // Denied namespaces: only where the server matches.
  [
    'a denied namespace',
    [
      { server: '*', namespace: '*' },
      { server: '*', namespace: '!kube-system' },
    ],
    [`${dev}|dev|a`, `${dev}|dev|`],
    [`${dev}|dev|kube-system`],
  ],
  [
    'a denied namespace alone permits the others',
    [{ server: '*', namespace: '!kube-system' }],
    [`${dev}|dev|a`],
    [`${dev}|dev|kube-system`],
  ],
  [
    'a denied namespace first',
    [
      { server: '*', namespace: '!kube-system' },
      { server: '*', namespace: '*' },
    ],
    [`${dev}|dev|a`],
    [`${dev}|dev|kube-system`],
  ],
  [
    'several denied namespaces in braces',
    [{ server: '*', namespace: '!{kube-system,argocd}' }],
    [`${dev}|dev|a`],
    [`${dev}|dev|kube-system`, `${dev}|dev|argocd`],
  ],
  [
    'several denied namespaces in entries',
    [
      { server: '*', namespace: '!a' },
      { server: '*', namespace: '!b' },
    ],
    [`${dev}|dev|c`],
    [`${dev}|dev|a`, `${dev}|dev|b`],
  ],
  [
    'a denied namespace with a star',
    [{ server: '*', namespace: '!kube-*' }],
    [`${dev}|dev|a`, `${dev}|dev|kube`],
    [`${dev}|dev|kube-system`, `${dev}|dev|kube-`],
  ],
  [
    'a denied namespace of one server',
    [
      { server: '*', namespace: '*' },
      { server: prod, namespace: '!a' },
    ],
    [`${dev}|dev|a`, `${prod}|prod|b`],
    [`${prod}|prod|a`],
  ],
  [
    'a denied namespace by name of the cluster does not deny',
    [
      { server: '*', namespace: '*' },
      { name: 'prod', namespace: '!a' },
    ],
    [`${prod}|prod|a`, `${prod}|prod|b`],
    [],
  ],
  [
    'a denied namespace by name permits the other namespaces there',
    [{ name: 'prod', namespace: '!a' }],
    [`${prod}|prod|b`],
    [`${prod}|prod|a`, `${dev}|dev|b`],
  ],
  [
    'all namespaces denied',
    [
      { server: '*', namespace: '*' },
      { server: '*', namespace: '!*' },
    ],
    [],
    [`${dev}|dev|a`, `${dev}|dev|`],
  ],
  // Denied servers: only with their namespace.
  [
    'a denied server',
    [
      { server: '*', namespace: '*' },
      { server: `!${prod}`, namespace: '*' },
    ],
    [`${dev}|dev|a`],
    [`${prod}|prod|a`],
  ],
  [
    'a denied server alone permits the others',
    [{ server: `!${prod}`, namespace: '*' }],
    [`${dev}|dev|a`],
    [`${prod}|prod|a`],
  ],
  [
    'a denied server in one namespace',
    [
      { server: '*', namespace: '*' },
      { server: `!${prod}`, namespace: 'a' },
    ],
    [`${prod}|prod|b`, `${dev}|dev|a`],
    [`${prod}|prod|a`],
  ],
  [
    'a denied server and namespace in one entry',
    [
      { server: '*', namespace: '*' },
      { server: `!${prod}`, namespace: '!a' },
    ],
    [`${dev}|dev|b`, `${prod}|prod|a`],
    [`${prod}|prod|b`, `${dev}|dev|a`],
  ],
  [
    'a denied server without a namespace denies only the empty one',
    [{ server: '*', namespace: '*' }, { server: `!${prod}` }],
    [`${prod}|prod|a`],
    [`${prod}|prod|`],
  ],
  ['a denied server with a star', [{ server: '!https://p*', namespace: '*' }], [`${dev}|dev|a`], [`${prod}|prod|a`]],
  [
    'an unknown server fails a server deny',
    [
      { name: 'dev', namespace: '*' },
      { server: `!${prod}`, namespace: '*' },
    ],
    [`${dev}|dev|a`],
    ['|dev|a'],
  ],
  // Denied names: in every namespace.
  [
    'a denied name',
    [
      { server: '*', namespace: '*' },
      { name: '!prod', namespace: '*' },
    ],
    [`${dev}|dev|a`],
    [`${prod}|prod|a`],
  ],
  ['a denied name alone permits the others', [{ name: '!prod', namespace: '*' }], [`${dev}|dev|a`], [`${prod}|prod|a`]],
  [
    'a denied name applies to every namespace',
    [
      { server: '*', namespace: '*' },
      { name: '!prod', namespace: 'x' },
    ],
    [`${dev}|dev|a`],
    [`${prod}|prod|a`, `${prod}|prod|x`],
  ],
  [
    'a denied name without a namespace',
    [{ server: '*', namespace: '*' }, { name: '!prod' }],
    [`${dev}|dev|a`],
    [`${prod}|prod|a`],
  ],
  [
    'a cluster without a name fails every name deny',
    [
      { server: '*', namespace: '*' },
      { name: '!prod', namespace: '*' },
    ],
    [],
    [`${dev}||a`],
  ],
  [
    'a denied name is overruled by the server of its own entry',
    [{ name: '!prod', server: prod, namespace: '*' }],
    [`${prod}|prod|a`, `${prod}|x|a`, `${dev}|x|a`],
    [`${dev}|prod|a`],
  ],
  [
    'but not in another namespace',
    [
      { server: '*', namespace: '*' },
      { name: '!prod', server: prod, namespace: 'a' },
    ],
    [`${prod}|prod|a`, `${prod}|x|b`],
    [`${prod}|prod|b`],
  ],
  [
    'a deny stops the search',
    [{ name: '!prod' }, { server: prod, namespace: 'a' }],
    [],
    [`${prod}|prod|a`, `${dev}|dev|a`],
  ],
  // Invalid patterns.
  [
    'an invalid pattern matches nothing',
    [
      { server: '[', namespace: '*' },
      { server: '*', namespace: 'a[' },
    ],
    [],
    [`${dev}|dev|a`, '[|x|a', `${dev}|dev|a[`],
  ],
  [
    'the other patterns of its entry still count',
    [{ server: '[', name: 'dev', namespace: '*' }],
    [`${dev}|dev|a`],
    [`${dev}|prod|a`],
  ],
  [
    'an invalid denied namespace denies everything',
    [
      { server: '*', namespace: '*' },
      { server: '*', namespace: '![' },
    ],
    [],
    [`${dev}|dev|a`, `${dev}|dev|[`],
  ],
  [
    'an invalid deny pattern permits nothing by itself',
    [
      { server: '*', namespace: '![' },
      { server: '![', namespace: '*' },
      { name: '!a[', namespace: '*' },
    ],
    [],
    [`${dev}|dev|a`, `${dev}|dev|[`],
  ],
  [
    'a lone exclamation mark denies the empty text',
    [{ server: '*', namespace: '!' }],
    [`${dev}|dev|a`],
    [`${dev}|dev|`],
  ],
  ['two exclamation marks', [{ server: '*', namespace: '!!a' }], [`${dev}|dev|a`, `${dev}|dev|b`], [`${dev}|dev|!a`]],
];
const rows = table.flatMap(([what, items, yes, no]) => [
  ...yes.map((text) => [what, items, text, true] as const),
  ...no.map((text) => [what, items, text, false] as const),
]);

describe('destinations', () => {
  it.each(rows)('%s: %j, %s: %j', (_what, destinations, text, expected) => {
    expect(isDestinationPermitted(projectWith({ destinations }), at(text))).toBe(expected);
  });

  it.each([undefined, null, ...invalidLists, 'https://dev'].map((value) => [value]))(
    'permit nothing if they are %j',
    (destinations) => {
      for (const text of [`${dev}|dev|a`, '||', '*|*|*'])
        expect(isDestinationPermitted(projectWith({ destinations }), at(text))).toBe(false);
    },
  );

  const all = { server: '*', namespace: '*' };
  it.each<[unknown, boolean]>([
    [null, true],
    [{}, true],
    // An unreadable entry may have been a deny entry.
    ['!*', false],
    [{ server: 5, namespace: '*' }, false],
    [{ server: ['!*'], namespace: 'a' }, false],
    [{ server: '!https://x', namespace: 5 }, false],
    [{ server: '!https://x', namespace: '[a' }, false],
    [{ server: {}, namespace: '!x' }, false],
    [{ name: '!x', server: [] }, false],
    [{ name: null, server: null, namespace: null }, true],
    [{ name: null, server: '!https://dev', namespace: '*' }, false],
  ])('permit the rest beside an entry %j: %j', (entry, expected) => {
    const project = projectWith({ destinations: [entry, all] });
    expect(isDestinationPermitted(project, at(`${dev}|dev|a`))).toBe(expected);
    expect(isDestinationPermitted(projectWith({ destinations: [all, entry] }), at(`${dev}|dev|a`))).toBe(expected);
  });

  const scoped = [{ server: dev, name: 'dev' }];
  it.each<[unknown, string, readonly { server: string; name: string }[], boolean]>([
    [undefined, `${prod}|prod|a`, scoped, true],
    [false, `${prod}|prod|a`, scoped, true],
    [null, `${prod}|prod|a`, [], true],
    [true, `${prod}|prod|a`, scoped, false],
    [true, `${dev}|dev|a`, scoped, true],
    [true, `${dev}|other|a`, scoped, true],
    [true, `${prod}|dev|a`, scoped, true],
    [true, `${dev}|dev|a`, [], false],
    [true, `${dev}|dev|b`, scoped, false],
    // Only an explicit false opens it.
    ['false', `${prod}|prod|a`, scoped, false],
    ['true', `${prod}|prod|a`, scoped, false],
    [0, `${prod}|prod|a`, scoped, false],
  ])('permitOnlyProjectScopedClusters %j, %s, clusters %j: %j', (only, text, clusters, expected) => {
    const project = projectWith({
      destinations: [{ server: '*', namespace: 'a' }],
      permitOnlyProjectScopedClusters: only,
    });
    expect(isDestinationPermitted(project, at(text), clusters)).toBe(expected);
  });

  const word = fc.constantFrom('a', 'b', 'ab', 'ba');
  const pattern = fc.constantFrom(
    'a',
    'b',
    'ab',
    '*',
    'a*',
    '*b',
    '!a',
    '!b',
    '!a*',
    '!*',
    '',
    '?',
    '!?',
    '{a,b}',
    '!{a,ab}',
  );
  const item = fc.record({ server: pattern, name: pattern, namespace: pattern }, { requiredKeys: [] });
  const place = fc.record({
    server: fc.oneof(word, fc.constant('')),
    name: fc.oneof(word, fc.constant('')),
    namespace: fc.oneof(word, fc.constant('')),
  });

  /** Words that match each pattern, written out by hand. */
  const named: Readonly<Record<string, readonly string[]>> = {
    '': [''],
    a: ['a'],
    b: ['b'],
    ab: ['ab'],
    '*': ['', 'a', 'b', 'ab', 'ba'],
    'a*': ['a', 'ab'],
    '*b': ['b', 'ab'],
    // gobwas also lets a lone question mark match nothing.
    '?': ['', 'a', 'b'],
    '{a,b}': ['a', 'b'],
    '{a,ab}': ['a', 'ab'],
  };

  /** Section 4.4 of the reference, sentence by sentence. */
  function naive(items: readonly Item[], to: { server: string; name: string; namespace: string }): boolean {
    const hit = (text = '', value: string): boolean =>
      text.startsWith('!') ? !(named[text.slice(1)] ?? []).includes(value) : (named[text] ?? []).includes(value);
    const isDeny = (text = ''): boolean => text.startsWith('!');
    let positive = false;
    for (const { server, name, namespace } of items) {
      const n = to.name !== '' && hit(name, to.name);
      const s = to.server !== '' && hit(server, to.server);
      const k = hit(namespace, to.namespace);
      if ((s || n) && k) positive = true;
      else if ((!n && isDeny(name)) || (!s && isDeny(server) && k)) return false;
      else if (!k && isDeny(namespace) && s) return false;
    }
    return positive;
  }

  it('agree with a naive model', () => {
    fc.assert(
      fc.property(fc.array(item, { maxLength: 4 }), place, (items, to) => {
        expect(isDestinationPermitted(projectWith({ destinations: items }), to)).toBe(naive(items, to));
      }),
      { numRuns: 5000 },
    );
  });

  it('are an allow list minus a deny list if each entry does one of both for all namespaces', () => {
    const allow = fc.record({
      server: fc.constantFrom('a', 'b', 'a*', '*'),
      namespace: fc.constantFrom('a', 'b', '*'),
    });
    const deny = fc.constantFrom('a', 'b', 'a*');
    fc.assert(
      fc.property(
        fc.array(allow, { maxLength: 3 }),
        fc.array(deny, { maxLength: 3 }),
        word,
        word,
        (allows, denies, server, namespace) => {
          // An entry that permits everything hides that a deny entry also permits.
          const items = [
            { server: '*', namespace: '*' },
            ...allows,
            ...denies.map((text) => ({ server: `!${text}`, namespace: '*' })),
          ];
          const denied = denies.some((text) => (named[text] ?? []).includes(server));
          expect(isDestinationPermitted(projectWith({ destinations: items }), { server, name: 'x', namespace })).toBe(
            !denied,
          );
          const allowed = allows.some(
            (one) => (named[one.server] ?? []).includes(server) && (named[one.namespace] ?? []).includes(namespace),
          );
          const only = isDestinationPermitted(projectWith({ destinations: allows }), { server, name: 'x', namespace });
          expect(only).toBe(allowed);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('never throw on any input, and never permit more than the valid entries', () => {
    fc.assert(
      fc.property(fc.anything(), place, (destinations, to) => {
        expect(isDestinationPermitted(projectWith({ destinations }), to)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

describe('objects of applications', () => {
  const project = projectWith({
    destinations: [{ server: dev, namespace: 'a' }],
    clusterResourceWhitelist: [{ group: '', kind: 'Namespace', name: 'a*' }],
    namespaceResourceBlacklist: [{ group: '', kind: 'Secret' }],
  });
  it.each([
    ['ConfigMap', 'c', 'a', dev, true],
    ['ConfigMap', 'c', 'b', dev, false],
    ['ConfigMap', 'c', 'a', prod, false],
    ['Secret', 's', 'a', dev, false],
    ['Namespace', 'ab', '', dev, true],
    // An object without a namespace ignores the destination.
    ['Namespace', 'ab', '', prod, true],
    ['Namespace', 'b', '', dev, false],
    ['Node', 'n', '', dev, false],
  ])('%s %s in namespace "%s" on %s: %j', (kind, name, namespace, server, expected) => {
    const cluster = { server, name: 'x' };
    expect(isResourcePermitted(project, { group: '', kind }, name, namespace, cluster)).toBe(expected);
  });

  it('are limited to clusters of the project when it requires that', () => {
    const bound = projectWith({
      destinations: [{ server: '*', namespace: '*' }],
      permitOnlyProjectScopedClusters: true,
    });
    const asked = (clusters?: readonly { server: string; name: string }[]): boolean =>
      isResourcePermitted(bound, { group: '', kind: 'Pod' }, 'p', 'a', { server: dev, name: 'dev' }, clusters);
    expect([asked(), asked([]), asked([{ server: dev, name: 'dev' }])]).toEqual([false, false, true]);
  });
});
