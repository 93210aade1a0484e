import { describe, expect, it } from '@jest/globals';
import { DeadlineExceeded, DriftlessError } from '#base';
import type { ApplicationSpec } from '#model';
import type { FakeWorld } from '../testing/fake-world.ts';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const third = 'c'.repeat(40);

const deletions = (): readonly string[] => at.world.dest.calls.filter((call) => call.startsWith('delete'));

// T-PRUNE-2
describe('prunes nothing', () => {
  const sources = (one: string, two: string): Partial<ApplicationSpec> => ({
    sources: [
      { repoURL: 'https://git/one', path: 'p', targetRevision: one },
      { repoURL: 'https://git/two', path: 'p', targetRevision: two },
    ],
  });
  const [away, late] = [
    new DriftlessError('X', 'repository is away'),
    new DeadlineExceeded('asking https://git', 60_000),
  ];
  const failing: readonly [string, (git: FakeWorld['git']) => void][] = [
    ['on an error of all sources', (git) => (git.failure = away)],
    ['on a source timeout', (git) => (git.failure = late)],
    [
      'when one of two sources fails',
      (git) => {
        git.failure = away;
        git.fails = ({ repoURL }) => repoURL.endsWith('two');
      },
    ],
    [
      'when one of two sources times out',
      (git) => {
        git.failure = late;
        git.fails = ({ repoURL }) => repoURL.endsWith('one');
      },
    ],
    ['when one of two sources is not signed', (git) => git.problems.set(second, ['unsigned'])],
  ];

  // T-PRUNE-2
  it.each(failing)('%s, neither automatically nor by an operation with prune', async (_, fail) => {
    at.world.project('default', { signatureKeys: [{ keyID: '0123456789ABCDEF' }] });
    at.world.git.push(first, [configMap('one')]);
    at.world.git.push(second, [configMap('two')]);
    at.world.git.push(third, []);
    at.world.application({ ...sources(first, second), ...automated });
    await at.start();
    expect(at.names()).toEqual(['one', 'two']);
    fail(at.world.git);
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
    await at.clock.advance(1_200_000);
    expect(at.world.app.status?.conditions).toContainEqual(expect.objectContaining({ type: 'ComparisonError' }));
    at.world.edit(() => ({ operation: { sync: { prune: true } } }));
    await at.clock.advance(60_000);
    expect(at.world.app.status?.operationState?.phase).toBe('Error');
    expect([at.names(), deletions()]).toEqual([['one', 'two'], []]);
    // Objects really removed from Git are pruned once the source is readable.
    at.world.git.failure = undefined;
    at.world.git.problems.clear();
    at.world.edit((object) => ({ spec: { ...(object['spec'] as object), ...sources(first, third) } }));
    await at.clock.advance(60_000);
    expect(at.names()).toEqual(['one']);
  });
});
