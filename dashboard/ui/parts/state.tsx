import type { ComponentChildren, JSX } from 'preact';
import type { Link } from '../../../api/types.ts';
import type { AnyPage, PolledPage } from '../data/poll.ts';
import { glyphs, toneOf } from '../logic/tones.ts';
import type { Tone } from '../logic/tones.ts';
import { Ago } from './ago.tsx';

/** A state: its word, with a shape and a colour. */
export function State({
  word,
  tone = toneOf(word),
  title,
}: {
  word: string;
  tone?: Tone;
  title?: string;
}): JSX.Element | null {
  if (word === '') return null;
  return (
    <span class={`state tone-${tone}`} title={title}>
      <span class="glyph" aria-hidden="true">
        {glyphs[tone]}
      </span>
      {word}
    </span>
  );
}

export function Panel(props: {
  title: string;
  id?: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const id = props.id ?? props.title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

/** Links to pages of other programs, which open in a tab of their own. */
export function OutsideLinks({ links }: { links: readonly Link[] }): JSX.Element {
  return (
    <>
      {links
        .filter(({ url }) => /^https?:/i.test(url))
        .map(({ name, url }) => (
          <a key={name} href={url} target="_blank" rel="noopener noreferrer">
            {name} <span aria-hidden="true">↗</span>
          </a>
        ))}
    </>
  );
}

export function Problem({ text }: { text: string | undefined }): JSX.Element | null {
  return text === undefined ? null : (
    <p class="problem" role="alert">
      <span aria-hidden="true">{glyphs.bad}</span> {text}
    </p>
  );
}

/** Until a page was read, its outline; then why it is old, and which replicas did not answer. */
export function PageState({ page, problem }: PolledPage<AnyPage>): JSX.Element | null {
  if (page === undefined) return problem === undefined ? <Skeleton /> : <Problem text={problem} />;
  return (
    <>
      {problem !== undefined && (
        <p class="problem" role="alert">
          <span aria-hidden="true">{glyphs.bad}</span> {problem}. Shown is the state from <Ago time={page.time} />.
        </p>
      )}
      <Incomplete parts={page.incomplete} />
    </>
  );
}

const outlineWidths = ['34%', '100%', '100%', '72%'];

/** Stands where a page will be. */
export function Skeleton(): JSX.Element {
  return (
    <div class="skeleton" role="status">
      <span class="hidden">Reading …</span>
      {outlineWidths.map((width, i) => (
        <span key={i} class="outline" style={{ width }} />
      ))}
    </div>
  );
}

/** Replicas whose part of an answer is missing. */
export function Incomplete({ parts }: { parts: AnyPage['incomplete'] }): JSX.Element | null {
  if (parts.length === 0) return null;
  return (
    <p class="notice" role="status">
      <span aria-hidden="true">{glyphs.warn}</span> Incomplete:{' '}
      {parts.map(({ replica, reason }) => `${replica === '' ? 'no owner' : replica}: ${reason}`).join(' · ')}
    </p>
  );
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

/** A bar that is filled in part; its text says the same. */
export function Meter(props: { label: string; share: number; text: string; tone?: Tone }): JSX.Element {
  const percent = Math.max(0, Math.min(100, Math.round(props.share * 100)));
  return (
    <div class="meter">
      <span class="meter-label">{props.label}</span>
      <span class="meter-text">{props.text}</span>
      <span class={`meter-bar tone-${props.tone ?? 'none'}`} aria-hidden="true">
        <span style={{ width: `${percent}%` }} />
      </span>
    </div>
  );
}
