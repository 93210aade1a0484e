import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { computed } from '@preact/signals';
import { applications, connection } from '../data/applications.ts';
import { route } from '../data/location.ts';
import { setTheme, signOut, theme, token } from '../data/storage.ts';
import type { Theme } from '../data/storage.ts';
import { calm } from '../logic/filters.ts';

const places = [
  { page: 'fleet', link: '#/', text: 'Fleet' },
  { page: 'applications', link: '#/applications', text: 'Applications' },
  { page: 'clusters', link: '#/clusters', text: 'Clusters' },
  { page: 'time', link: '#/time', text: 'Time' },
] as const;

const parentOf: Readonly<Record<string, string>> = { application: 'applications', cluster: 'clusters' };

const urgent = computed(() => applications.value.filter(({ urgency }) => urgency < calm).length);

export function Shell({ onHelp, children }: { onHelp: () => void; children: ComponentChildren }): JSX.Element {
  const here = parentOf[route.value.page] ?? route.value.page;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href="#/" aria-label="Driftless: the fleet">
          <Mark />
          <span>Driftless</span>
        </a>
        <nav aria-label="Pages">
          {places.map(({ page, link, text }) => (
            <a key={page} href={link} aria-current={here === page ? 'page' : undefined}>
              {text}{' '}
              {page === 'applications' && urgent.value > 0 && (
                <span class="count" title="Applications that need attention">
                  {urgent.value}
                  <span class="hidden"> need attention</span>
                </span>
              )}
            </a>
          ))}
        </nav>
        <ConnectionState />
        <ThemeButton />
        <button type="button" class="quiet" onClick={onHelp} aria-label="Keyboard shortcuts">
          ?
        </button>
        {token.value !== '' && (
          <button type="button" class="quiet" onClick={signOut}>
            Sign out
          </button>
        )}
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

/** Without a change of the address, which is the route. */
function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Mark(): JSX.Element {
  return (
    <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <path
        d="M3 8c4-4 7 4 11 0s5-2 7 0M3 16c4-4 7 4 11 0s5-2 7 0"
        fill="none"
        stroke="currentColor"
        stroke-width="2.4"
        stroke-linecap="round"
      />
    </svg>
  );
}

const connectionWords = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Connection lost',
  refused: 'No rights',
} as const;
const connectionTones = { connecting: 'busy', live: 'good', lost: 'bad', refused: 'bad' } as const;

function ConnectionState(): JSX.Element {
  const state = connection.value;
  return (
    <span class={`connection tone-${connectionTones[state]}`} role="status">
      <span class="pulse" aria-hidden="true" />
      {connectionWords[state]}
    </span>
  );
}

const nextTheme: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' };
const themeSigns: Readonly<Record<Theme, string>> = { auto: '◑', light: '☀', dark: '☾' };

function ThemeButton(): JSX.Element {
  const now = theme.value;
  useEffect(() => {
    if (now === 'auto') document.documentElement.removeAttribute('data-theme');
    else document.documentElement.setAttribute('data-theme', now);
  }, [now]);
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => setTheme(nextTheme[now])}
      aria-label={`Colours: ${now}. Change.`}
    >
      <span aria-hidden="true">{themeSigns[now]}</span>
    </button>
  );
}

/** The heading of a page. It gets the focus when the page is opened, as with a page of its own. */
export function PageTitle({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Driftless`;
    if (wasOpened) heading.current?.focus({ preventScroll: true });
    wasOpened = true;
  }, [title]);
  return (
    <div class="title">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </div>
  );
}

/** The browser places the focus on the first page. */
let wasOpened = false;
