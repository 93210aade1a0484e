import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { OwnershipResponse } from '../../../api/types.ts';
import type { PlanResponse } from '../../../api/view-types.ts';
import { usePage } from '../data/poll.ts';
import { numberText } from '../logic/format.ts';
import { Panel, Problem } from './state.tsx';

const algorithms = ['legacy', 'round-robin', 'consistent-hashing'] as const;
const settleMs = 150;
const refreshMs = 10_000;

interface Change {
  readonly replicas: number | undefined;
  readonly algorithm: string;
  readonly pin: string;
  readonly shard: string;
}

const nothing: Change = { replicas: undefined, algorithm: '', pin: '', shard: '' };

/** What a change of the shards would move, before anyone makes it. */
export function WhatIf({ ownership }: { ownership: OwnershipResponse }): JSX.Element {
  const [change, setChange] = useState(nothing);
  const asked = useSettled(change);
  const { page, problem } = usePage<PlanResponse>(pathOf(asked), refreshMs);
  const [last, setLast] = useState<PlanResponse>();
  useEffect(() => {
    if (page !== undefined) setLast(page);
  }, [page]);
  const plan = page ?? last;
  const now = ownership.shards;
  const isChanged = change !== nothing;
  return (
    <Panel
      title="What if"
      aside={
        <button type="button" class="quiet" disabled={!isChanged} onClick={() => setChange(nothing)}>
          As it is
        </button>
      }
    >
      <p class="muted">What another number of replicas, algorithm or pin would move. Nothing is changed.</p>
      <Controls change={change} now={now} ownership={ownership} set={(next) => setChange({ ...change, ...next })} />
      <Problem text={problem} />
      {plan !== undefined && <Outcome plan={plan} names={namesOf(ownership)} />}
    </Panel>
  );
}

/** The value once it has not changed for a moment: a slider has many values on its way. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const began = performance.now();
    let frame = requestAnimationFrame(function check(now) {
      if (now - began >= settleMs) setSettled(value);
      else frame = requestAnimationFrame(check);
    });
    return () => cancelAnimationFrame(frame);
  }, [value]);
  return settled;
}

function pathOf({ replicas, algorithm, pin, shard }: Change): string {
  const query = new URLSearchParams();
  if (replicas !== undefined) query.set('replicas', String(replicas));
  if (algorithm !== '') query.set('algorithm', algorithm);
  if (pin !== '') query.set('pin', `${pin}=${shard}`);
  return `plan?${query.toString()}`;
}

interface ControlsProps {
  readonly change: Change;
  readonly now: number;
  readonly ownership: OwnershipResponse;
  readonly set: (next: Partial<Change>) => void;
}

function Controls({ change, now, ownership, set }: ControlsProps): JSX.Element {
  const replicas = change.replicas ?? now;
  return (
    <div class="what-if">
      <div class="wide">
        <span class="muted">
          Replicas: <output>{replicas}</output> {replicas !== now && <small>now {now}</small>}
        </span>
        <input
          type="range"
          aria-label="Replicas"
          min={1}
          max={Math.max(8, now * 2)}
          value={replicas}
          onInput={(event) => set({ replicas: Number(event.currentTarget.value) })}
        />
      </div>
      <label>
        <span>Algorithm</span>
        <select
          aria-label="Algorithm"
          value={change.algorithm}
          onChange={(event) => set({ algorithm: event.currentTarget.value })}
        >
          <option value="">{ownership.algorithm} (now)</option>
          {algorithms
            .filter((name) => name !== ownership.algorithm)
            .map((name) => (
              <option key={name}>{name}</option>
            ))}
        </select>
      </label>
      <PinControls change={change} replicas={replicas} ownership={ownership} set={set} />
    </div>
  );
}

type PinControlsProps = Omit<ControlsProps, 'now'> & { readonly replicas: number };

function PinControls({ change, replicas, ownership, set }: PinControlsProps): JSX.Element {
  return (
    <>
      <label>
        <span>Pin a cluster</span>
        <select
          aria-label="Pin a cluster"
          value={change.pin}
          onChange={(event) => set({ pin: event.currentTarget.value, shard: '0' })}
        >
          <option value="">none</option>
          {ownership.clusters.map(({ server, names }) => (
            <option key={server} value={server}>
              {names[0] ?? server}
            </option>
          ))}
        </select>
      </label>
      {change.pin !== '' && (
        <label>
          <span>to shard</span>
          <select
            aria-label="Shard of the pinned cluster"
            value={change.shard}
            onChange={(event) => set({ shard: event.currentTarget.value })}
          >
            {Array.from({ length: replicas }, (_, shard) => (
              <option key={shard}>{shard}</option>
            ))}
          </select>
        </label>
      )}
    </>
  );
}

function namesOf({ clusters }: OwnershipResponse): ReadonlyMap<string, string> {
  return new Map(clusters.map(({ server, names: [name] }) => [server, name ?? server]));
}

const maxMoves = 12;

function Outcome({ plan, names }: { plan: PlanResponse; names: ReadonlyMap<string, string> }): JSX.Element {
  const { moves, movedApplications, parts, applications } = plan;
  const share = applications === 0 ? 0 : Math.round((100 * movedApplications) / applications);
  return (
    <>
      <p class="verdict" role="status">
        {moves.length === 0 ? (
          <strong>Nothing would move.</strong>
        ) : (
          <>
            <strong>
              {numberText(moves.length)} of {numberText(parts)} clusters would move,
            </strong>{' '}
            with {numberText(movedApplications)} of {numberText(applications)} Applications ({share} %).
          </>
        )}
      </p>
      <ul class="moves">
        {moves.slice(0, maxMoves).map(({ server, part, parts: all, from, to: target, applications: count }) => (
          <li key={`${server} ${part}`}>
            <span>
              {names.get(server) ?? server}
              {all > 1 && ` ${part + 1}/${all}`}
            </span>
            <span class="route">
              shard {from} → shard {target}
            </span>
            <small>{numberText(count)} apps</small>
          </li>
        ))}
        {moves.length > maxMoves && <li class="muted">and {moves.length - maxMoves} more</li>}
      </ul>
      <Loads plan={plan} />
      <Algorithms plan={plan} />
    </>
  );
}

function Algorithms({ plan: { algorithms: outcomes, to } }: { plan: PlanResponse }): JSX.Element {
  return (
    <div class="scroll" role="region" aria-label="The same change under each algorithm" tabIndex={0}>
      <table class="small">
        <caption>The same change under each algorithm</caption>
        <thead>
          <tr>
            <th scope="col">Algorithm</th>
            <th scope="col">Clusters moved</th>
            <th scope="col">Applications moved</th>
            <th scope="col">Fullest shard</th>
          </tr>
        </thead>
        <tbody>
          {outcomes.map(({ algorithm, moved, movedApplications: count, fullestToAverage }) => (
            <tr key={algorithm} class={algorithm === to.algorithm ? 'chosen' : ''}>
              <th scope="row">
                {algorithm}
                {algorithm === to.algorithm && <span class="hidden"> (chosen)</span>}
              </th>
              <td>{numberText(moved)}</td>
              <td>{numberText(count)}</td>
              <td>{fullestToAverage === undefined ? '–' : `${fullestToAverage.toFixed(2)} × average`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const maxBars = 24;

function Loads({ plan: { loadBefore, loadAfter } }: { plan: PlanResponse }): JSX.Element {
  const highest = Math.max(1, ...loadBefore, ...loadAfter);
  const shards = Math.min(maxBars, Math.max(loadBefore.length, loadAfter.length));
  return (
    <div
      class="loads"
      role="img"
      aria-label={`Applications by shard: now ${loadBefore.join(', ')}; then ${loadAfter.join(', ')}`}
    >
      {Array.from({ length: shards }, (_, shard) => (
        <div key={shard}>
          <span class="bar before" style={{ height: `${(100 * (loadBefore[shard] ?? 0)) / highest}%` }} />
          <span class="bar after" style={{ height: `${(100 * (loadAfter[shard] ?? 0)) / highest}%` }} />
          <span class="bar-values">
            {Math.round(loadBefore[shard] ?? 0)} → {Math.round(loadAfter[shard] ?? 0)}
          </span>
          <span class="bar-label">shard {shard}</span>
        </div>
      ))}
      <p class="legend">
        <span class="swatch before" /> Applications now <span class="swatch after" /> then
      </p>
    </div>
  );
}
