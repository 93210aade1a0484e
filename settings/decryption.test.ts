import { describe, expect, it } from '@jest/globals';
import type { DecryptionKeys, SourceDecryption } from '#model';
import { settingsWorld } from './testing/settings-world.ts';

const secretType = 'driftless-decryption';
const texts = (found: SourceDecryption): object =>
  'problem' in found
    ? found
    : Object.fromEntries(Object.entries(found.entries).map(([name, value]) => [name, value.reveal()]));

describe('the keys of a Secret for decryption', () => {
  it('are those whose names Flux uses, and are not printed', async () => {
    const world = await settingsWorld((hub) =>
      hub.put('Secret', 'sops', { 'a.agekey': 'A', 'b.asc': 'B', 'c.txt': 'C', agekey: 'D' }, { secretType }),
    );
    const found = world.store.decryptionKeys('sops');
    expect(texts(found)).toEqual({ 'a.agekey': 'A', 'b.asc': 'B' });
    expect(JSON.stringify(found)).not.toMatch(/"[ABCD]"/);
    await world.stop();
  });

  it('change with the Secret, which counts as a change of repositories', async () => {
    const world = await settingsWorld((hub) => hub.put('Secret', 'sops', { 'a.agekey': 'A' }, { secretType }));
    const before = world.store.decryptionKeys('sops') as DecryptionKeys;
    world.changes.length = 0;
    world.hub.put('Secret', 'sops', { 'a.agekey': 'A' }, { secretType });
    await world.clock.settle();
    expect(world.changes).toEqual([]);
    world.hub.put('Secret', 'sops', { 'a.agekey': 'B' }, { secretType });
    await world.clock.settle();
    expect(world.changes).toEqual([{ settings: false, clusters: false, repositories: true }]);
    expect((world.store.decryptionKeys('sops') as DecryptionKeys).id).not.toBe(before.id);
    world.hub.remove('Secret', 'sops');
    await world.clock.settle();
    expect(world.store.decryptionKeys('sops')).toEqual({
      problem: 'there is no Secret argocd/sops with the label argocd.argoproj.io/secret-type: driftless-decryption',
    });
    await world.stop();
  });

  it.each([
    [{ 'a.agekey': 'A' }, 'cluster', /^there is no Secret argocd\/sops with the label/],
    [{ 'a.agekey': 'A' }, undefined, /^there is no Secret argocd\/sops with the label/],
    [{ password: 'A' }, secretType, /^Secret argocd\/sops has no key that ends in \.agekey or \.asc$/],
  ])('are missing with a reason: %j of type %s', async (data, type, expected) => {
    const world = await settingsWorld((hub) =>
      hub.put('Secret', 'sops', data, type === undefined ? {} : { secretType: type }),
    );
    expect(world.store.decryptionKeys('sops')).toEqual({ problem: expect.stringMatching(expected) });
    await world.stop();
  });

  it('are missing if one is no text, whatever the others are', async () => {
    const data = { 'a.agekey': Buffer.from('A').toString('base64'), 'b.asc': '//79' };
    const world = await settingsWorld((hub) => hub.put('Secret', 'sops', {}, { secretType, more: { data } }));
    expect(world.store.decryptionKeys('sops')).toEqual({
      problem: 'Secret argocd/sops: the key "b.asc" is not base64 of UTF-8 text',
    });
    await world.stop();
  });
});
