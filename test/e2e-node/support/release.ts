import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runShell } from './documented.ts';
import type { World } from './world.ts';

/** The version of this checkout. */
export const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };

/** Values of docs/install.md for a second installation, without a limit of drift repairs. */
const common = (namespace: string): object => ({
  crds: { install: false },
  configs: {
    cm: { installationID: namespace },
    params: { 'controller.self.heal.backoff.timeout.seconds': '0' },
  },
  global: { image: { repository: 'registry.example.com/driftless', tag: version } },
  rbac: { clusterWrite: true },
});

interface ReleaseOptions {
  readonly values: object;
  readonly kind?: 'statefulset' | 'deployment';
  readonly chart?: string;
}

/** A release in a namespace of its own, beside the one of docs/install.md. */
export class Release {
  readonly namespace: string;
  readonly #world: World;

  private constructor(world: World, namespace: string) {
    this.#world = world;
    this.namespace = namespace;
  }

  /** Installs it and waits until it is Ready. `kind` is that of its workload. */
  static async install(
    world: World,
    namespace: string,
    { values, kind = 'statefulset', chart = 'charts/driftless' }: ReleaseOptions,
  ): Promise<Release> {
    const files = [common(namespace), values].map((content, index) => {
      const path = join(world.folder, `${namespace}-${index}.json`);
      writeFileSync(path, JSON.stringify(content));
      return `--values ${path}`;
    });
    const release = new Release(world, namespace);
    await release.shell(
      `helm install driftless ${chart} -n ${namespace} --create-namespace ${files.join(' ')}\n` +
        `kubectl -n ${namespace} rollout status ${kind}/driftless --timeout=150s\n`,
    );
    return release;
  }

  shell(commands: string): Promise<string> {
    return runShell(this.#world, commands);
  }

  /** Names of its pods, without those that are being deleted. */
  async pods(): Promise<string[]> {
    const template = '{{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}';
    const names = await this.shell(
      `kubectl -n ${this.namespace} get pods -l driftless.io/release=driftless -o go-template='${template}'\n`,
    );
    return names.split(' ').filter(Boolean);
  }

  async uninstall(): Promise<void> {
    await this.shell(
      `helm uninstall driftless -n ${this.namespace} --wait\nkubectl delete namespace ${this.namespace} --wait=false\n`,
    );
  }
}
