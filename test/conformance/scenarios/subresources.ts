import { deployment, deployments, get, patch, post, put, quietly, scenario, versionOf } from '../scenario.ts';
import type { ConformanceScenario, SeenAnswers } from '../scenario.ts';

const web = `${deployments}/web`;
const scale = (replicas: unknown, metadata: object = {}): object => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: 'web', namespace: '{ns}', ...metadata },
  spec: { replicas },
});
const brief = (body: Record<string, unknown>): unknown =>
  body['kind'] === 'Status'
    ? body
    : {
        metadata: body['metadata'],
        replicas: (body['spec'] as { replicas?: number }).replicas,
        status: body['status'],
      };

/** status and scale. */
export const subresources: readonly ConformanceScenario[] = [
  scenario('status', [
    quietly(post(deployments, deployment('web'))),
    get(`${web}/status`, { show: brief }),
    put(`${web}/status`, { ...deployment('web', { replicas: 9 }), status: { replicas: 1 } }, { show: brief }),
    patch(
      'merge',
      `${web}/status?fieldManager=prober`,
      { metadata: { labels: { by: 'status' } }, status: { readyReplicas: 1 } },
      { show: brief },
    ),
    patch(
      'strategic',
      `${web}/status`,
      { status: { conditions: [{ type: 'Available', status: 'True' }] } },
      { show: brief },
    ),
    patch(
      'strategic',
      `${web}/status`,
      { status: { conditions: [{ type: 'Progressing', status: 'False', reason: 'r' }] } },
      { show: brief },
    ),
    patch('merge', `${web}/status`, { status: { replicas: -1 } }, { show: brief }),
    patch('merge', `${web}/status`, { status: { replicas: 1, readyReplicas: 2 } }, { show: brief }),
    put(web, deployment('web', { replicas: 3 }), { show: brief }),
    get('/api/v1/namespaces/{ns}/configmaps/x/status'),
    post(`${web}/status`, {}),
    get(`${web}/nothing`),
    put(`${deployments}/absent/status`, deployment('absent')),
  ]),
  scenario('scale', [
    quietly(post(deployments, deployment('web', { replicas: 2 }))),
    get(`${web}/scale`),
    put(`${web}/scale`, scale(4)),
    get(web, { show: brief }),
    patch('merge', `${web}/scale`, { spec: { replicas: 5 } }),
    put(`${web}/scale`, scale(-1)),
    put(`${web}/scale`, scale('many')),
    put(`${web}/scale`, (seen: SeenAnswers) => scale(6, { resourceVersion: versionOf(seen, 0) })),
    put(`${web}/scale`, { ...scale(1), kind: 'Deployment', apiVersion: 'apps/v1' }),
    get(`${deployments}/absent/scale`),
    put(`${deployments}/absent/scale`, { ...scale(1), metadata: { name: 'absent', namespace: '{ns}' } }),
    patch('merge', `${web}/scale`, { spec: { replicas: 0 } }),
    get(`${web}/scale`),
  ]),
];
