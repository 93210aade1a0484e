import { describe, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import { noAgentFile } from './agent-file.ts';
import { hubObjects } from './hub-objects.ts';
import type { AgentPlan } from './hub-objects.ts';

const mark = '0123456789abcdef';
const plan: AgentPlan = {
  name: 'shop-0123abcd',
  binding: { repository: 'https://git.example.com/team/shop.git', path: 'deploy', namespace: 'shop' },
  repository: 'https://git.example.com/team/shop.git',
  path: 'deploy',
  revision: 'main',
  credentials: undefined,
  namespace: 'shop',
  namespaces: [],
  prune: true,
  selfHeal: false,
  file: noAgentFile,
};

function kinds(more: Partial<AgentPlan>): readonly string[] {
  return hubObjects({ ...plan, ...more }, mark).map(({ kind, metadata }) => `${kind}/${metadata.name ?? ''}`);
}

describe('the hub of an agent', () => {
  it('has the Application with the chosen options, and nothing of Argo CD beside it', () => {
    const objects = hubObjects(plan, mark);
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

  it('marks objects with its name and its mark', () => {
    expect(hubObjects(plan, mark)[1]).toMatchObject({
      data: { installationID: `driftless-agent/shop-0123abcd/${mark}` },
    });
  });

  it('limits an agent of some namespaces to them, without cluster-scoped objects', () => {
    const objects = hubObjects({ ...plan, namespaces: ['shop', 'shop-test'] }, mark);
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

  it('has the settings of the file', () => {
    const rule = { kind: 'Deployment', group: 'apps', jsonPointers: ['/spec/replicas'] };
    const file = {
      syncOptions: ['CreateNamespace=true'],
      ignoreDifferences: [rule],
      exclusions: [{ kinds: ['Widget'] }],
      health: { 'example.com/Widget': 'return {}', Pod: 'return {}' },
    };
    const objects = hubObjects({ ...plan, file }, mark);
    expect(objects[1]).toMatchObject({
      data: {
        'resource.exclusions': '[{"kinds":["Widget"]}]',
        'resource.customizations.health.example.com_Widget': 'return {}',
        'resource.customizations.health.Pod': 'return {}',
      },
    });
    expect(objects.at(-1)).toMatchObject({
      spec: { ignoreDifferences: [rule], syncPolicy: { syncOptions: ['CreateNamespace=true'] } },
    });
  });

  it('permits no other repository', () => {
    expect(hubObjects(plan, mark)[2]).toMatchObject({ spec: { sourceRepos: [plan.repository] } });
  });

  it('holds the credentials of the repository', () => {
    const credentials = { username: 'me', password: new SecretValue('p'), sshKey: new SecretValue('k') };
    const secret = hubObjects({ ...plan, credentials }, mark).find(({ kind }) => kind === 'Secret');
    expect(secret?.['stringData']).toEqual({
      type: 'git',
      url: plan.repository,
      username: 'me',
      password: 'p',
      sshPrivateKey: 'k',
    });
  });
});
