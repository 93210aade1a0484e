import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
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

  it('never collide: neither a name nor the URL of a cluster makes the key of another object', () => {
    const keys = new RedisKeys({ prefix: '', compression: 'gzip' });
    // The API server accepts only such names; administrators of a project choose URLs freely.
    const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,8}[a-z0-9])?$/);
    const hostile = fc.constantFrom('|', '|1.8.3.gz', 'app|resources-tree|', '\r\nFLUSHALL\r\n', '\0', '_', '1');
    const url = fc.array(fc.oneof(hostile, name), { maxLength: 6 }).map((parts) => parts.join(''));
    const stored = fc.oneof(
      fc.tuple(fc.constant('managed' as const), name, name, fc.constant(0)),
      fc.tuple(fc.constant('tree' as const), name, name, fc.nat(20)),
      fc.tuple(fc.constant('cluster' as const), url, fc.constant(''), fc.constant(0)),
    );
    const keyOf = ([kind, text, other, part]: readonly [string, string, string, number]): string => {
      if (kind === 'cluster') return keys.clusterInfo(text);
      const instance = `${text}_${other}`;
      return kind === 'tree' ? keys.tree(instance, part) : keys.managedResources(instance);
    };
    fc.assert(
      fc.property(stored, stored, (a, b) => {
        expect(keyOf(a) === keyOf(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });

  it('have no suffix without compression', () => {
    expect(new RedisKeys({ prefix: '', compression: 'none' }).tree('web', 0)).toBe('app|resources-tree|web|1.8.3');
  });
});
