import type { Act, PlanWorld } from './acts.ts';

/*
 * Acts that make a fault matter: edits, pushes, syncs and stops at the moment at which it hits.
 */

export function companionsOf(act: Act, world: PlanWorld): readonly Act[] {
  const { at } = act;
  const { draw } = world;
  const found: Act[] = [];
  if (isLong(act)) found.push(laterEdit(at, world));
  if (stopsWriter(act)) found.push(...editsAround(act, world));
  if (hidesEvents(act)) found.push(hiddenEdit(at, world));
  if (isOfHub(act) && draw.below(2) === 0) found.push(stopMeanwhile(act, world));
  if (isSlowWrite(act)) found.push(stopMeanwhile(act, world), ...editsNow(act, world));
  return [...found, ...reactionsTo(act, world)];
}

/** Whether a fault may outlast a lease. */
function isLong(act: Act): boolean {
  if (act.do === 'cut' || act.do === 'freeze' || act.do === 'outage') return true;
  return act.do === 'request' && act.fault.is.startsWith('frozen');
}

function isOfHub(act: Act): boolean {
  return (act.do === 'cut' && act.from === 'hub') || (act.do === 'outage' && act.to === 'hub');
}

/** Stops a replica, the one that a fault hits, while it may be unable to give its shard back. */
function stopMeanwhile(act: Act, { draw, replicas }: PlanWorld): Act {
  const downMs = 500 + draw.below(12_000);
  const by = ('by' in act ? act.by : undefined) ?? draw.below(replicas);
  return { at: act.at + 1000 + draw.below(4000), do: 'restart', by, how: 'stop', downMs };
}

function isSlowWrite(act: Act): boolean {
  return (act.do === 'outage' || act.do === 'request') && act.to !== 'hub' && act.fault.is === 'slow';
}

/** Drifts that are repaired while writes are slow. */
function editsNow({ at }: Act, { draw, apps }: PlanWorld): Act[] {
  const edit = (afterMs: number): Act => ({
    at: at + afterMs,
    do: 'edit',
    app: draw.below(apps),
    change: 'set',
    item: draw.below(8),
  });
  return [edit(200), edit(2000 + draw.below(3000))];
}

/** Acts that give a fault the requests that it should hit. */
function reactionsTo(act: Act, { draw, apps, homes }: PlanWorld): Act[] {
  const { at } = act;
  const app = draw.below(apps);
  const item = draw.below(8);
  if (act.do === 'sync' && draw.below(3) === 0) return [{ ...act, at: at + 200 + draw.below(800) }];
  if (act.do === 'delete')
    return [
      { at: at - 100, do: 'watch', to: 'hub', fault: 'silent' },
      { at: at - 50, do: 'edit', app: act.app, change: 'set', item },
      { at: at + 3000 + draw.below(9000), do: 'edit', app: act.app, change: 'set', item },
    ];
  if (act.do !== 'request' && act.do !== 'outage') return [];
  const { is } = act.fault;
  if (is === 'overtaken')
    return [
      { at: at + 100, do: 'manner', app, manner: 'automated' },
      { at: at + 200, do: 'push', app, change: 'remove', item },
    ];
  if (is === 'echo') {
    const hit = Math.max(0, homes.indexOf(Number(act.to)));
    return [
      { at: at + 100, do: 'manner', app: hit, manner: 'automated' },
      { at: at + 200, do: 'push', app: hit, change: 'set', item: 3 },
    ];
  }
  if (is === 'strange items') return [{ at: at + 100, do: 'watch', to: act.to, fault: 'expired' }];
  if (is !== 'reset, committed late') return [];
  return [0, 1500, 4000].map((afterMs) => ({ at: at + afterMs, do: 'sync', app, prune: false }));
}

function stopsWriter(act: Act): act is Extract<Act, { do: 'request' }> {
  return act.do === 'request' && act.to !== 'hub' && act.fault.is.startsWith('frozen');
}

/** A drift that the process is about to repair when it stops, and one for the next owner. */
function editsAround({ at, to }: { readonly at: number; readonly to: number | 'hub' }, world: PlanWorld): Act[] {
  const { draw, homes } = world;
  const app = homes.findIndex((cluster) => cluster === to);
  if (app < 0) return [];
  const edit = { do: 'edit', app, change: 'set', item: draw.below(8) } as const;
  return [
    { at: at + 100, ...edit },
    { at: at + 38_000 + draw.below(10_000), ...edit },
  ];
}

function hidesEvents(act: Act): boolean {
  return act.do === 'watch' && ['lossy', 'reordered', 'silent'].includes(act.fault);
}

/** A drift that the disturbed watch does not show, or shows in the wrong order. */
function hiddenEdit(at: number, { draw, apps }: PlanWorld): Act {
  const app = draw.below(apps);
  return { at: at + 100 + draw.below(3000), do: 'edit', app, change: 'set', item: draw.below(8) };
}

/** Makes both the former and the next owner write while the former one is away, or comes back. */
function laterEdit(at: number, { draw, apps }: PlanWorld): Act {
  const app = draw.below(apps);
  return { at: at + 25_000 + draw.below(50_000), do: 'edit', app, change: 'set', item: draw.below(8) };
}
