import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Shutdown } from '#base';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { readArgs } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import { KeptParameters, narrowingParameters, startParameters } from './kept-parameters.ts';
import type { FoundParameters } from './kept-parameters.ts';

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
  readonly written: KubeObject[] = [];

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

  replace = async (_resource: unknown, object: KubeObject): Promise<KubeObject> => {
    this.written.push(object);
    this.configMaps.set(object.metadata.name ?? '', object);
    return object;
  };
}

describe('a start', () => {
  let hub: Hub;
  let clock: FakeClock;
  let end: AbortController;

  beforeEach(() => {
    [hub, clock, end] = [new Hub(), new FakeClock(), new AbortController()];
  });
  afterEach(async () => {
    end.abort(new Shutdown());
    await clock.settle();
    expect(clock.pending).toBe(0);
  });

  /** Loads the parameters, and keeps them for an hour. */
  async function start(readOnly = false): Promise<{ variables: unknown; waitedMs: number; errors: string[] }> {
    const errors: string[] = [];
    const logger = { ...silentLogger, error: (message: string) => void errors.push(message) };
    const kept = new KeptParameters({ client: hub, namespace: 'argocd', clock, logger, readOnly });
    const began = clock.monotonic();
    let waitedMs = -1;
    const loading = kept.load({}, end.signal).finally(() => (waitedMs = clock.monotonic() - began));
    for (let second = 0; second < 60 && waitedMs < 0; second += 1) await clock.advance(1000);
    const variables = await loading;
    void kept.run(end.signal);
    await clock.advance(3_600_000);
    return { variables, waitedMs, errors };
  }

  const keptNow = (): unknown => {
    const found = hub.configMaps.get('driftless-settings');
    return typeof found === 'object' ? found.metadata.annotations : found;
  };

  it('keeps the parameters beside the settings once these are kept, and uses them while they are missing', async () => {
    hub.put('argocd-cmd-params-cm', { [strictTls]: 'true', 'repo.server': 'x:1' });
    clock.timer(90_000, () => hub.put('driftless-settings', {}, { 'example.com/note': 'mine' }));
    await start();
    expect(keptNow()).toEqual({ 'example.com/note': 'mine', [keptAnnotation]: `{"${strictTls}":"true"}` });
    hub.configMaps.delete('argocd-cmd-params-cm');
    const { variables, errors } = await start();
    expect([variables, hub.written.length]).toEqual([{ [strictTlsEnv]: 'true' }, 1]);
    expect(errors).toEqual([
      `ConfigMap argocd-cmd-params-cm is missing: the last values of ${strictTls} stay in force; to give them up, create it, also without data`,
    ]);
    // An edit holds at once, and later.
    hub.put('argocd-cmd-params-cm', {});
    expect((await start()).variables).toEqual({});
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

  it.each(['{', '[]', 'null', '{"x":1}', `{"${strictTls}":true}`])(
    'ignores a kept text that is none: %s',
    async (text) => {
      hub.put('driftless-settings', {}, { [keptAnnotation]: text });
      expect((await start()).variables).toEqual({});
    },
  );

  it('writes nothing as a shadow, and nothing where nothing is to be kept', async () => {
    hub.put('driftless-settings', {});
    hub.put('argocd-cmd-params-cm', { 'repo.server': 'x:1' });
    await start();
    hub.put('argocd-cmd-params-cm', { [strictTls]: 'true' });
    await start(true);
    expect(hub.written).toEqual([]);
  });
});
