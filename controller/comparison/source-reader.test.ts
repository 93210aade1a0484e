import { describe, expect, it } from '@jest/globals';
import { OwnershipLost } from '#base';
import type { LiveCluster } from '#live';
import { FakeClock } from '#support';
import { IntegrityRulesUnusable } from '../shared/errors.ts';
import { SourceReader } from './source-reader.ts';
import type { RenderedSources, Renderer, RenderRequest } from './rendering.ts';

interface Answer {
  readonly resolve: (rendered: RenderedSources) => void;
  readonly reject: (error: Error) => void;
}

interface Left {
  /** The reads of the renderer so far. */
  readonly answers: readonly Answer[];
  readonly clock: FakeClock;
  /** The next pass. */
  readonly next: (change?: object) => Promise<RenderedSources>;
}

const bound = { key: 'argocd/demo', app: { spec: {} }, project: {}, gate: { version: '1' } };

/** A read that a pass has left, because a live object changed while the source was slow. */
async function left(): Promise<Left> {
  const answers: Answer[] = [];
  const renderer = {
    sources: () => new Promise<RenderedSources>((resolve, reject) => answers.push({ resolve, reject })),
    lendingSlot: (_request: RenderRequest, answer: Promise<RenderedSources>) => answer,
  } as unknown as Renderer;
  const clock = new FakeClock();
  const reader = new SourceReader(renderer, clock);
  const hurry = new AbortController();
  const request = { bound, sources: [], revisions: [], cache: {}, localManifests: [], hurry: hurry.signal };
  const read = (change: object): Promise<RenderedSources> =>
    reader.read(
      { ...request, ...change } as unknown as RenderRequest,
      {} as LiveCluster,
      () => true,
      new AbortController().signal,
    );
  const slow = read({});
  hurry.abort();
  await expect(slow).rejects.toThrow('the source has not answered yet');
  return { answers, clock, next: (change = {}) => read({ hurry: new AbortController().signal, ...change }) };
}

it('gives the answer of a read that was left to the next pass', async () => {
  const { answers, next } = await left();
  const rendered = { objects: [] } as unknown as RenderedSources;
  answers[0]?.resolve(rendered);
  expect([await next(), answers.length]).toEqual([rendered, 1]);
});

it('reads again after the loss of ownership has ended the read that was left', async () => {
  const { answers, next } = await left();
  answers[0]?.reject(new OwnershipLost('application argocd/demo'));
  await Promise.resolve();
  const again = next();
  const rendered = { objects: [] } as unknown as RenderedSources;
  answers[1]?.resolve(rendered);
  expect(await again).toBe(rendered);
});

it.each<[string, (clock: FakeClock) => Promise<object>]>([
  ['another version of the project', () => Promise.resolve({ bound: { ...bound, project: {} } })],
  ['other rules', () => Promise.resolve({ bound: { ...bound, gate: { version: '2' } } })],
  ['another revision', () => Promise.resolve({ revisions: ['b'] })],
  ['a pass after two minutes', (clock) => clock.advance(120_000).then(() => ({}))],
])('does not give the answer of a read that was left to %s', async (_what, change) => {
  const { answers, clock, next } = await left();
  const again = next(await change(clock));
  expect(answers).toHaveLength(2);
  answers[1]?.resolve({ objects: [] } as unknown as RenderedSources);
  await again;
});

describe('while the sources cannot be read', () => {
  const good = { objects: [], facts: { revisions: ['good'], failed: false } } as unknown as RenderedSources;

  function read(cause: Error | undefined, lastGood: object): Promise<RenderedSources> {
    const renderer = {
      sources: ({ revisions }: RenderRequest) =>
        revisions[0] === 'good'
          ? Promise.resolve({ ...good, ...lastGood })
          : Promise.reject(new Error('no answer', { cause })),
    } as unknown as Renderer;
    const request = { bound, sources: [], revisions: ['main'], cache: {}, localManifests: [], lastGood: ['good'] };
    const { signal } = new AbortController();
    const reader = new SourceReader(renderer, new FakeClock());
    return reader.read(request as unknown as RenderRequest, {} as LiveCluster, () => false, signal);
  }

  it('serves the last good rendering', async () => {
    expect(await read(undefined, {})).toMatchObject({ ...good, outage: { isTolerated: false } });
  });

  it.each([
    ['of another revision', undefined, { facts: { revisions: ['other'], failed: false } }],
    ['that the rules of today refuse', undefined, { facts: { revisions: ['good'], failed: true } }],
    ['whose rules of integrity are unusable', new IntegrityRulesUnusable('no keys'), {}],
  ])('serves no rendering %s', async (_what, cause, lastGood) => {
    const { outage, facts } = await read(cause, lastGood);
    expect([outage, facts.failed, facts.conditions[0]?.message]).toEqual([
      undefined,
      true,
      expect.stringContaining('Failed to load target state: no answer'),
    ]);
  });
});
