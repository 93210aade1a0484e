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
  const read = async (token: string, part: string, more = ''): Promise<Answer> => {
    const { podIP = '' } = (await new ControllerPod(cluster.world).read()).status;
    const query = `kind=Pod&namespace=crashing&name=worker${more}`;
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    try {
      const url = `https://${podIP}:8085/api/v1/applications/argocd/crashing/object/${part}?${query}`;
      const answer = await request(url, { dispatcher, headers: { authorization: `Bearer ${token}` } });
      return { status: answer.statusCode, body: (await answer.body.json()) as Answer['body'] };
    } finally {
      await dispatcher.close();
    }
  };

  it('shows the events and both logs of a crashing Pod to those who may read them', async () => {
    const { world } = cluster;
    const says = "console.log('start', Date.now()); setTimeout(() => process.exit(1), 2000)";
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'worker' },
      spec: {
        containers: [
          { name: 'work', image: preparedNode().image, imagePullPolicy: 'Never', command: ['node', '-e', says] },
        ],
      },
    };
    const settings = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: "1"}\n';
    await NodeApplication.create(world, 'crashing', {
      files: { 'settings.yaml': settings, 'pod.json': JSON.stringify(pod) },
    });
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

    expect(await read(stranger, 'log')).toMatchObject({
      status: 403,
      body: { message: 'this page needs the right to get pods/log in namespace "crashing"' },
    });
    expect(await read(stranger, 'events')).toMatchObject({ status: 403 });
    await world.hub.api.delete('/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/crashing');
    await runShell(world, 'kubectl delete namespace crashing --wait=false\n');
  });
}
