import type { JSX } from 'preact';
import type { TreeNode } from '../../../api/view-types.ts';
import { Ago } from './ago.tsx';

/** While the kind of an object is not watched, its live state may be older than the page. */
export function OldState({ age }: { readonly age: TreeNode['liveAge'] }): JSX.Element {
  if (age === undefined) return <></>;
  return (
    <p class="notice">
      This state may be old: its kind{' '}
      {age.listedAt === undefined ? (
        'was not listed yet'
      ) : (
        <>
          was last listed <Ago time={age.listedAt} />
        </>
      )}
      : {age.reason}
    </p>
  );
}
