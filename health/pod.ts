import { annotationOf, isHook } from '#model';
import type { HealthStatus, KubeObject } from '#model';
import { fieldsOf, requireVersion, withMessage } from './read.ts';
import type { TypedFields } from './read.ts';

const ignoreRestartPolicy = 'argocd.argoproj.io/ignore-restart-policy';

/**
 * Argo CD: gitops-engine/pkg/health/health_pod.go. Hooks keep their own restart policy, whatever
 * the annotation.
 */
export function podHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1');
  const [spec, status] = [fieldsOf(object).fields('spec'), fieldsOf(object).fields('status')];
  const policy = spec.text('restartPolicy');
  const alwaysLike = policy === 'Always' || (annotationOf(object, ignoreRestartPolicy) === 'true' && !isHook(object));
  const stuck = alwaysLike ? stuckContainers(status) : undefined;
  if (stuck !== undefined) return withMessage('Degraded', stuck);
  const message = status.text('message');
  switch (status.text('phase')) {
    case 'Pending':
      return withMessage('Progressing', message);
    case 'Succeeded':
      return withMessage('Healthy', message);
    case 'Failed':
      return withMessage('Degraded', message === '' ? failureOf(status) : message);
    case 'Running':
      return withMessage(runningStatus(status, alwaysLike, policy), message);
    default:
      return withMessage('Unknown', message);
  }
}

/**
 * Messages of (non-init) containers that cannot start; undefined if none is stuck. The joined text
 * may be empty.
 */
function stuckContainers(status: TypedFields): string | undefined {
  const messages: string[] = [];
  for (const container of status.list('containerStatuses')) {
    const waiting = container.fields('state').fields('waiting');
    if (/^Err|Error$|BackOff$/.test(waiting.text('reason'))) messages.push(waiting.text('message'));
  }
  return messages.length === 0 ? undefined : messages.join(', ');
}

function runningStatus(status: TypedFields, alwaysLike: boolean, policy: string): HealthStatus['status'] {
  if (!alwaysLike) return policy === 'OnFailure' || policy === 'Never' ? 'Progressing' : 'Unknown';
  const ready = status.list('conditions').find((condition) => condition.text('type') === 'Ready');
  if (ready?.text('status') === 'True') return 'Healthy';
  const crashed = status.list('containerStatuses').some((container) => container.fields('lastState').has('terminated'));
  return crashed ? 'Degraded' : 'Progressing';
}

/** Failure reason of a pod: that of the first container that has one, init containers first. */
function failureOf(status: TypedFields): string {
  for (const container of [...status.list('initContainerStatuses'), ...status.list('containerStatuses')]) {
    const state = container.fields('state');
    if (!state.has('terminated')) continue;
    const terminated = state.fields('terminated');
    if (terminated.text('message') !== '') return terminated.text('message');
    if (terminated.text('reason') === 'OOMKilled') return 'OOMKilled';
    const code = terminated.int('exitCode');
    if (code !== 0) return `container ${JSON.stringify(container.text('name'))} failed with exit code ${code}`;
  }
  return '';
}
