import { systemClock } from '#base';
import { eventually } from '#support';
import { describeRequest, isDryRun, isWrite } from '../support/index.ts';
import { settings } from './manifests.ts';
import type { ArgoWorld } from './world.ts';

const name = 'shared';
const path = `/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/${name}`;
const object = `/api/v1/namespaces/${name}/configmaps/settings`;
const refresh = 'argocd.argoproj.io/refresh';
const automated = { automated: { selfHeal: true, prune: true }, syncOptions: ['CreateNamespace=true'] };
const watchedMs = 20_000;
/** Reactions to the last change may take some of them on a busy machine. */
const maxSpans = 6;
const noticeMs = 180_000;

/** The result of running two application controllers on one Application. */
export interface BesideOutcome {
  /** The condition of our replica; '' if it has none. */
  readonly condition: string;
  /** Whether each drift was repaired. */
  readonly repaired: readonly boolean[];
  /** Writes to the Application and to its object while nothing changed. */
  readonly quiet: readonly string[];
}

/** Starts Argo CD's application controller beside ours, and gives both the same work. */
export async function runBeside(world: ArgoWorld): Promise<BesideOutcome> {
  const { hub } = world;
  world.repository(name).commit({ 'app/settings.yaml': settings('settings', 'blue') });
  await hub.api.create(path.slice(0, path.lastIndexOf('/')), {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: 'argocd' },
    spec: {
      project: 'default',
      source: { repoURL: world.url(name), path: 'app', targetRevision: 'main' },
      destination: { server: 'https://kubernetes.default.svc', namespace: name },
      syncPolicy: automated,
    },
  });
  const color = async (): Promise<string | undefined> =>
    (await hub.api.get<{ data: { color: string } }>(object))?.data.color;
  const isBlue = (): Promise<boolean> =>
    eventually(async () => {
      const now = await color();
      if (now !== 'blue') throw new Error(`${name} is ${now ?? 'missing'}\n${world.tail()}`);
      return true;
    }, 60_000);
  await isBlue();
  await world.startArgoController();
  const condition = await eventually(async () => {
    await hub.api.patch(path, { metadata: { annotations: { [refresh]: 'normal' } } });
    const found = (await world.ownershipConditions()).find(({ type }) => type === 'ForeignController');
    if (found === undefined) throw new Error(`no condition\n${world.tail()}`);
    return found.message;
  }, noticeMs);
  const repaired: boolean[] = [];
  for (let n = 0; n < 2; n += 1) {
    await hub.api.patch(object, { data: { color: 'red' } });
    repaired.push(await isBlue());
  }
  return { condition, repaired, quiet: await quietWrites(world) };
}

/** Writes of the last spans without a quiet one; none once both controllers have come to rest. */
async function quietWrites({ hub }: ArgoWorld): Promise<readonly string[]> {
  let seen: readonly string[] = [];
  for (let span = 0; span < maxSpans; span += 1) {
    const before = hub.audit().length;
    await systemClock.sleep(watchedMs);
    seen = hub
      .audit()
      .slice(before)
      .filter((event) => isWrite(event) && !isDryRun(event))
      .filter(({ objectRef }) => objectRef?.name === name || objectRef?.namespace === name)
      .map((event) => `${event.userAgent?.split(' ')[0] ?? ''} ${describeRequest(event)}`);
    if (seen.length === 0) return [];
  }
  return seen;
}
