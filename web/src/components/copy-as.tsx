import type { JSX } from 'preact';
import { curlOf, type RestCall } from '../lib/copy.ts';
import { CopyButton } from './basics.tsx';

/** Buttons that copy what is shown for use outside the dashboard. */
export function CopyAs(props: {
  /** The call that reads or makes it. */
  call: RestCall;
  /** The YAML for `kubectl apply`; absent for what is not a Kubernetes resource. */
  manifest?: (() => string) | undefined;
}): JSX.Element {
  return (
    <>
      <CopyButton label="Copy as curl" text={() => curlOf(props.call, location.origin)} />
      {props.manifest && <CopyButton label="Copy as manifest" text={props.manifest} />}
    </>
  );
}
