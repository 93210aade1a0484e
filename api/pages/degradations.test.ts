import { describe, expect, it } from '@jest/globals';
import { asApplication } from '#model';
import type { Application } from '#model';
import type { ReplicaFacts } from '../facts.ts';
import { partFaults, usedFaults } from './degradations.ts';

const url = 'https://git/shop';
const server = 'https://cluster';
const kind = (name: string, state: string): object => ({
  group: '',
  version: 'v1',
  kind: name,
  state,
  message: 'away',
});
const paused = { path: 'bad', revision: 'main', message: 'the path of the other does not exist', since: 0 };

function factsOf(failuresInRow = 0): ReplicaFacts {
  return {
    ownership: { conditions: () => [] },
    watched: () => [
      { info: { server, state: 'synced' }, kinds: [kind('Widget', 'forbidden'), kind('Pod', 'listing')] },
    ],
    repositories: () => [{ url, failuresInRow, lastFetch: { message: 'no route' }, paused: [paused] }],
  } as unknown as ReplicaFacts;
}

const parts = { server, repositories: [url] };

function app(path: string, resources: readonly object[] = [], targetRevision = 'main'): Application {
  const spec = { destination: {}, project: 'default', source: { repoURL: url, path, targetRevision } };
  return asApplication({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'a', namespace: 'argocd' },
    spec,
    status: { resources, sync: { status: 'Synced', revision: 'abc' } },
  } as never);
}

const subjects = (one: Application, facts = factsOf()): readonly string[] =>
  usedFaults(partFaults(facts), parts, one).map(({ type, subject }) => `${type} ${subject}`);

describe('what is degraded of an Application', () => {
  it('is not the bad path of another Application of its repository', () => {
    expect(subjects(app('good'))).toEqual([]);
    expect(subjects(app('bad', [], 'other-branch'))).toEqual([]);
    expect(subjects(app('bad'))).toEqual([`source ${url} bad main`]);
  });

  it('is not a kind of its cluster that it does not hold', () => {
    expect(subjects(app('good', [{ kind: 'ConfigMap', version: 'v1', name: 'x' }]))).toEqual([]);
    expect(subjects(app('good', [{ kind: 'Widget', version: 'v1', name: 'x' }]))).toEqual(['kind Widget']);
  });

  it('is its repository that cannot be read, whatever its path', () => {
    expect(subjects(app('good'), factsOf(2))).toEqual([`repository ${url}`]);
  });

  it('is all of it on the page of the replica', () => {
    expect(partFaults(factsOf(2)).map(({ fault: { type } }) => type)).toEqual(['kind', 'kind', 'repository', 'source']);
  });
});
