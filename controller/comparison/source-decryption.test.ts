import { expect, it } from '@jest/globals';
import type { AppProject, SourceDecryption } from '#model';
import { sourceDecryption } from './source-decryption.ts';

const reference = '{"provider": "sops", "secretRef": {"name": "team-keys"}}';
const projectWith = (annotations: Readonly<Record<string, string>>): AppProject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'AppProject',
  metadata: { name: 'team', annotations },
  spec: {},
});
const keysOf = (secret: string): SourceDecryption => ({ secret, id: 'x', entries: {} });
const neverAsked = (): SourceDecryption => {
  throw new Error('no Secret is read');
};

it('is that of the Secret which the project names', () => {
  const project = projectWith({ 'driftless.io/decryption': reference });
  expect(sourceDecryption(project, false, keysOf)).toEqual(keysOf('team-keys'));
});

it('is off without the annotation, and has a reason if the annotation cannot be read', () => {
  expect(sourceDecryption(projectWith({}), false, neverAsked)).toBeUndefined();
  expect(sourceDecryption(projectWith({ 'driftless.io/decryption': 'x' }), false, neverAsked)).toHaveProperty(
    'problem',
  );
});

it('is refused for manifests that are pushed to Git', () => {
  const project = projectWith({ 'driftless.io/decryption': reference });
  expect(sourceDecryption(project, true, neverAsked)).toEqual({
    problem: 'hydrated manifests are pushed to Git, where they would be readable',
  });
  expect(sourceDecryption(projectWith({}), true, neverAsked)).toBeUndefined();
});
