import { describe, expect, it } from '@jest/globals';
import { RedisKeys } from './keys.ts';

describe('Keys', () => {
  it("equal Argo CD's, with prefix and suffix", () => {
    const keys = new RedisKeys({ prefix: 'p:', compression: 'gzip' });
    expect([
      keys.managedResources('team-a_web'),
      keys.tree('team-a_web', 0),
      keys.tree('team-a_web', 1),
      keys.clusterInfo('https://kubernetes.default.svc'),
      keys.treeChannel('team-a_web'),
    ]).toEqual([
      'p:app|managed-resources|team-a_web|1.8.3.gz',
      'p:app|resources-tree|team-a_web|1.8.3.gz',
      'p:app|resources-tree|team-a_web|1|1.8.3.gz',
      'p:cluster|info|https://kubernetes.default.svc|1.8.3.gz',
      'app|managed-resources|team-a_web|1.8.3',
    ]);
  });

  it('have no suffix without compression', () => {
    expect(new RedisKeys({ prefix: '', compression: 'none' }).tree('web', 0)).toBe('app|resources-tree|web|1.8.3');
  });
});
