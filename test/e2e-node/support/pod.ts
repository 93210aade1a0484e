import { readFileSync, readdirSync } from 'node:fs';
import { eventually } from '#support';
import type { World } from './world.ts';

type ContainerRole = 'controller' | 'renderer';

interface ContainerStatus {
  readonly name: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly containerID?: string;
}

export interface PodObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** A pod of a release, with the containers of the controller and the renderer. */
export class ControllerPod {
  readonly name: string;
  readonly path: string;
  readonly #world: World;

  constructor(world: World, name = 'driftless-0', namespace = 'argocd') {
    this.#world = world;
    this.name = name;
    this.path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  }

  async read(): Promise<PodObject> {
    const pod = await this.#world.hub.api.get<PodObject>(this.path);
    if (pod === undefined) throw new Error(`the pod ${this.name} does not exist`);
    return pod;
  }

  /** Waits until the pod is Ready, and not the one with this uid. */
  async isReady({ withinMs = 60_000, not = '' } = {}): Promise<PodObject> {
    return eventually(async () => {
      const pod = await this.read();
      const ready = pod.status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
      if (!ready || pod.metadata.uid === not || pod.metadata.deletionTimestamp !== undefined)
        throw new Error(`${this.name} is not Ready: ${JSON.stringify(pod.status)}\n${this.#world.node.tail()}`);
      return pod;
    }, withinMs);
  }

  async restarts(): Promise<number> {
    return (await this.#container()).restartCount;
  }

  /** The processes of a container. */
  async processes(container: ContainerRole = 'controller'): Promise<number[]> {
    const { containerID = '' } = await this.#container(container);
    const id = containerID.replace('containerd://', '');
    return id === ''
      ? []
      : readdirSync('/proc')
          .filter((name) => /^\d+$/.test(name) && belongs(name, id))
          .map(Number);
  }

  /** The controller's process: the first node process of its container. */
  async process(): Promise<number> {
    const [first] = (await this.processes()).filter(isController).sort((a, b) => a - b);
    if (first === undefined) throw new Error(`${this.name} has no process of the controller`);
    return first;
  }

  /** Resolves with the process that replaced another one. */
  async processAfter(old: number, withinMs = 60_000): Promise<number> {
    return eventually(async () => {
      const pid = await this.process();
      if (pid === old) throw new Error(`${this.name} still has the process ${old}`);
      return pid;
    }, withinMs);
  }

  /** Asks the controller itself, past Services and probes. */
  async readyz(): Promise<{ readonly status: number; readonly text: string }> {
    const { podIP = '' } = (await this.read()).status;
    const answer = await fetch(`http://${podIP}:8082/readyz`, { signal: AbortSignal.timeout(5000) });
    return { status: answer.status, text: await answer.text() };
  }

  async #container(role: ContainerRole = 'controller'): Promise<ContainerStatus> {
    const { status } = await this.read();
    const found = status.containerStatuses?.find(({ name }) => (name === 'renderer') === (role === 'renderer'));
    if (found === undefined) throw new Error(`${this.name} has no container ${role} yet`);
    return found;
  }
}

/** The kernel reports times to programs in hundredths of a second. */
const msPerTick = 10;

/** When a process began, in milliseconds since the epoch. */
export function startOf(pid: number): number {
  const afterName = procFile(pid, 'stat').split(') ').at(-1) ?? '';
  const startedAfterBoot = Number(afterName.split(' ')[19]) * msPerTick;
  const sinceBoot = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1000;
  return Date.now() - sinceBoot + startedAfterBoot;
}

/** How long a process waited for a CPU that others used, in milliseconds. */
export function waitedForCpu(pid: number): number {
  return Number(procFile(pid, 'schedstat').split(' ')[1] ?? 0) / 1e6;
}

function belongs(pid: string, container: string): boolean {
  return procFile(pid, 'cgroup').includes(container);
}

function isController(pid: number): boolean {
  const [command = '', ...args] = procFile(pid, 'cmdline').split('\0');
  // With a small memory limit the size of the heap comes before the script.
  const script = args.find((arg) => !arg.startsWith('--')) ?? '';
  return command.endsWith('node') && /^\/usr\/local\/bin\/|\/dist\/cli\/[^/]+$/.test(script);
}

/** Empty if the process has ended. */
export function procFile(pid: number | string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
