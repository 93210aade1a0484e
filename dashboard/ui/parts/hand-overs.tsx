import type { JSX } from 'preact';
import type { HandOver, OwnedCluster } from '../../../api/types.ts';
import { clusterLink } from '../logic/routes.ts';
import { Ago } from './ago.tsx';
import { Empty, Panel } from './state.tsx';

const reasons: Readonly<Record<HandOver['reason'], string>> = {
  'first-assignment': 'the cluster is new',
  'replicas-changed': 'the number of replicas changed',
  'algorithm-changed': 'the algorithm changed',
  'split-changed': 'the number of its parts changed',
  'stand-in': 'the replica of its home shard is absent',
  'returned-home': 'the replica of its home shard is back',
  rebalanced: 'assigned anew, or load was balanced',
  reassigned: 'assigned anew',
  'cluster-removed': 'the cluster was removed',
};

const maxShown = 30;

export function HandOvers(props: {
  moves: readonly HandOver[];
  clusters: readonly Pick<OwnedCluster, 'server' | 'names'>[];
}): JSX.Element {
  const names = new Map(props.clusters.map(({ server, names: [name] }) => [server, name ?? server]));
  const moves = props.moves.slice(0, maxShown);
  return (
    <Panel title="Hand-overs of the last hour">
      {moves.length === 0 && <Empty>No cluster changed its owner.</Empty>}
      <ol class="timeline">
        {moves.map((move) => (
          <li key={`${move.epoch} ${move.server} ${move.part}`}>
            <Ago time={move.at} />
            <span>
              <a href={clusterLink(move.server)}>{names.get(move.server) ?? move.server}</a>{' '}
              <span class="route">
                {move.from === undefined ? 'none' : `shard ${move.from}`} →{' '}
                {move.to === undefined ? 'none' : `shard ${move.to}`}
              </span>
              <small>{reasons[move.reason]}</small>
            </span>
          </li>
        ))}
      </ol>
      {props.moves.length > maxShown && <p class="muted">and {props.moves.length - maxShown} earlier ones</p>}
    </Panel>
  );
}
