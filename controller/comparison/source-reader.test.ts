import { expect, it } from '@jest/globals';
import { OwnershipLost } from '#base';
import type { LiveCluster } from '#live';
import { FakeClock } from '#support';
import { SourceReader } from './source-reader.ts';
import type { RenderedSources, Renderer, RenderRequest } from './rendering.ts';

interface Answer {
  readonly resolve: (rendered: RenderedSources) => void;
  readonly reject: (error: Error) => void;
}

interface Left {
  /** The reads of the renderer so far. */
  readonly answers: readonly Answer[];
  /** The next pass. */
  readonly next: () => Promise<RenderedSources>;
}

/** A read that a pass has left, because a live object changed while the source was slow. */
async function left(): Promise<Left> {
  const answers: Answer[] = [];
  const renderer = {
    sources: () => new Promise<RenderedSources>((resolve, reject) => answers.push({ resolve, reject })),
    lendingSlot: (_request: RenderRequest, answer: Promise<RenderedSources>) => answer,
  } as unknown as Renderer;
  const reader = new SourceReader(renderer, new FakeClock());
  const hurry = new AbortController();
  const bound = { key: 'argocd/demo', app: { spec: {} }, project: {}, gate: { version: '1' } };
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
  return { answers, next: () => read({ hurry: new AbortController().signal }) };
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
