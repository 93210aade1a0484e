import { describe, expect, it } from '@jest/globals';
import { asApplication } from '#model';
import type { ApplicationStatus } from '#model';
import { configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

/** Makes the hub refuse every status that `isInvalid`, as a real API server does by its CRD. */
function refuse(isInvalid: (status: ApplicationStatus) => boolean): void {
  at.world.hub.invalid = (object) =>
    object.kind === 'Application' && isInvalid(asApplication(object).status ?? {})
      ? 'Application "demo" is invalid: status.x: Invalid value'
      : undefined;
}

describe('a status that the API server refuses', () => {
  it('is cut down to a condition that says why, and is written again when it is accepted', async () => {
    refuse(({ resources = [] }) => resources.length > 0);
    at.world.application();
    await at.start();
    expect(at.world.app.status?.conditions).toEqual([
      expect.objectContaining({
        type: 'UnknownError',
        message: expect.stringMatching(/^The API server refused the status .*status\.x: Invalid value/),
      }),
    ]);
    const { length } = at.world.writes();
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await at.pass(5);
    expect(at.world.app.metadata.annotations).toEqual({});
    expect(at.world.writes().length - length).toBeLessThan(5);
    refuse(() => false);
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await at.pass(5);
    expect(at.world.app.status?.conditions).toBeUndefined();
    expect(at.world.app.status?.resources).toHaveLength(2);
  });

  it('ends the operation whose running state it is, with an Error that says why', async () => {
    refuse(({ operationState }) => (operationState?.syncResult?.resources ?? []).length > 0);
    const slow = configMap('slow', '1', { 'argocd.argoproj.io/hook': 'PreSync' });
    at.world.git.push('b'.repeat(40), [configMap('one'), { ...slow, apiVersion: 'batch/v1', kind: 'Job' }]);
    at.world.application({}, { operation: { sync: {} } });
    await at.start();
    await at.pass(5);
    expect(at.world.app.operation).toBeUndefined();
    expect(at.world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: expect.stringMatching(/^The API server refused the state of the operation, .*status\.x: Invalid value/),
    });
  });

  it('keeps the phase of an operation that ended, without its results', async () => {
    refuse(({ operationState }) => (operationState?.syncResult?.resources ?? []).length > 0);
    at.world.application({}, { operation: { sync: {} } });
    await at.start();
    await at.pass(5);
    expect(at.world.app.operation).toBeUndefined();
    expect(at.world.app.status?.operationState).toMatchObject({
      phase: 'Succeeded',
      message: expect.stringContaining('status.x: Invalid value'),
    });
  });

  it('does not keep an automated sync from starting', async () => {
    refuse(({ resources = [], operationState }) => resources.length > 0 && operationState?.phase !== 'Succeeded');
    at.world.application({ syncPolicy: { automated: {} } });
    await at.start();
    await at.pass(5);
    expect(at.names()).toEqual(['one', 'two']);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
  });
});
