import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { tgz } from '../testing/archive.ts';
import { failureOf, renderBench } from '../testing/repository.ts';
import type { RenderBench } from '../testing/repository.ts';
import { currentRevision, renderOne, requestOf } from '../testing/request.ts';
import { startWebServer } from '../testing/web-server.ts';
import type { WebServer } from '../testing/web-server.ts';

const never = new AbortController().signal;
const sha = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');
const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

let folder: string;
let server: WebServer;
const benches: RenderBench[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'elsewhere-'));
  server = await startWebServer();
});
afterEach(async () => {
  for (const bench of benches.splice(0)) bench.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('an archive over HTTP', () => {
  const archive = (name: string): Buffer => tgz({ 'app/a.yaml': configMap(name), 'other/b.yaml': configMap('b') });

  function made(over: Parameters<typeof renderBench>[0] = {}) {
    const bench = renderBench(over);
    benches.push(bench);
    const url = `${server.url}/app.tar.gz`;
    const render = (revision = '', more = {}, from: Repository = bareRepository(url)) =>
      renderOne(bench.desired, requestOf({ repoURL: url, path: 'app', targetRevision: revision }, from, more), never);
    return { bench, url, render };
  }

  it('is the current file, identified by its digest, downloaded once and revalidated with its ETag', async () => {
    let current = archive('one');
    server.pages.set('/app.tar.gz', ({ headers }) =>
      headers['if-none-match'] === sha(current) ? { status: 304 } : { headers: { etag: sha(current) }, body: current },
    );
    const { render } = made();
    const first = await render();
    expect([first.revision, first.sourceType, first.objects.map(({ metadata }) => metadata.name)]).toEqual([
      `sha256:${sha(current)}`,
      'Directory',
      ['one'],
    ]);
    await render();
    expect(server.asked).toHaveLength(1);
    await render('HEAD', { cache: currentRevision });
    expect(server.asked.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, sha(current)]);
    current = archive('two');
    expect((await render('', { cache: currentRevision })).revision).toBe(`sha256:${sha(current)}`);
  });

  it('is not the file of a download that began before a request for the current one', async () => {
    let later: Promise<string> | undefined;
    const { render } = made();
    server.pages.set('/app.tar.gz', () => {
      if (later !== undefined) return { body: archive('two') };
      later = render('', { cache: currentRevision }).then(({ revision }) => revision);
      return { body: archive('one') };
    });
    await render();
    expect(await later).toBe(`sha256:${sha(archive('two'))}`);
  });

  it('must have the digest in targetRevision, and is then read from disk, also after a restart', async () => {
    const current = archive('one');
    server.pages.set('/app.tar.gz', { body: current });
    const { bench, render } = made();
    const wanted = `sha256:${sha(current)}`;
    expect((await render(wanted)).revision).toBe(wanted);
    const { message } = await failureOf(render(`sha256:${sha('other')}`));
    expect(message).toContain(`the archive has the digest ${wanted}, not sha256:${sha('other')}`);
    const asked = server.asked.length;
    const again = made({ cacheDir: join(bench.root, 'cache') });
    expect((await again.render(wanted)).objects).toHaveLength(1);
    expect(server.asked).toHaveLength(asked);
    expect((await failureOf(render('main'))).message).toContain('must be empty or its digest');
  });

  it("has limits, uses the repository's credentials, and fails with messages that do not show them", async () => {
    const url = `${server.url}/app.tar.gz`;
    server.pages.set('/app.tar.gz', ({ headers }) => ({
      status: headers.authorization === `Basic ${Buffer.from('me:hunter2').toString('base64')}` ? 200 : 401,
      body: archive('x'),
    }));
    const repository: Repository = { ...bareRepository(url), username: 'me', password: new SecretValue('hunter2') };
    expect((await made().render('', {}, repository)).objects).toHaveLength(1);
    expect((await failureOf(made().render())).message).toBe('failed to download the archive: 401 Unauthorized');
    const small = made({ limits: { maxArchiveBytes: 20 } });
    expect((await failureOf(small.render('', {}, repository))).message).toContain('has more than 20 bytes');
    server.pages.set('/app.tar.gz', { body: tgz([{ name: '../out.yaml', content: 'x' }]) });
    expect((await failureOf(made().render())).message).toContain('illegal filepath in archive');
  });
});
