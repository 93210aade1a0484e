import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { noRenderer } from '../../render/in-process.ts';
import type { Renderer } from '../../render/types.ts';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';

const chart = { 'Chart.yaml': 'apiVersion: v2\nname: c\nversion: 1.0.0\n' };
const stdout = Buffer.from('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\n');
const renderer: Renderer = {
  ...noRenderer,
  version: () => Promise.resolve('v3.18.0'),
  render: () => Promise.resolve({ steps: [{ exitCode: 0, stdout, stderr: '' }] }),
};

let server: WebServer;
let bench: RenderBench;
beforeEach(async () => {
  server = await startWebServer();
  bench = renderBench({ renderer, limits: { inputBytes: 8 * 1024 } });
});
afterEach(async () => {
  bench.close();
  await server.close();
});

/** Renders a chart with values files by URL of these sizes. */
function render(...sizes: readonly number[]): Promise<unknown> {
  for (const [i, size] of sizes.entries()) server.pages.set(`/${i}.yaml`, { body: `a: ${'x'.repeat(size - 3)}` });
  const valueFiles = sizes.map((_, i) => `${server.url}/${i}.yaml`);
  return bench.render(bench.repository(chart), { path: '.', helm: { valueFiles } });
}

describe('values files by URL', () => {
  it('may have an eighth of the memory for inputs together', async () => {
    expect(await render(512, 512)).toMatchObject({ objects: [{ metadata: { name: 'made' } }] });
  });

  it.each([
    ['one byte too many', [512, 513]],
    ['a first file that is too big', [5000]],
    ['a second file that is too big', [512, 5000]],
  ])('are refused with the limit of all of them after %s', async (_title, sizes) => {
    const { message } = await failureOf(render(...sizes));
    expect(message).toBe(
      'the values files by URL have more than 1024 bytes together: put big ones into the repository',
    );
  });
});
