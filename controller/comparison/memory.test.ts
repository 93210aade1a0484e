import { describe, expect, it } from '@jest/globals';
import { appKey } from '#model';
import { AppMemories, waitOn } from './memory.ts';

const demo = appKey('argocd', 'demo');

describe('the memory of an Application', () => {
  it('keeps the begin of a wait for the same thing; another wait begins anew', () => {
    const hook = waitOn({}, { cause: 'hook', what: 'the hook' }, 1000, 50);
    const again = waitOn({ waiting: hook.waiting! }, { cause: 'hook', what: 'the hook' }, 3000, 50);
    expect(again.waiting).toEqual({ cause: 'hook', what: 'the hook', since: 1000, until: 3050 });
    const wave = waitOn({ waiting: again.waiting! }, { cause: 'wave', what: 'the wave' }, 4000, 10);
    expect(wave.waiting).toEqual({ cause: 'wave', what: 'the wave', since: 4000, until: 4010 });
  });

  it('shows what was noted last; a removed member is undefined, one that was never set is absent', () => {
    const memories = new AppMemories();
    const memory = memories.of(demo);
    memories.note(demo, { comparedAt: 1, seenAt: 2 });
    memories.note(demo, { comparedAt: undefined, unreadable: true, contests: undefined });
    expect(memory).toEqual({ hold: memory.hold, seenAt: 2, unreadable: true });
    expect(Object.hasOwn(memory, 'contests')).toBe(false);
  });
});
