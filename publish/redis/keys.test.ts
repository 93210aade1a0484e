import { describe, expect, it } from '@jest/globals';
import { Keys } from './keys.ts';

describe('Keys', () => {
  it('11.1: are those of Argo CD, with prefix and ending', () => {
    const keys = new Keys({ prefix: 'p:', compression: 'gzip' });
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

  it('11.1: have no ending without compression', () => {
    expect(new Keys({ prefix: '', compression: 'none' }).tree('web', 0)).toBe('app|resources-tree|web|1.8.3');
  });
});
