import { describe, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import { defaultName, hubObjects, sourceText } from './hub-objects.ts';
import type { AgentPlan } from './hub-objects.ts';

const plan: AgentPlan = {
  name: 'shop-0123abcd',
  repository: 'https://git.example.com/team/shop.git',
  path: 'deploy',
  revision: 'main',
  credentials: undefined,
  namespace: 'shop',
  namespaces: [],
  prune: true,
  selfHeal: false,
};

function kinds(more: Partial<AgentPlan>): readonly string[] {
  return hubObjects({ ...plan, ...more }).map(({ kind, metadata }) => `${kind}/${metadata.name ?? ''}`);
}

describe('the default name of an agent', () => {
  it.each([
    ['https://git.example.com/team/Shop.git', '.', /^shop-[0-9a-f]{8}$/],
    ['git@git.example.com:team/shop.git', 'deploy/prod_1/', /^prod-1-[0-9a-f]{8}$/],
    ['/', '.', /^folder-[0-9a-f]{8}$/],
    ['/x/äö', '.', /^folder-[0-9a-f]{8}$/],
    [`/x/${'a'.repeat(100)}`, '.', /^a{30}-[0-9a-f]{8}$/],
  ])('of %s and folder %s is readable', (source, path, expected) => {
    expect(defaultName(source, path)).toMatch(expected);
  });

  it('differs between folders and repositories with one last part', () => {
    const names = [
      ['https://a/x/shop', 'deploy'],
      ['https://a/y/shop', 'deploy'],
      ['https://a/x/shop', 'other/deploy'],
    ].map(([source = '', path = '']) => defaultName(source, path));
    expect(new Set(names).size).toBe(3);
  });

  it('is the same for one folder, whatever the credentials in its address', () => {
    expect(defaultName('https://me:canary@a/shop', '.')).toBe(defaultName('https://a/shop', '.'));
    expect(sourceText('https://me:canary@a/shop', '.')).not.toContain('canary');
  });
});

describe('the hub of an agent', () => {
  it('has the Application with the chosen options, and nothing of Argo CD beside it', () => {
    const objects = hubObjects(plan);
    expect(kinds({})).toEqual([
      'Namespace/driftless-agent',
      'ConfigMap/argocd-cm',
      'AppProject/default',
      'Application/shop-0123abcd',
    ]);
    expect(objects.at(-1)).toMatchObject({
      spec: {
        source: { repoURL: plan.repository, path: 'deploy', targetRevision: 'main' },
        destination: { server: 'https://kubernetes.default.svc', namespace: 'shop' },
        syncPolicy: { automated: { prune: true, selfHeal: false } },
      },
    });
    expect(JSON.stringify(objects)).not.toContain('finalizers');
  });

  it('tracks objects under an installation of its own', () => {
    expect(hubObjects(plan)[1]).toMatchObject({ data: { installationID: 'driftless-agent-shop-0123abcd' } });
  });

  it('limits an agent of some namespaces to them, without cluster-scoped objects', () => {
    const objects = hubObjects({ ...plan, namespaces: ['shop', 'shop-test'] });
    const server = 'https://kubernetes.default.svc';
    expect(objects.find(({ kind }) => kind === 'Secret')).toMatchObject({
      stringData: { namespaces: 'shop,shop-test' },
    });
    expect(objects.find(({ kind }) => kind === 'AppProject')?.['spec']).toEqual({
      sourceRepos: [plan.repository],
      destinations: [
        { server, namespace: 'shop' },
        { server, namespace: 'shop-test' },
      ],
    });
  });

  it('permits no other repository', () => {
    expect(hubObjects(plan)[2]).toMatchObject({ spec: { sourceRepos: [plan.repository] } });
  });

  it('holds the credentials of the repository', () => {
    const credentials = { username: 'me', password: new SecretValue('p'), sshKey: new SecretValue('k') };
    const secret = hubObjects({ ...plan, credentials }).find(({ kind }) => kind === 'Secret');
    expect(secret?.['stringData']).toEqual({
      type: 'git',
      url: plan.repository,
      username: 'me',
      password: 'p',
      sshPrivateKey: 'k',
    });
  });
});
