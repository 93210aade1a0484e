import type { JSX } from 'preact';
import type { ObjectResponse, TreeNode } from '../../../api/view-types.ts';
import { usePage } from '../data/poll.ts';
import { objectQuery } from './object-activity.tsx';
import { PageState } from './state.tsx';

const pollMs = 5000;

/** Desired and live manifest of an object of the tree, with masked values. */
export function Manifests({ path, node }: { path: string; node: TreeNode }): JSX.Element {
  const answer = usePage<ObjectResponse>(`${path}/object?${objectQuery(node).toString()}`, pollMs);
  const object = answer.page?.object;
  const hidden = answer.page?.hidden?.[0];
  return (
    <>
      <PageState {...answer} />
      {hidden !== undefined && <p class="notice">You need the right to {hidden.needs}.</p>}
      {object?.message !== undefined && <p class="notice">{object.message}</p>}
      {object !== undefined && hidden === undefined && (
        <div class="manifests">
          <Manifest title="Git" text={object.desired} absent="It is not in the manifests." />
          <Manifest title="Live" text={object.live} absent="It is not in the cluster." />
        </div>
      )}
    </>
  );
}

interface ManifestProps {
  readonly title: string;
  readonly text: string | undefined;
  readonly absent: string;
}

function Manifest({ title, text, absent }: ManifestProps): JSX.Element {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {text === undefined ? <p class="muted">{absent}</p> : <pre tabIndex={0}>{text}</pre>}
    </section>
  );
}
