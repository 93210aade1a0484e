import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { readArgs } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import { narrowingParameters, readParameters, startParameters } from './kept-parameters.ts';
import type { FoundParameters, LoadedParameters } from './kept-parameters.ts';

const strictTls = 'controller.repo.server.strict.tls';
const strictTlsEnv = 'ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_STRICT_TLS';
const keptAnnotation = 'driftless.io/kept-parameters';

/** A value of each parameter that an option can read, and that differs from its default. */
const samples: Readonly<Record<string, string>> = Object.fromEntries(
  [...narrowingParameters].map(([key, env]) => {
    const isRead = (text: string): boolean => {
      try {
        const { config, given } = readArgs(runOptions, [], { [env]: text });
        return given.size === 1 && JSON.stringify(config) !== JSON.stringify(readArgs(runOptions, [], {}).config);
      } catch {
        return false;
      }
    };
    return [key, ['true', 'false', '5M'].find(isRead) ?? ''];
  }),
);

describe('parameters that narrow what is written', () => {
  it('each has a value that differs from the default', () => {
    expect(Object.keys(samples)).toContain(strictTls);
    expect(Object.values(samples)).not.toContain('');
  });

  it.each([...narrowingParameters])(
    '%s stays in force while argocd-cmd-params-cm is missing or unreadable',
    (key, env) => {
      const value = samples[key] ?? '';
      const current = startParameters(
        { is: 'readable', data: { [key]: value, 'repo.server': 'x' } },
        {},
        { [env]: value },
      );
      expect(current).toEqual({ variables: {}, keep: { [key]: value }, warning: undefined });
      const lost: FoundParameters[] = [{ is: 'missing' }, { is: 'unreadable', why: 'forbidden' }];
      for (const found of lost) {
        const { variables, keep, warning } = startParameters(found, current.keep ?? {}, {});
        expect([variables, keep]).toEqual([{ [env]: value }, undefined]);
        expect(warning).toContain(`the last values of ${key} stay in force`);
      }
    },
  );

  it('are given up by an edit, and by an empty ConfigMap', () => {
    for (const data of [{}, undefined, { 'repo.server': 'x' }, { [strictTls]: '' }])
      expect(startParameters({ is: 'readable', data }, { [strictTls]: 'true' }, {})).toEqual({
        variables: {},
        keep: {},
        warning: undefined,
      });
  });

  it('are taken from the ConfigMap if it was missing only while the container started', () => {
    expect(startParameters({ is: 'readable', data: { [strictTls]: 'true' } }, {}, {}).variables).toEqual({
      [strictTlsEnv]: 'true',
    });
  });

  it('never replace a variable of the environment', () => {
    expect(startParameters({ is: 'missing' }, { [strictTls]: 'true' }, { [strictTlsEnv]: 'false' }).variables).toEqual(
      {},
    );
  });

  it('are the defaults of an installation that never had argocd-cmd-params-cm', () => {
    expect(startParameters({ is: 'missing' }, {}, {})).toEqual({ variables: {}, keep: undefined, warning: undefined });
  });
});

const reasons: Readonly<Record<number, string>> = { 403: 'Forbidden', 404: 'NotFound' };

/** A hub with ConfigMaps by name; a number instead of one is the status of the refusal. */
class Hub {
  readonly configMaps = new Map<string, KubeObject | number>();

  put(name: string, data: Readonly<Record<string, string>>, annotations: Readonly<Record<string, string>> = {}): void {
    const metadata = { name, namespace: 'argocd', resourceVersion: '1', annotations };
    this.configMaps.set(name, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  }

  get = async (_resource: unknown, { name }: { readonly name: string }): Promise<KubeObject> => {
    const found = this.configMaps.get(name) ?? 404;
    if (typeof found === 'number')
      throw new KubeApiError({ code: found, reason: reasons[found] ?? '', message: `status ${found}` }, `get ${name}`);
    return found;
  };
}

interface Started extends LoadedParameters {
  readonly waitedMs: number;
  readonly errors: readonly string[];
}

describe('a start', () => {
  let hub: Hub;
  let clock: FakeClock;

  beforeEach(() => {
    [hub, clock] = [new Hub(), new FakeClock()];
  });
  afterEach(() => expect(clock.pending).toBe(0));

  async function start(): Promise<Started> {
    const errors: string[] = [];
    const logger = { ...silentLogger, error: (message: string) => void errors.push(message) };
    const { signal } = new AbortController();
    const began = clock.monotonic();
    let waitedMs = -1;
    const reading = readParameters({ client: hub, namespace: 'argocd', clock, logger }, {}, signal).finally(
      () => (waitedMs = clock.monotonic() - began),
    );
    for (let second = 0; second < 60 && waitedMs < 0; second += 1) await clock.advance(1000);
    return { ...(await reading), waitedMs, errors };
  }

  it('keeps the parameters, and uses them while they are missing', async () => {
    hub.put('argocd-cmd-params-cm', { [strictTls]: 'true', 'repo.server': 'x:1' });
    const first = await start();
    expect(first.keptAnnotations).toEqual({ [keptAnnotation]: `{"${strictTls}":"true"}` });
    hub.put('driftless-settings', {}, first.keptAnnotations);
    hub.configMaps.delete('argocd-cmd-params-cm');
    const { variables, keptAnnotations, errors } = await start();
    expect([variables, keptAnnotations]).toEqual([{ [strictTlsEnv]: 'true' }, undefined]);
    expect(errors).toEqual([
      `ConfigMap argocd-cmd-params-cm is missing: the last values of ${strictTls} stay in force; to give them up, create it, also without data`,
    ]);
    // An edit holds at once, and later.
    hub.put('argocd-cmd-params-cm', {});
    const edited = await start();
    expect(edited).toMatchObject({ variables: {}, keptAnnotations: { [keptAnnotation]: '' } });
    hub.put('driftless-settings', {}, edited.keptAnnotations);
    hub.configMaps.delete('argocd-cmd-params-cm');
    expect(await start()).toMatchObject({ variables: {}, errors: [] });
  });

  it('waits 20 s for a hub that fails, and says what it does not know', async () => {
    hub.configMaps.set('argocd-cmd-params-cm', 503);
    hub.configMaps.set('driftless-settings', 503);
    const { waitedMs, errors, variables } = await start();
    expect(variables).toEqual({});
    expect(waitedMs).toBeGreaterThan(15_000);
    expect(waitedMs).toBeLessThanOrEqual(21_000);
    expect(errors).toHaveLength(2);
  });

  it('does not wait for a right that it does not have', async () => {
    hub.configMaps.set('argocd-cmd-params-cm', 403);
    hub.put('driftless-settings', {}, { [keptAnnotation]: `{"${strictTls}":"true"}` });
    const { waitedMs, variables, errors } = await start();
    expect([waitedMs <= 1000, variables]).toEqual([true, { [strictTlsEnv]: 'true' }]);
    expect(errors[0]).toContain('cannot be read (status 403)');
  });

  it.each([
    ['{', 1],
    ['[]', 0],
    ['null', 0],
    ['{"x":1}', 0],
    [`{"${strictTls}":true}`, 0],
  ])('takes nothing from a kept text that is none: %s', async (text, messages) => {
    hub.put('driftless-settings', {}, { [keptAnnotation]: text });
    const { variables, errors } = await start();
    expect([variables, errors.length]).toEqual([{}, messages]);
  });
});
