import { signal } from '@preact/signals';
import { parseRoute } from '../logic/routes.ts';

export const route = signal(parseRoute(location.hash));

export function followLocation(): void {
  addEventListener('hashchange', () => {
    route.value = parseRoute(location.hash);
  });
}

/** Goes to a link within the page. */
export function go(link: string): void {
  location.hash = link;
}

/** Changes the query of this page; the history gets no new entry for each key that is typed. */
export function replaceQuery(query: string): void {
  const [path = ''] = location.hash.split('?', 1);
  history.replaceState(null, '', `${path === '' ? '#/' : path}${query === '' ? '' : `?${query}`}`);
  route.value = parseRoute(location.hash);
}
