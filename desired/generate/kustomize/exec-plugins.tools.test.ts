import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { requestOf } from '../../testing/request.ts';
import { describeWithTool } from '../../testing/with-tool.ts';

let bench: RenderBench;
beforeEach(() => {
  bench = renderBench();
});
afterEach(() => bench.close());

const { options } = requestOf({ repoURL: '' }, { url: '', type: 'git', insecure: false, inheritedCreds: false });
const ksops = `apiVersion: viaduct.ai/v1
kind: ksops
metadata:
  name: secrets
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: ksops
files: [secret.enc.yaml]
`;
const legacy = 'apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: secrets}\nfiles: [secret.enc.yaml]\n';
const script = ksops
  .replace('path: ksops', 'path: ./fn.sh')
  .replace('viaduct.ai/v1', 'example.com/v1')
  .replace('kind: ksops', 'kind: Script');
const container = ksops.replace('exec:', 'container:').replace('path: ksops', 'image: example.com/fn:v1');
const files = { 'app/secret.enc.yaml': 'a: b\n', 'app/fn.sh': '#!/bin/sh\ncat\n' };
const plugins = '--enable-alpha-plugins --enable-exec';
const hint = 'render it with a config management plugin, or with the repo-server of Argo CD';

const render = (kustomization: string, generator: string, kustomizeBuildOptions = plugins): Promise<Error> =>
  failureOf(
    bench.render(
      bench.repository({
        ...files,
        'app/kustomization.yaml': kustomization,
        'app/g/g.yaml': generator,
        'app/g/kustomization.yaml': 'resources: [g.yaml]\n',
      }),
      { path: 'app' },
      { options: { ...options, kustomizeBuildOptions } },
    ),
  );

describeWithTool('kustomize', 'a generator that runs a program', () => {
  it.each<readonly [string, string, string]>([
    ['KSOPS as a function', ksops, '"secrets" (ksops of viaduct.ai/v1) runs the program "ksops"'],
    ['KSOPS as a plugin by its kind', legacy, '"secrets" (ksops of viaduct.ai/v1) runs a plugin of kustomize'],
    ['a script of the repository', script, '"secrets" (Script of example.com/v1) runs the program "./fn.sh"'],
    ['a container', container, '"secrets" (ksops of viaduct.ai/v1) runs the container "example.com/fn:v1"'],
  ])('is refused with the way out: %s', async (_title, generator, expected) => {
    for (const list of ['generators', 'transformers', 'validators']) {
      const failure = await render(`${list}: [g/g.yaml]\n`, generator);
      expect(failure).toMatchObject({ code: 'DESIRED_EXEC_PLUGIN' });
      const { message } = failure;
      expect(message).toContain(`the kustomization of app: ${expected}, and the renderer starts no programs`);
      expect(message).toContain(hint);
    }
    const inDirectory = await render('generators: [g]\n', generator);
    expect(inDirectory.message).toContain(`the kustomization of app/g: ${expected}`);
    const inline = await render(`generators:\n- |\n${generator.replaceAll(/^/gm, '  ')}\n`, generator);
    expect(inline.message).toContain(expected);
  });

  it("has kustomize's own error while plugins are off", async () => {
    for (const off of ['', '--enable-alpha-plugins=false'])
      expect((await render('generators: [g/g.yaml]\n', ksops, off)).message).toMatch(/external plugins disabled/);
  });

  it('does not concern the generators of kustomize itself', async () => {
    const builtin = 'apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nliterals: [a=b]\n';
    const repository = bench.repository({ 'app/kustomization.yaml': 'generators: [g.yaml]\n', 'app/g.yaml': builtin });
    const made = await bench.render(
      repository,
      { path: 'app' },
      { options: { ...options, kustomizeBuildOptions: plugins } },
    );
    expect(made.objects).toHaveLength(1);
  });
});
