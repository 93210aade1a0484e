import { expect, it } from '@jest/globals';
import { appKey } from '#model';
import { AppMemories, noteWait } from './memory.ts';

it('a wait for the same thing keeps its begin; another one begins anew', () => {
  const memory = new AppMemories().of(appKey('argocd', 'demo'));
  noteWait(memory, { cause: 'hook', what: 'the hook' }, 1000, 50);
  noteWait(memory, { cause: 'hook', what: 'the hook' }, 3000, 50);
  expect(memory.waiting).toEqual({ cause: 'hook', what: 'the hook', since: 1000, until: 3050 });
  noteWait(memory, { cause: 'wave', what: 'the wave' }, 4000, 10);
  expect(memory.waiting).toEqual({ cause: 'wave', what: 'the wave', since: 4000, until: 4010 });
});
