import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { requestOf } from '../../testing/request.ts';

const { options } = requestOf({ repoURL: '' }, { url: '', type: 'git', insecure: false, inheritedCreds: false });

let bench: RenderBench;
beforeEach(() => {
  bench = renderBench();
});
afterEach(() => bench.close());

it('with kustomize.enable=false, a kustomization is a manifest of a directory, as in Argo CD', async () => {
  const made = await bench.render(
    bench.repository({
      'a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
      'kustomization.yaml': 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n',
    }),
    {},
    { options: { ...options, enabledTypes: { Kustomize: false } } },
  );
  expect(made.sourceType).toBe('Directory');
  expect(made.objects.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
    ['ConfigMap', 'a'],
    ['Kustomization', undefined],
  ]);
});
