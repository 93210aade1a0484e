import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parseYamlDocuments } from '#base';
import { repository } from '../../e2e/rendered-controller.ts';
import { toolPath } from '../../e2e/support/index.ts';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { preparedNode } from '../support/node.ts';
import { Release } from '../support/release.ts';

/** Files that hold a token of Kubernetes: its header begins so. */
const tokenFiles = 'grep -rlsE ^eyJhbGciOi /run /home /tmp /etc /proc/self/environ';

/** The command of the plugin: it renders, and reports about its container. */
const plugin = {
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'ConfigManagementPlugin',
  metadata: { name: 'my-plugin' },
  spec: {
    generate: {
      command: ['sh', '-c'],
      args: [
        [
          "printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: settings}\\n'",
          `printf 'data: {text: "%s", option: "%s", user: "%s", tokens: "%s"}\\n' \\`,
          `"$(cat text)" "$ARGOCD_ENV_OPTION" "$(id -u)" "$(${tokenFiles})"`,
        ].join('\n'),
      ],
    },
  },
};

/** A sidecar with Argo CD's own plugin server, as the README of the chart configures it. */
export function plugins(cluster: Cluster): void {
  const title = 'renders by a plugin sidecar, which has neither the token nor the user of the controller';
  if (!preparedNode().hasArgo) {
    it.skip(`${title} (left out: needs argocd, see npm run e2e:setup)`, () => undefined);
    return;
  }
  it(
    title,
    async () => {
      const { world } = cluster;
      const file = join(world.folder, 'plugin.yaml');
      writeFileSync(file, JSON.stringify(plugin));
      await runShell(
        world,
        'kubectl create namespace plugged\n' +
          `kubectl -n plugged create configmap my-plugin --from-file=plugin.yaml=${file}\n`,
      );
      const release = await Release.install(world, 'plugged', { values: documentedValues(preparedNode().image) });
      const app = await NodeApplication.create(world, 'by-plugin', {
        namespace: 'plugged',
        files: { text: 'from the repository' },
        source: { plugin: { name: 'my-plugin', env: [{ name: 'OPTION', value: 'from the Application' }] } },
      });
      await app.isGood();
      const rendered = { text: 'from the repository', option: 'from the Application', user: '998', tokens: '' };
      expect(await app.data()).toEqual(rendered);
      await app.heals();
      // The same search finds the token in the container of the controller.
      const found = await release.shell(
        `kubectl -n plugged exec driftless-0 -c application-controller -- ${tokenFiles} || true\n`,
      );
      expect(found).toContain('/run/secrets/kubernetes.io/serviceaccount/');
      await release.uninstall();
    },
    300_000,
  );
}

interface Values {
  readonly controller: {
    readonly initContainers: readonly { readonly volumeMounts: readonly object[] }[];
    readonly extraContainers: readonly object[];
    readonly volumes: readonly object[];
  };
}

/**
 * The values of the README. The image of Driftless stands for both images, and the node's `argocd`
 * for that of Argo CD's image.
 */
function documentedValues(image: string): object {
  const text = readFileSync(join(repository, 'charts', 'driftless', 'README.md'), 'utf8');
  const block = /^\*\*Config management plugins\*\*.*?^```yaml\n(.*?)^```$/ms.exec(text)?.[1] ?? '';
  const { controller } = parseYamlDocuments(block)[0] as unknown as Values;
  const argocd = { name: 'argocd', mountPath: '/usr/local/bin/argocd', readOnly: true };
  return {
    controller: {
      ...controller,
      initContainers: controller.initContainers.map((container) => ({
        ...container,
        image,
        volumeMounts: [...container.volumeMounts, argocd],
      })),
      extraContainers: controller.extraContainers.map((container) => ({ ...container, image })),
      volumes: [...controller.volumes, { name: 'argocd', hostPath: { path: toolPath('argocd'), type: 'File' } }],
    },
  };
}
