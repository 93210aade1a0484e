import { describe, expect, it } from '@jest/globals';
import { impersonationTarget, isDestinationPermitted } from './index.ts';
import { projectWith } from './testing/index.ts';

const place = { server: 'https://host:6443', name: 'prod', namespace: 'apps' };

/**
 * Cluster addresses have no user and password; patterns written for addresses with them must still
 * match.
 */
describe('user and password in the server patterns of a project', () => {
  it.each([
    [['https://u:p@host:6443'], true],
    [['https://*@host:6443'], true],
    [['https://u:p@other:6443'], false],
    [['*', '!https://u:p@host:6443'], false],
    [['*', '!https://*@host:6443'], false],
    [['*', '!https://u:p@other:6443'], true],
    [['https://host:6443'], true],
    [['https://[a-z]@host:6443'], false],
  ])('do not count: %j', (servers, permitted) => {
    const destinations = servers.map((server) => ({ server, namespace: '*' }));
    expect(isDestinationPermitted(projectWith({ destinations }), place)).toBe(permitted);
  });

  it('still select the account to impersonate', () => {
    const destinationServiceAccounts = [
      { server: 'https://u:c4nary@host:6443', namespace: '*', defaultServiceAccount: 'bot' },
    ];
    const found = impersonationTarget(projectWith({ destinationServiceAccounts }), place.server, 'apps', 'argocd');
    expect(found).toEqual({ user: 'system:serviceaccount:apps:bot' });
  });
});
