import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { ErrorNote, Link, Loading } from './components/basics.tsx';
import { ApiError, messageOfError, onSessionExpired, notifySessionRenewed } from './lib/api.ts';
import { nameOf } from './lib/format.ts';
import { navigate, useLocation } from './lib/router.ts';
import { signOut, whoami } from './lib/session.ts';
import { clearDrafts } from './lib/use-draft.ts';
import { SIGN_IN_WINDOW } from './lib/sign-in-window.ts';
import type { Whoami } from './lib/types.ts';
import { AccessPage } from './pages/access.tsx';
import { HealthPage } from './pages/health.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { QueriesPage } from './pages/queries.tsx';
import { CenteredCard, SignedIn, SignInWindow } from './pages/sign-in-window.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { WhoCanPage } from './pages/who-can.tsx';

const PAGES = [
  { path: '/health', label: 'Health', page: HealthPage },
  { path: '/access', label: 'Access', page: AccessPage },
  { path: '/who-can', label: 'Who can', page: WhoCanPage },
  { path: '/queries', label: 'Queries', page: QueriesPage },
  { path: '/overview', label: 'Gateway', page: OverviewPage },
] as const;

type Session =
  | { state: 'unknown' }
  | { state: 'out' }
  | { state: 'error'; message: string }
  | { state: 'in'; me: Whoami; expired: boolean };

function Theme(): JSX.Element {
  const [dark, setDark] = useState<boolean | undefined>(undefined);
  const isDark = dark ?? matchMedia('(prefers-color-scheme: dark)').matches;
  return (
    <button
      type="button"
      class="icon"
      aria-label={isDark ? 'Use light colours' : 'Use dark colours'}
      onClick={() => {
        setDark(!isDark);
        document.documentElement.dataset['theme'] = isDark ? 'light' : 'dark';
      }}
    >
      {isDark ? '☀' : '☾'}
    </button>
  );
}

function Shell(props: { me: Whoami; onSignOut: () => void }): JSX.Element {
  const { path } = useLocation();
  const current = PAGES.find((page) => path === page.path || path.startsWith(`${page.path}/`));
  useEffect(() => {
    if (!current) navigate('/health', true);
    document.title = current ? `${current.label} · olap-warden` : 'olap-warden';
  }, [current]);
  const Page = current?.page ?? HealthPage;
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <span class="brand">
          <img src="/ui/assets/icon.svg" alt="" width={24} height={24} /> olap-warden
        </span>
        <nav aria-label="Pages">
          {PAGES.map((page) => (
            <Link key={page.path} to={page.path} current={page === current}>
              {page.label}
            </Link>
          ))}
        </nav>
        <span class="who" title={props.me.srn}>
          {nameOf(props.me.srn)}
        </span>
        <Theme />
        <button type="button" class="small" onClick={props.onSignOut}>
          Sign out
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        <Page />
      </main>
    </div>
  );
}

function Dashboard(): JSX.Element {
  const [session, setSession] = useState<Session>({ state: 'unknown' });
  const enter = useCallback(async () => {
    const me = await whoami();
    setSession({ state: 'in', me, expired: false });
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
  useEffect(begin, [begin]);
  // The page stays mounted below the sign-in dialog, so that no input is lost.
  useEffect(
    () =>
      onSessionExpired(() => setSession((old) => (old.state === 'in' ? { ...old, expired: true } : { state: 'out' }))),
    [],
  );

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
    <>
      <Shell
        me={session.me}
        onSignOut={() => {
          clearDrafts();
          void signOut().finally(() => setSession({ state: 'out' }));
        }}
      />
      {session.expired && <SignIn onDone={enter} again />}
    </>
  );
}

export function App(): JSX.Element {
  const { path } = useLocation();
  if (path === SIGN_IN_WINDOW) return <SignInWindow />;
  if (path === '/signed-in') return <SignedIn />;
  return <Dashboard />;
}
