import { describe, expect, it } from '@jest/globals';
import { shardFromHostname, unknownShardError } from './identity.ts';

// T-SHARD-7
describe('identity', () => {
  it.each([
    ['argocd-application-controller-0', 0],
    ['argocd-application-controller-12', 12],
    ['ctl-3', 3],
    ['ip-10-0-1-23', 23],
    ['pod', undefined],
    ['pod-7c9d-x1', undefined],
    ['pod-', undefined],
    ['pod-12345678901', undefined],
  ])('parses %s as %s', (hostname, shard) => {
    expect(shardFromHostname(hostname)).toBe(shard);
  });

  it('explains what to do about a host name without an ordinal', () => {
    const { message } = unknownShardError({ replicas: 2, hostname: 'pod-abc' });
    expect(message).toContain('"pod-abc"');
    expect(message).toContain('ARGOCD_CONTROLLER_SHARD');
  });
});
