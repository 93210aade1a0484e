import 'uplot/dist/uPlot.min.css';
import './style.css';
import type { JSX } from 'preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { followChanges } from './data/applications.ts';
import { followLocation, go, route } from './data/location.ts';
import { signInReason } from './data/storage.ts';
import { isTyping } from './data/keys.ts';
import { startTicking } from './data/time.ts';
import { ApplicationPage } from './pages/application.tsx';
import { ApplicationsPage } from './pages/applications.tsx';
import { ClusterPage } from './pages/cluster.tsx';
import { ClustersPage } from './pages/clusters.tsx';
import { FleetPage } from './pages/fleet.tsx';
import { Help, SignIn } from './parts/dialogs.tsx';
import { lazy } from './parts/lazy.tsx';
import { Shell } from './parts/shell.tsx';

const places: Readonly<Record<string, string>> = { f: '#/', a: '#/applications', c: '#/clusters', t: '#/time' };

/** Its charts are loaded when they are shown. */
const TimePage = lazy(async () => (await import('./pages/time.tsx')).TimePage);

function App(): JSX.Element {
  const [isHelpOpen, setHelpOpen] = useState(false);
  useEffect(() => {
    let isGoing = false;
    const onKey = (event: KeyboardEvent): void => {
      if (isTyping(event)) return;
      if (event.key === '?') setHelpOpen(true);
      const place = places[event.key];
      if (isGoing && place !== undefined) go(place);
      isGoing = event.key === 'g';
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  if (signInReason.value !== undefined) return <SignIn />;
  return (
    <>
      <Shell onHelp={() => setHelpOpen(true)}>
        <CurrentPage />
      </Shell>
      <Help isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
    </>
  );
}

function CurrentPage(): JSX.Element {
  const here = route.value;
  switch (here.page) {
    case 'application':
      return <ApplicationPage key={`${here.namespace}/${here.name}`} namespace={here.namespace} name={here.name} />;
    case 'applications':
      return <ApplicationsPage />;
    case 'cluster':
      return <ClusterPage key={here.cluster} cluster={here.cluster} />;
    case 'clusters':
      return <ClustersPage />;
    case 'time':
      return <TimePage />;
    default:
      return <FleetPage />;
  }
}

const root = document.getElementById('app');
if (root !== null) {
  root.replaceChildren();
  followLocation();
  startTicking();
  render(<App />, root);
  void followChanges(new AbortController().signal);
}
