import { expect, it } from '@jest/globals';
import { Agent, request } from 'undici';
import { eventually } from '#support';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { preparedNode } from '../support/node.ts';
import { ControllerPod } from '../support/pod.ts';

const limitMs = 120_000;

interface Answer {
  readonly status: number;
  readonly body: {
    readonly message?: string;
    readonly log?: { readonly text: string; readonly containers: readonly string[]; readonly message?: string };
    readonly events?: { readonly items: readonly { readonly reason: string; readonly reporter: string }[] };
  };
}

/** Events and logs as a kubelet gives them, for viewers with the rights to them. */
export function activity(cluster: Cluster): void {
  const read = async (token: string, part: string, more = '', name = 'worker'): Promise<Answer> => {
    const { podIP = '' } = (await new ControllerPod(cluster.world).read()).status;
    const query = `kind=Pod&namespace=crashing&name=${name}${more}`;
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    try {
      const url = `https://${podIP}:8085/api/v1/applications/argocd/crashing/object/${part}?${query}`;
      const answer = await request(url, { dispatcher, headers: { authorization: `Bearer ${token}` } });
      return { status: answer.statusCode, body: (await answer.body.json()) as Answer['body'] };
    } finally {
      await dispatcher.close();
    }
  };

  it('shows the events and logs of crashing and starting Pods to those who may read them', async () => {
    const { world } = cluster;
    const says = "console.log('start', Date.now()); setTimeout(() => process.exit(1), 2000)";
    const container = (name: string, script: string): object => ({
      name,
      image: preparedNode().image,
      imagePullPolicy: 'Never',
      command: ['node', '-e', script],
    });
    const podOf = (name: string, spec: object): string =>
      JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
    const files = {
      'worker.json': podOf('worker', { containers: [container('work', says)] }),
      'starting.json': podOf('starting', {
        initContainers: [container('prepare', "console.log('no database'); process.exit(1)")],
        containers: [container('web', '')],
      }),
    };
    const settings = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: "1"}\n';
    await NodeApplication.create(world, 'crashing', { files: { 'settings.yaml': settings, ...files } });
    const account = (name: string): string => `kubectl -n argocd create serviceaccount ${name}\n`;
    const binding = 'kubectl -n argocd create rolebinding reader --role=reader --serviceaccount=argocd:';
    await runShell(
      world,
      `${account('reader')}${account('stranger')}` +
        'kubectl -n argocd create role reader --verb=get --resource=applications.argoproj.io\n' +
        `${binding}reader --serviceaccount=argocd:stranger\n`,
    );
    const tokenOf = async (name: string): Promise<string> =>
      (await runShell(world, `kubectl -n argocd create token ${name}`)).trim();
    const [reader, stranger] = [await tokenOf('reader'), await tokenOf('stranger')];
    await eventually(() => runShell(world, 'kubectl -n crashing get pod worker'), limitMs);
    await runShell(
      world,
      'kubectl -n crashing create rolebinding reader --clusterrole=view --serviceaccount=argocd:reader\n',
    );

    await eventually(async () => {
      const { status, body } = await read(reader, 'log', '&previous=true');
      expect([status, body.log?.containers, body.log?.message]).toEqual([200, ['work'], undefined]);
      expect(body.log?.text).toMatch(/^start \d+\n$/);
    }, limitMs);
    await eventually(async () => expect((await read(reader, 'log')).body.log?.text).toMatch(/^start \d+\n$/), limitMs);
    const { body } = await read(reader, 'events');
    expect(body.events?.items).toContainEqual(expect.objectContaining({ reason: 'Started', reporter: 'kubelet' }));

    // A container that has not started has no log, but the one before it tells why.
    await eventually(async () => {
      const { log } = (await read(reader, 'log', '', 'starting')).body;
      expect(log).toMatchObject({ text: '', containers: ['web', 'prepare'] });
      expect(log?.message).toContain('is waiting to start');
      const prepare = (await read(reader, 'log', '&container=prepare', 'starting')).body.log;
      expect(prepare?.text).toBe('no database\n');
    }, limitMs);

    expect(await read(stranger, 'log')).toMatchObject({
      status: 403,
      body: { message: 'this page needs the right to get pods/log in namespace "crashing"' },
    });
    expect(await read(stranger, 'events')).toMatchObject({ status: 403 });
    await world.hub.api.delete('/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/crashing');
    await runShell(world, 'kubectl delete namespace crashing --wait=false\n');
  });
}
