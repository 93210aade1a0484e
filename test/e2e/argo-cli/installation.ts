import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { eventually } from '#support';
import { repository } from '../rendered-controller.ts';
import { toolPath } from '../support/index.ts';
import type { Server } from '../support/index.ts';

/** Settings of the installation. */
export interface ArgoSettings {
  readonly hookUrl: string;
}

const labels = { 'app.kubernetes.io/part-of': 'argocd' };
/** Bcrypt hash of the password `password`. */
const passwordHash = '$2a$10$rRyBsGSHK6.uc8fntPwVIuLVHgsAhAX7TcdrqW/RADU0uh7CaChLa';

function configMap(name: string, data: Readonly<Record<string, string>> = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'argocd', labels }, data };
}

function secret(name: string, stringData: Readonly<Record<string, string>>): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'argocd', labels }, stringData };
}

/** A template whose text has one part that depends on the trigger. */
function template(state: string): string {
  return `webhook:
  hook:
    method: POST
    body: |
      {{.app.metadata.name}} is ${state} at {{.app.status.operationState.syncResult.revision}}
`;
}

function trigger(condition: string, sent: string): string {
  return `- when: app.status?.operationState?.phase in ['Succeeded'] and ${condition}
  oncePer: app.status?.operationState?.syncResult?.revision
  send: [${sent}]
`;
}

/** The ConfigMaps and Secrets of Argo CD's manifests. */
function objects({ hookUrl }: ArgoSettings): readonly object[] {
  return [
    configMap('argocd-cm'),
    configMap('argocd-cmd-params-cm'),
    configMap('argocd-rbac-cm'),
    configMap('argocd-gpg-keys-cm'),
    configMap('argocd-ssh-known-hosts-cm'),
    configMap('argocd-tls-certs-cm'),
    configMap('argocd-notifications-cm', {
      'service.webhook.hook': `url: ${hookUrl}\n`,
      // The sync status may follow the end of the operation in a later write: a trigger of its own.
      'template.deployed': template('{{.app.status.operationState.phase}}'),
      'template.synced': template('{{.app.status.sync.status}}'),
      'trigger.on-deployed': trigger("app.status.health.status == 'Healthy'", 'deployed'),
      'trigger.on-synced': trigger("app.status.sync.status == 'Synced'", 'synced'),
      subscriptions: '- recipients: [hook]\n  triggers: [on-deployed, on-synced]\n',
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

/** The StatefulSet of Argo CD's own controller. */
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

/** Creates the CRDs, settings and default project of Argo CD on a server. */
export async function installArgo(server: Server, settings: ArgoSettings): Promise<void> {
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
  // On a busy machine a new API server takes longer to describe its kinds than kubectl waits.
  await server.kubectl(['apply', '--validate=false', '-f', '-'], { input: JSON.stringify(list) });
}
