import { describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import { asApplication, defaultSettings } from '#model';
import type { Application, KubeObject } from '#model';
import { basisOf, isSameBasis } from './basis.ts';
import type { BasisFacts, ComparisonBasis } from './basis.ts';
import type { RenderedSources } from './rendering.ts';

const application = asApplication({ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', metadata: { name: 'a' } });
const withMetadata = (over: Application['metadata']): Application => ({
  ...application,
  metadata: { ...application.metadata, ...over },
});
const list: readonly KubeObject[] = [];
const rendered: RenderedSources = {
  objects: list,
  parts: ['id', list],
  facts: { revisions: ['r'], sourceTypes: ['Directory'], conditions: [], failed: false, mayHaveChanges: true },
};
const facts: BasisFacts = {
  app: application,
  settings: defaultSettings,
  policyVersion: 'policy',
  schemas: { version: 'one', kinds: new Map() },
  isServerSide: false,
  rendered,
  evidence: 'evidence',
};

function basis(over: Partial<BasisFacts> = {}): ComparisonBasis {
  const found = basisOf({ ...facts, ...over });
  if (found === undefined) throw new Error('these inputs are complete');
  return found;
}

const withFacts = (over: Partial<RenderedSources['facts']>): RenderedSources => ({
  ...rendered,
  facts: { ...rendered.facts, ...over },
});

describe('the basis of a comparison', () => {
  const changes: readonly (readonly [string, Partial<BasisFacts>])[] = [
    ['the spec', { app: { ...application, spec: { ...application.spec, project: 'other' } } }],
    ['a label', { app: withMetadata({ labels: { a: 'b' } }) }],
    ['an annotation', { app: withMetadata({ annotations: { a: 'b' } }) }],
    ['the identity of the Application', { app: withMetadata({ uid: 'other' }) }],
    ['a deletion', { app: withMetadata({ deletionTimestamp: '2026-01-01T00:00:00Z' }) }],
    ['an operation', { app: { ...application, operation: { sync: {} } } }],
    ['the status', { app: { ...application, status: { reconciledAt: '2026-01-01T00:00:00Z' } } }],
    ['the settings', { settings: { ...defaultSettings } }],
    ['project, cluster or served kinds', { policyVersion: 'other' }],
    ['the schemas', { schemas: { version: 'two', kinds: new Map() } }],
    ['the content of a source', { rendered: { ...rendered, parts: ['other', list] } }],
    ['the list of a source without a content id', { rendered: { ...rendered, parts: ['id', []] } }],
    ['the number of sources', { rendered: { ...rendered, parts: ['id', list, 'id'] } }],
    ['a revision', { rendered: withFacts({ revisions: ['other'] }) }],
    ['the type of a source', { rendered: withFacts({ sourceTypes: ['Helm'] }) }],
    ['the live state', { evidence: 'other' }],
  ];
  it.each(changes)('changes with %s', (_what, change) => {
    expect(isSameBasis(basis(), basis(change))).toBe(false);
    expect(isSameBasis(basis(change), basis(change))).toBe(true);
  });

  const request = { 'argocd.argoproj.io/refresh': 'normal', 'argocd.argoproj.io/refresh-timestamp': 't' };
  it.each<[string, Application]>([
    ['a copy', { ...application }],
    ['a refresh request', withMetadata({ annotations: request })],
    ['the version of a write', withMetadata({ resourceVersion: '2', generation: 2 })],
  ])('does not change with %s of the Application', (_what, app) => {
    expect(isSameBasis(basis(), basis({ app }))).toBe(true);
  });

  const doubts: readonly (readonly [string, Partial<BasisFacts>])[] = [
    ['the live state', { evidence: undefined }],
    ['the served kinds', { policyVersion: undefined }],
    ['the sources', { rendered: withFacts({ failed: true }) }],
    [
      'the API versions that charts see',
      { rendered: { ...rendered, apis: { groups: '', mayLack: false, message: '' } } },
    ],
  ];
  it.each(doubts)('does not exist while %s cannot be relied on', (_what, change) => {
    expect(basisOf({ ...facts, ...change })).toBeUndefined();
  });

  it('does not exist if the API server takes part in the comparison, or the manifests are local', () => {
    expect(basisOf({ ...facts, isServerSide: true })).toBeUndefined();
    const local = omit(rendered, 'parts');
    expect(basisOf({ ...facts, rendered: local })).toBeUndefined();
  });
});
