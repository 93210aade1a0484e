import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { eventually } from '#support';
import { repository } from '../rendered-controller.ts';
import { toolPath } from '../support/index.ts';
import type { Server } from '../support/index.ts';

/** Where notifications go, by the names of their templates. */
export interface Settings {
  readonly hookUrl: string;
}

const labels = { 'app.kubernetes.io/part-of': 'argocd' };
/** Of the password `password`. */
const passwordHash = '$2a$10$rRyBsGSHK6.uc8fntPwVIuLVHgsAhAX7TcdrqW/RADU0uh7CaChLa';

function configMap(name: string, data: Readonly<Record<string, string>> = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'argocd', labels }, data };
}

function secret(name: string, stringData: Readonly<Record<string, string>>): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'argocd', labels }, stringData };
}

const template = `webhook:
  hook:
    method: POST
    body: |
      {{.app.metadata.name}} is {{.app.status.operationState.phase}} and {{.app.status.sync.status}} at {{.app.status.operationState.syncResult.revision}}
`;
const trigger = `- when: app.status?.operationState?.phase in ['Succeeded'] and app.status.health.status == 'Healthy'
  oncePer: app.status?.operationState?.syncResult?.revision
  send: [synced]
`;

/** What Argo CD's manifests put into its namespace beside workloads and rights. */
function objects({ hookUrl }: Settings): readonly object[] {
  return [
    configMap('argocd-cm'),
    configMap('argocd-cmd-params-cm'),
    configMap('argocd-rbac-cm'),
    configMap('argocd-gpg-keys-cm'),
    configMap('argocd-ssh-known-hosts-cm'),
    configMap('argocd-tls-certs-cm'),
    configMap('argocd-notifications-cm', {
      'service.webhook.hook': `url: ${hookUrl}\n`,
      'template.synced': template,
      'trigger.on-deployed': trigger,
      subscriptions: '- recipients: [hook]\n  triggers: [on-deployed]\n',
    }),
    secret('argocd-notifications-secret', {}),
    secret('argocd-secret', {
      'admin.password': passwordHash,
      'admin.passwordMtime': '2026-01-01T00:00:00Z',
      'server.secretkey': 'not so secret, as it is a test',
    }),
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'AppProject',
      metadata: { name: 'default', namespace: 'argocd' },
      spec: {
        clusterResourceWhitelist: [{ group: '*', kind: '*' }],
        destinations: [{ namespace: '*', server: '*' }],
        sourceRepos: ['*'],
      },
    },
  ];
}

/** The workload of Argo CD's own controller, as its manifests have it. */
export function controllerSet(): object {
  const name = 'argocd-application-controller';
  const own = { 'app.kubernetes.io/name': name };
  const containers = [{ name, image: 'quay.io/argoproj/argocd:v3.6.1' }];
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace: 'argocd', labels: own },
    spec: {
      replicas: 1,
      serviceName: name,
      selector: { matchLabels: own },
      template: { metadata: { labels: own }, spec: { containers } },
    },
  };
}

/** Makes an empty Argo CD on a server: definitions, settings, the default project. */
export async function installArgo(server: Server, settings: Settings): Promise<void> {
  const definitions = join(dirname(toolPath('argocd')), 'applicationset-crd.yaml');
  const input = readFileSync(definitions, 'utf8');
  await server.kubectl(['apply', '--server-side', '-f', join(repository, 'manifests', 'crds')]);
  await server.kubectl(['apply', '--server-side', '-f', '-'], { input });
  for (const name of ['applications', 'appprojects', 'applicationsets'])
    await eventually(async () => {
      if ((await server.api.get(`/apis/argoproj.io/v1alpha1/${name}`)) === undefined) throw new Error(`no ${name} yet`);
    }, 90_000);
  await server.kubectl(['create', 'namespace', 'argocd']);
  const list = { apiVersion: 'v1', kind: 'List', items: objects(settings) };
  await server.kubectl(['apply', '-f', '-'], { input: JSON.stringify(list) });
}
