import { describe, expect, it } from '@jest/globals';
import { configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

const refresh = 'argocd.argoproj.io/refresh';

function request(how: string, n: number): Record<string, string> {
  const type = { [refresh]: how.startsWith('hard') ? 'hard' : 'normal' };
  return how.endsWith('without one') ? type : { ...type, [`${refresh}-timestamp`]: `t${n}` };
}

/** Calls to the hub for one requested refresh. */
async function stepsOfRefresh(how: string): Promise<readonly string[]> {
  const replica = at.world.replica();
  at.world.application();
  await at.clock.advance(2000);
  const before = at.world.hub.calls.length;
  at.world.annotate(request(how, 1));
  await at.clock.advance(3000);
  const ended = replica.stop();
  await at.clock.advance(2000);
  await ended;
  return at.world.hub.calls.slice(before);
}

describe('a refresh request', () => {
  it('is answered once, removed, and resolves the revision again', async () => {
    at.world.application();
    await at.start();
    const asked = at.world.git.asked.length;
    at.world.annotate({ [refresh]: 'normal' });
    await at.clock.advance(1000);
    expect(at.world.app.metadata.annotations?.[refresh]).toBeUndefined();
    // Once more after the removal: an identical request in the meantime would go unnoticed.
    expect(at.world.git.asked.length).toBe(asked + 2);
    expect(at.world.app.status?.reconciledAt).toBe('2026-01-01T00:00:02Z');
  });

  it.each([
    ['with a timestamp', 'one patch', 1],
    ['without one', 'one patch', 1],
    ['hard and with a timestamp', 'one patch', 1],
    ['hard and without one', 'two patches, the first marks it', 2],
    // T-Q-1
  ])('%s costs %s, and one that arrives at any step of it is answered too', async (how, _, patches) => {
    const steps = await stepsOfRefresh(how);
    expect(steps.filter((call) => call.startsWith('patch Application'))).toHaveLength(patches);
    for (let step = 0; step < steps.length; step += 1) {
      at.renew();
      at.world.git.push('a'.repeat(40), [configMap('one')]);
      let armed = false;
      let count = 0;
      let renders = 0;
      const meddle = (): void => {
        if (!armed) return;
        if (count === step) {
          renders = at.world.git.asked.length;
          // A commit, then a request identical to the one in progress.
          at.world.git.push('b'.repeat(40), [configMap('one', '2')]);
          at.world.annotate(request(how, 2));
        }
        count += 1;
      };
      const replica = at.world.replica({ hub: { before: meddle } });
      at.world.application();
      await at.clock.advance(2000);
      armed = true;
      at.world.annotate(request(how, 1));
      await at.clock.advance(5000);
      expect(count).toBeGreaterThan(step);
      expect(at.world.app.status?.sync?.revision).toBe('b'.repeat(40));
      expect(at.world.app.metadata.annotations?.[refresh]).toBeUndefined();
      expect(at.world.git.asked.length).toBeGreaterThan(renders);
      const ended = replica.stop();
      await at.clock.advance(2000);
      await ended;
    }
  });

  it('without a timestamp is answered again by revisions that are resolved after its removal', async () => {
    at.world.application();
    const before = (call: string): Promise<void> | void =>
      call.startsWith('patch Application') ? at.clock.sleep(100) : undefined;
    await at.start({ hub: { before } });
    const [asked, seenAt] = [at.world.git.requests.length, at.clock.monotonic()];
    at.world.annotate(request('without one', 1));
    await at.clock.advance(1000);
    const [first, second, ...others] = at.world.git.requests.slice(asked).map(({ cache }) => cache.revision);
    expect([first, others]).toEqual([{ notBefore: seenAt }, []]);
    expect((second as { readonly notBefore: number }).notBefore).toBeGreaterThanOrEqual(seenAt + 100);
  });

  it('is answered with the status of the object that was read, not of a later one', async () => {
    at.world.application();
    let meddled = 0;
    const before = (call: string): void => {
      if (
        !call.startsWith('patch Application') ||
        meddled > 0 ||
        at.world.app.metadata.annotations?.[refresh] === undefined
      )
        return;
      meddled += 1;
      at.world.annotate({ 'example.com/other': 'theirs' });
    };
    await at.start({ hub: { before } });
    at.world.annotate(request('with a timestamp', 1));
    await at.clock.advance(1000);
    expect(meddled).toBe(1);
    expect(at.world.app.metadata.annotations).toEqual({ 'example.com/other': 'theirs' });
    expect(at.world.app.status?.reconciledAt).toBe('2026-01-01T00:00:02Z');
  });
});
