import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading } from './basics.tsx';
import { ErrorNote } from './loaded.tsx';

/** A page whose code is loaded when it is opened for the first time. */
export function LazyPage(props: { label: string; load: () => Promise<ComponentType> }): JSX.Element {
  const [state, setState] = useState<{ page?: ComponentType; failed?: true }>({});
  useEffect(() => {
    let gone = false;
    props.load().then(
      (page) => !gone && setState({ page }),
      () => !gone && setState({ failed: true }),
    );
    return () => {
      gone = true;
    };
  }, []);
  const { page: Page, failed } = state;
  if (Page) return <Page />;
  if (failed !== true) return <Loading what={`the page ${props.label}`} />;
  // The browser remembers a failed import. A new version of the gateway has other files.
  return (
    <ErrorNote
      message="The page could not be loaded: the gateway is not reachable, or it was updated. Reload the dashboard."
      retry={() => location.reload()}
    />
  );
}
