import type { ComponentType, JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { Link, Loading } from './components/basics.tsx';
import { ErrorNote } from './components/loaded.tsx';
import { ApiError, messageOfError, onSessionExpired, notifySessionRenewed } from './lib/api.ts';
import { navigate, useLocation } from './lib/router.ts';
import { loadSession, SessionContext, signOut } from './lib/session.ts';
import { clearDrafts } from './lib/use-draft.ts';
import { SIGN_IN_WINDOW } from './lib/sign-in-window.ts';
import type { Session } from './lib/types.ts';
import { visible } from './lib/visible.ts';
import { clearNotices } from './lib/notices.ts';
import { Notices } from './components/notices.tsx';
import { Forbidden } from './components/forbidden.tsx';
import { Shortcuts, ThemeSwitch, ZoneSwitch } from './components/header-controls.tsx';
import { LazyPage } from './components/lazy-page.tsx';
import { HealthPage } from './pages/health.tsx';
import { CenteredCard, SignedIn, SignInWindow } from './pages/sign-in-window.tsx';
import { SignIn } from './pages/sign-in.tsx';

interface PageEntry {
  readonly path: string;
  readonly label: string;
  /** The action on the cluster without which the page is not shown. */
  readonly action?: string;
  /** Whether the page is for callers who may do anything with roles, policies or service tokens. */
  readonly isAccess?: true;
  readonly load: () => Promise<ComponentType>;
}

/** The first load contains the usual start page. The others are loaded when they are opened. */
const PAGES: readonly PageEntry[] = [
  { path: '/health', label: 'Health', load: () => Promise.resolve(HealthPage), action: 'GetHealth' },
  { path: '/cluster', label: 'Cluster', load: async () => (await import('./pages/cluster.tsx')).ClusterPage },
  {
    path: '/access',
    label: 'Access',
    load: async () => (await import('./pages/access.tsx')).AccessPage,
    isAccess: true,
  },
  {
    path: '/who-can',
    label: 'Who can',
    load: async () => (await import('./pages/who-can.tsx')).WhoCanPage,
    action: 'SimulateAccess',
  },
  { path: '/queries', label: 'Queries', load: async () => (await import('./pages/queries.tsx')).QueriesPage },
  {
    path: '/overview',
    label: 'Gateway',
    load: async () => (await import('./pages/overview.tsx')).OverviewPage,
    action: 'GetHealth',
  },
];

type SignInState =
  | { state: 'unknown' }
  | { state: 'out' }
  | { state: 'error'; message: string }
  | { state: 'in'; session: Session; expired: boolean };

function mayOpen({ action, isAccess }: PageEntry, { clusterActions, access }: Session): boolean {
  if (isAccess) return Object.keys(access).length > 0;
  return action === undefined || clusterActions.includes(action);
}

function PageLinks(props: { session: Session; current: PageEntry | undefined }): JSX.Element {
  return (
    <nav aria-label="Pages">
      {PAGES.filter((page) => mayOpen(page, props.session)).map((page) => (
        <Link key={page.path} to={page.path} current={page === props.current}>
          {page.label}
        </Link>
      ))}
    </nav>
  );
}

function Header(props: { session: Session; current: PageEntry | undefined; onSignOut: () => void }): JSX.Element {
  const { me, environment, cluster, colour } = props.session;
  return (
    <header class={`bar ${colour === null ? '' : `bar-colour colour-${colour}`}`}>
      <span class="brand">
        <img src="/ui/assets/icon.svg" alt="" width={24} height={24} /> olap-warden
      </span>
      <span class="where" title="Environment and cluster">
        {environment} · {cluster}
      </span>
      <PageLinks session={props.session} current={props.current} />
      <span class="who" title={visible(me.srn)}>
        {visible(props.session.caller)}
      </span>
      <ZoneSwitch />
      <ThemeSwitch />
      <Shortcuts
        pages={PAGES.filter((page) => mayOpen(page, props.session)).map(({ label, path }) => ({
          kind: 'page',
          name: label,
          path,
        }))}
      />
      <button type="button" class="small" onClick={props.onSignOut}>
        Sign out
      </button>
    </header>
  );
}

function Shell(props: { session: Session; onSignOut: () => void }): JSX.Element {
  const { path } = useLocation();
  const { clusterActions, environment } = props.session;
  const current = PAGES.find((page) => path === page.path || path.startsWith(`${page.path}/`));
  useEffect(() => {
    // The start page is the one for which most roles are made: health, or else queries.
    if (!current) navigate(clusterActions.includes('GetHealth') ? '/health' : '/queries', true);
    document.title = current ? `${current.label} · ${environment} · olap-warden` : 'olap-warden';
  }, [current]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header session={props.session} current={current} onSignOut={props.onSignOut} />
      <main id="main" tabIndex={-1}>
        {current &&
          (mayOpen(current, props.session) ? (
            <LazyPage key={current.path} {...current} />
          ) : (
            <Forbidden label={current.label} action={current.action ?? 'GetRole'} />
          ))}
      </main>
      <Notices />
    </div>
  );
}

/** The session of this page. `begin` looks for one; `enter` throws when there is none. */
function useSignInState(): {
  readonly session: SignInState;
  readonly begin: () => void;
  readonly enter: () => Promise<void>;
  readonly leave: () => void;
} {
  const [session, setSession] = useState<SignInState>({ state: 'unknown' });
  const enter = useCallback(async () => {
    setSession({ state: 'in', session: await loadSession(), expired: false });
    notifySessionRenewed();
  }, []);
  const begin = useCallback(() => {
    enter().catch((error: unknown) =>
      setSession(
        error instanceof ApiError && error.status === 401
          ? { state: 'out' }
          : { state: 'error', message: messageOfError(error) },
      ),
    );
  }, [enter]);
  const leave = useCallback(() => {
    clearDrafts();
    clearNotices();
    void signOut().finally(() => setSession({ state: 'out' }));
  }, []);
  useEffect(begin, [begin]);
  // The page stays mounted below the sign-in dialog, so that no input is lost.
  useEffect(
    () =>
      onSessionExpired(() => setSession((old) => (old.state === 'in' ? { ...old, expired: true } : { state: 'out' }))),
    [],
  );
  return { session, begin, enter, leave };
}

function Dashboard(): JSX.Element {
  const { session, begin, enter, leave } = useSignInState();
  if (session.state === 'unknown') return <Loading what="the dashboard" />;
  if (session.state === 'error') {
    return (
      <CenteredCard>
        <ErrorNote message={session.message} retry={begin} />
      </CenteredCard>
    );
  }
  if (session.state === 'out') return <SignIn onDone={enter} />;
  return (
    <SessionContext.Provider value={session.session}>
      <Shell session={session.session} onSignOut={leave} />
      {session.expired && <SignIn onDone={enter} again />}
    </SessionContext.Provider>
  );
}

export function App(): JSX.Element {
  const { path } = useLocation();
  if (path === SIGN_IN_WINDOW) return <SignInWindow />;
  if (path === '/signed-in') return <SignedIn />;
  return <Dashboard />;
}
