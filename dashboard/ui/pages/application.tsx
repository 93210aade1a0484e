import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Application, ApplicationResponse, ReportedSource } from '../../../api/application-types.ts';
import { changeText, explainApplication, isUnderWay, objectText, RelativeTimes } from '../../../api/words/index.ts';
import { lastChanges, ownershipVersion } from '../data/applications.ts';
import { replaceQuery, route } from '../data/location.ts';
import { usePage } from '../data/poll.ts';
import { favourites, toggleFavourite } from '../data/storage.ts';
import { shortRevision, shortUrl } from '../logic/format.ts';
import { applicationLink, clusterLink } from '../logic/routes.ts';
import { Ago } from '../parts/ago.tsx';
import { Command, shellWord } from '../parts/command.tsx';
import { Differences } from '../parts/differences.tsx';
import { Explained } from '../parts/explained.tsx';
import { lazy } from '../parts/lazy.tsx';
import { Operation } from '../parts/operation.tsx';
import { PageTitle } from '../parts/shell.tsx';
import { OutsideLinks, PageState, Panel, State } from '../parts/state.tsx';
import { Timeline } from '../parts/timeline.tsx';

/** The layout of graphs is loaded when it is needed. */
const ApplicationTree = lazy(async () => (await import('../parts/tree.tsx')).ApplicationTree);

const pollMs = 2500;
const tabs = ['summary', 'differences', 'tree', 'timeline'] as const;
type Tab = (typeof tabs)[number];

export function ApplicationPage({ namespace, name }: { namespace: string; name: string }): JSX.Element {
  const key = `${namespace}/${name}`;
  useRefreshOnChange(key);
  const path = `applications/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  const answer = usePage<ApplicationResponse>(path, pollMs);
  const { page } = answer;
  const tab = tabs.find((known) => known === route.value.query.get('tab')) ?? 'summary';
  const isStarred = favourites.value.has(key);
  return (
    <>
      <PageTitle title={name}>
        <button
          type="button"
          class={`star${isStarred ? ' on' : ''}`}
          aria-pressed={isStarred}
          aria-label={`Favourite ${name}`}
          onClick={() => toggleFavourite(key)}
        >
          {isStarred ? '★' : '☆'}
        </button>
        {page !== undefined && <Badges app={page.application} />}
        {page !== undefined && <OutsideLinks links={page.application.links} />}
      </PageTitle>
      <PageState {...answer} />
      {page !== undefined && (
        <>
          <Where app={page.application} />
          <Verdict answer={page} />
          <Tabs tab={tab} app={page.application} />
          <div role="tabpanel" id="panel" aria-labelledby={`tab-${tab}`}>
            <TabContent tab={tab} answer={page} path={path} />
          </div>
        </>
      )}
    </>
  );
}

/** A change of this Application is shown at once, not with the next request. */
function useRefreshOnChange(key: string): void {
  const changes = lastChanges.value;
  useEffect(() => {
    if (changes.has(key)) ownershipVersion.value += 1;
  }, [changes]);
}

function Badges({ app }: { app: Application }): JSX.Element {
  const { sync, health, operation, isDeleting } = app;
  return (
    <span class="badges">
      <State word={sync === '' ? 'Not compared' : sync} />
      <State word={health === '' ? 'Not compared' : health} />
      {operation !== '' && <State word={operation} title="The last operation" />}
      {isDeleting && <State word="Being deleted" tone="warn" />}
    </span>
  );
}

function Where({ app }: { app: Application }): JSX.Element {
  const { namespace, project, server, clusterName, destinationNamespace, sources, owner, shard } = app;
  const cluster = clusterName === '' ? server : clusterName;
  return (
    <dl class="facts">
      <Fact label="Project" value={`${project}, namespace ${namespace}`} />
      <div>
        <dt>Cluster</dt>
        <dd>
          {server === '' ? 'cannot be resolved' : <a href={clusterLink(server)}>{cluster}</a>}
          {destinationNamespace !== '' && `, namespace ${destinationNamespace}`}
        </dd>
      </div>
      <Fact
        label="Owner"
        value={owner === '' ? 'no replica' : `${owner}${shard === undefined ? '' : `, shard ${shard}`}`}
      />
      {sources.map((source, i) => (
        <SourceFact key={`${source.repository} ${i}`} source={source} />
      ))}
    </dl>
  );
}

/** A source with the commit that was compared last, whose texts are those of tenants. */
function SourceFact({ source }: { source: ReportedSource }): JSX.Element {
  const { repository, path, targetRevision, revision, commit } = source;
  const target = targetRevision === '' || targetRevision === revision ? '' : ` (${targetRevision})`;
  return (
    <div class="source">
      <dt>Source</dt>
      <dd>
        {shortUrl(repository)}
        {path !== '' && path !== '.' && ` ${path}`} @{' '}
        {revision === '' ? targetRevision : shortRevision(revision) + target}
        {commit !== undefined && (
          <small>
            <q>{commit.subject}</q> {commit.author}, <Ago time={commit.at} />
          </small>
        )}
      </dd>
    </div>
  );
}

function Fact({ label, value }: { label: string; value: string }): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

const verdictTones = { healthy: 'good', waiting: 'warn', broken: 'bad' } as const;
const verdictWords = { healthy: 'Fine', waiting: 'Waiting for', broken: 'Broken' } as const;
const stateTexts = {
  modified: 'differs',
  missing: 'is missing in the cluster',
  extra: 'is not in Git',
  unread: 'could not be read',
  refused: 'is not permitted in its project',
} as const;

function Verdict({ answer }: { answer: ApplicationResponse }): JSX.Element {
  const { verdict, reason, sections } = useMemo(() => explainApplication(answer), [answer]);
  const advice = sections.find(({ label }) => label === 'What to do')?.lines[0];
  return (
    <div class={`banner tone-${verdictTones[verdict]}`} role="status">
      <State word={verdictWords[verdict]} tone={verdictTones[verdict]} />
      <div>
        <p>{verdict === 'healthy' ? `It is as Git says, and healthy: ${reason ?? 'not compared yet'}.` : reason}</p>
        <FirstDifference app={answer.application} time={answer.time} />
        {advice !== undefined && <p class="muted">{advice}</p>}
      </div>
    </div>
  );
}

/** The first field that differs, with its last change: the question that an OutOfSync raises. */
function FirstDifference({ app, time }: { app: Application; time: string }): JSX.Element | null {
  const { namespace, name, differences, differencesTotal } = app;
  const [resource] = differences;
  if (resource === undefined) return null;
  const [field] = resource.fields;
  const writer = field?.changedBy ?? (resource.state === 'modified' ? resource.lastWriter : undefined);
  const others = differencesTotal - 1;
  return (
    <p>
      <a href={applicationLink(namespace, name, 'differences')}>{objectText(resource)}</a> {stateTexts[resource.state]}
      {field !== undefined && ` in ${field.path}`}
      {writer !== undefined && `, ${changeText(writer, app, new RelativeTimes(time))}`}
      {others > 0 && `, and ${others} more`}
    </p>
  );
}

function Tabs({ tab, app }: { tab: Tab; app: Application }): JSX.Element {
  const texts: Readonly<Record<Tab, string>> = {
    summary: 'Summary',
    differences: 'Differences',
    tree: 'Tree',
    timeline: 'Timeline',
  };
  const open = (next: Tab): void => replaceQuery(next === 'summary' ? '' : `tab=${next}`);
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    if (step === 0 || next === undefined) return;
    open(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Parts of the page" onKeyDown={onKey}>
      {tabs.map((name) => (
        <button
          key={name}
          id={`tab-${name}`}
          type="button"
          role="tab"
          aria-selected={tab === name}
          aria-controls="panel"
          tabIndex={tab === name ? 0 : -1}
          onClick={() => open(name)}
        >
          {texts[name]}
          {name === 'differences' && app.differencesTotal > 0 && <span class="count">{app.differencesTotal}</span>}
        </button>
      ))}
    </div>
  );
}

function TabContent({ tab, answer, path }: { tab: Tab; answer: ApplicationResponse; path: string }): JSX.Element {
  const { application } = answer;
  const [style, setStyle] = useState<'sides' | 'lines'>('sides');
  if (tab === 'differences')
    return <Differences app={application} time={answer.time} style={style} setStyle={setStyle} />;
  if (tab === 'tree')
    return <ApplicationTree path={`${path}/tree`} title={application.name} differences={application.differences} />;
  if (tab === 'timeline') return <Timeline app={application} />;
  return (
    <div class="columns">
      <Explained answer={answer} />
      <div class="stack">
        <Operation app={application} />
        <Commands app={application} />
      </div>
    </div>
  );
}

/** The page changes nothing: what a person does next, with rights of their own. */
function Commands({ app }: { app: Application }): JSX.Element {
  const { namespace, name } = app;
  const actions = ['explain', 'refresh', isUnderWay(app) ? 'terminate' : 'sync'];
  return (
    <Panel title="Commands">
      {actions.map((action) => (
        <Command key={action} text={`driftless ${action} ${shellWord(name)} -n ${shellWord(namespace)}`} />
      ))}
    </Panel>
  );
}
