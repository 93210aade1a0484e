import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { appKey } from '#model';
import { AppMemories } from '../comparison/memory.ts';
import { PassRecorder } from '../refresh/pass-recorder.ts';

describe('the record of a pass', () => {
  it('has a bound for the text of a failure that a tenant causes', () => {
    const memories = new AppMemories();
    const key = appKey('argocd', 'demo');
    const due = { level: 1, hard: false, reason: 'asked', cause: 'user' } as const;
    const taken = { key, payload: undefined, priority: 'user', waitedMs: 0 } as const;
    const recorder = new PassRecorder({ clock: new FakeClock(), memories });
    recorder.begin(due, taken).end('failed', 'x'.repeat(65_000));
    const [pass] = memories.activity.passes.newestFirst();
    expect(pass?.message).toMatch(/^x{1000}…$/);
  });
});
