import { describe, expect, it } from '@jest/globals';
import type { AppProject } from '#model';
import { decryptionSecret } from './decryption.ts';

const projectWith = (text: unknown): AppProject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'AppProject',
  metadata: { name: 'team', annotations: { 'driftless.io/decryption': text as string } },
  spec: {},
});

describe('the annotation of a project', () => {
  it('names a Secret as in Flux, in YAML or JSON', () => {
    const expected = { secret: 'sops-age' };
    expect(decryptionSecret(projectWith('provider: sops\nsecretRef:\n  name: sops-age\n'))).toEqual(expected);
    expect(decryptionSecret(projectWith('{"provider":"sops","secretRef":{"name":"sops-age"}}'))).toEqual(expected);
  });

  it('is optional', () => {
    const { metadata, ...rest } = projectWith('');
    expect(decryptionSecret({ ...rest, metadata: { name: metadata.name ?? '' } })).toBeUndefined();
  });

  it.each([
    ['', 'write {"provider"'],
    ['sops-age', 'write {"provider"'],
    ['provider: vault\nsecretRef: {name: a}', 'its provider must be sops'],
    ['provider: sops', 'write {"provider"'],
    ['provider: sops\nsecretRef: {name: ../a}', 'write {"provider"'],
    ['provider: sops\nsecretRef: {name: a, namespace: b}', 'write {"provider"'],
    ['provider: sops\nsecretRef: {name: a}\nserviceAccountName: x', 'it has the field "serviceAccountName"'],
    ['{provider: sops, secretRef: {name: a}}\n---\nprovider: vault', 'write {"provider"'],
    ['{', 'unexpected end of the stream'],
    [7, 'it is too long'],
    ['x'.repeat(2000), 'it is too long'],
  ])('is never read in another way: %j', (text, expected) => {
    const found = decryptionSecret(projectWith(text));
    expect(found).toEqual({ problem: expect.stringContaining(expected) });
    expect(found).toEqual({
      problem: expect.stringMatching(/^the annotation driftless\.io\/decryption of AppProject team cannot be used: /),
    });
  });
});
