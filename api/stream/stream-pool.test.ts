import { describe, expect, it } from '@jest/globals';
import { fullViewer } from '../access/viewer.ts';
import type { Viewer } from '../access/viewer.ts';
import { StreamPool } from './stream-pool.ts';

const viewer = (user: string, tenant = user): Viewer => ({ ...fullViewer, user, tenant });
const ignore = (): void => undefined;

function filled(pool: StreamPool, ended: string[]): void {
  for (let account = 0; account < 13; account += 1)
    for (let i = 0; i < 8 && account * 8 + i < 100; i += 1)
      pool.take(viewer(`sa-${account}`, 'team-a'), () => ended.push(`sa-${account}`));
}

describe('the pool of streams', () => {
  it('gives the next tenant a stream of the one that took all: the newest, until shares are equal', () => {
    const pool = new StreamPool();
    const ended: string[] = [];
    filled(pool, ended);
    pool.take(viewer('alice'), ignore);
    expect(ended).toEqual(['sa-12']);
    expect(() => pool.take(viewer('sa-20', 'team-a'), ignore)).toThrow('fair share');
    for (let i = 0; i < 49; i += 1) pool.take(viewer(`bob-${i}`, 'team-b'), ignore);
    for (let i = 0; i < 20; i += 1)
      try {
        pool.take(viewer(`eve-${i}`, 'team-c'), ignore);
      } catch {
        // Its share.
      }
    expect(() => pool.take(viewer('dora'), ignore)).not.toThrow();
  });

  it('lets a user have eight, and counts one that ended no longer', () => {
    const pool = new StreamPool();
    const releases = Array.from({ length: 8 }, () => pool.take(viewer('alice'), ignore));
    expect(() => pool.take(viewer('alice'), ignore)).toThrow('at most 8');
    releases[0]!();
    expect(() => pool.take(viewer('alice'), ignore)).not.toThrow();
  });
});
