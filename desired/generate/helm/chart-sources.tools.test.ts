import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import { bareRepository } from '#model';
import type { ApplicationSource, Repository } from '#model';
import { chartArchive } from '../../testing/archive.ts';
import { selfSigned } from '../../testing/identity.ts';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { requestOf } from '../../testing/request.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';
import type { Manifests, RequestedSource } from '../../types.ts';
import { describeWithTool } from '../../testing/with-tool.ts';

let bench: RenderBench;
const servers: WebServer[] = [];
const none = new AbortController().signal;

async function repository(archives: Readonly<Record<string, Buffer>>, tls?: object): Promise<WebServer> {
  const server = await startWebServer(tls);
  servers.push(server);
  const entries = Object.entries(archives).map(([version, packed]) => {
    server.pages.set(`/charts/web-${version}.tgz`, { body: packed });
    return `  - {version: ${version}, urls: [charts/web-${version}.tgz]}\n`;
  });
  server.pages.set('/index.yaml', { body: `entries:\n  web:\n${entries.join('')}` });
  return server;
}

function render(
  sources: readonly ApplicationSource[],
  repositories: Readonly<Record<string, Partial<Repository>>> = {},
): Promise<Manifests> {
  const requested = sources.map((source): RequestedSource => ({
    source,
    repository: { ...bareRepository(source.repoURL), ...repositories[source.repoURL] },
    revision: source.targetRevision ?? '',
  }));
  const [{ source, repository: of } = { source: { repoURL: '' }, repository: bareRepository('') }] = requested;
  return bench.desired.manifests({ ...requestOf(source, of), sources: requested }, none);
}

const data = (made: Manifests, index = 0): unknown => made.sources[index]?.objects[0]?.['data'];

beforeEach(() => {
  bench = renderBench();
});
afterEach(async () => {
  bench.close();
  for (const server of servers.splice(0)) await server.close();
});

describeWithTool('helm', 'charts of a chart repository', () => {
  it('renders the version that a constraint selects, and reports it', async () => {
    const server = await repository({ '1.0.0': chartArchive('web', '1.0.0'), '1.4.0': chartArchive('web', '1.4.0') });
    const made = await render([{ repoURL: server.url, chart: 'web', targetRevision: '1.x', path: 'is/not/looked/at' }]);
    expect(made.sources[0]).toMatchObject({ revision: '1.4.0', sourceType: 'Helm' });
    expect(data(made)).toEqual({ version: '1.4.0', a: 'chart', b: 'chart' });
    expect(
      await bench.desired.resolve(
        { source: { repoURL: server.url, chart: 'web' }, repository: bareRepository(server.url), revision: '<1.1' },
        'cached',
        none,
      ),
    ).toBe('1.0.0');
  });

  it('supports parameters, values, files of the chart and files of another source, like charts in Git', async () => {
    const server = await repository({
      '1.0.0': chartArchive('web', '1.0.0', { 'env/prod.yaml': 'a: file\nb: file\n' }),
    });
    const values = bench.repository({ 'prod/values.yaml': 'b: other\n' });
    const chart = { repoURL: server.url, chart: 'web', targetRevision: '1.0.0' };
    const made = await render([
      { ...chart, helm: { valueFiles: ['/env/prod.yaml', '$git/prod/values.yaml'] } },
      { repoURL: values.path, ref: 'git' },
      {
        ...chart,
        helm: {
          valueFiles: ['env/prod.yaml'],
          values: 'a: inline\n',
          parameters: [{ name: 'b', value: '${ARGOCD_APP_REVISION}' }],
        },
      },
    ]);
    expect(data(made, 0)).toEqual({ version: '1.0.0', a: 'file', b: 'other' });
    expect(made.sources[1]).toMatchObject({ objects: [], revision: values.git('rev-parse', 'HEAD') });
    expect(data(made, 2)).toEqual({ version: '1.0.0', a: 'inline', b: '1.0.0' });
  });

  it('keeps two versions of a chart apart, and renders the same version once', async () => {
    const server = await repository({ '1.0.0': chartArchive('web', '1.0.0'), '2.0.0': chartArchive('web', '2.0.0') });
    const chart = (targetRevision: string): ApplicationSource => ({
      repoURL: server.url,
      chart: 'web',
      targetRevision,
    });
    expect(data(await render([chart('1.0.0')]))).toMatchObject({ version: '1.0.0' });
    expect(data(await render([chart('2.0.0')]))).toMatchObject({ version: '2.0.0' });
    expect(data(await render([chart('1.0.0')]))).toMatchObject({ version: '1.0.0' });
    expect(bench.count('helm', 'template')).toBe(2);
  });

  it('reports a missing Chart.yaml, links out of the chart, and a chart used as a reference', async () => {
    const server = await repository({ '1.0.0': chartArchive('web', '1.0.0') });
    const chart = { repoURL: server.url, chart: 'web', targetRevision: '1.0.0' };
    const fault = async (...sources: ApplicationSource[]): Promise<string> =>
      (await failureOf(render(sources))).message;
    expect(await fault({ ...chart, chart: 'gone', targetRevision: '*' })).toBe("chart 'gone' not found in index");
    expect(await fault({ ...chart, helm: { valueFiles: ['../../etc/passwd'] } })).toMatch(/outside repository root/);
    expect(await fault({ ...chart, ref: 'c' }, { ...chart, helm: { valueFiles: ['$c/x.yaml'] } })).toMatch(
      /Helm charts are not yet/,
    );
  });

  it('verifies TLS with the CA bundle of the host, sends a client certificate, and skips verification if insecure', async () => {
    const identity = selfSigned(bench.root, 'server');
    const client = selfSigned(bench.root, 'client');
    if (identity === undefined || client === undefined) return;
    const server = await repository(
      { '1.0.0': chartArchive('web', '1.0.0') },
      { ...identity, requestCert: true, rejectUnauthorized: false },
    );
    const peers: string[] = [];
    const index = server.pages.get('/index.yaml') as object;
    server.pages.set('/index.yaml', (request: IncomingMessage) => {
      const { socket } = request;
      if (socket instanceof TLSSocket) peers.push(JSON.stringify(socket.getPeerCertificate(), ['subject', 'CN']));
      return index;
    });
    const certificates = join(bench.root, 'tls');
    mkdirSync(certificates);
    bench = renderBench({ trust: { tlsCertificates: certificates } });
    const source = { repoURL: server.url, chart: 'web', targetRevision: '*' };
    expect((await failureOf(render([source]))).message).toMatch(/self.signed certificate/i);
    const insecure = {
      [server.url]: {
        insecure: true,
        tlsClientCertData: new SecretValue(client.cert),
        tlsClientCertKey: new SecretValue(client.key),
      },
    };
    expect(data(await render([source], insecure))).toMatchObject({ version: '1.0.0' });
    writeFileSync(join(certificates, '127.0.0.1'), identity.cert);
    expect(data(await render([source]))).toMatchObject({ version: '1.0.0' });
    expect(peers).toEqual(['{"subject":{"CN":"client"}}', '{}']);
  });
});
