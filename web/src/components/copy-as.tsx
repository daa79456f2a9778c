import type { JSX } from 'preact';
import { curlOf, yamlOf, type Manifest, type RestCall } from '../lib/copy.ts';
import { CopyButton } from './basics.tsx';

/** Buttons that copy what is shown for use outside the dashboard. */
export function CopyAs(props: {
  /** The call that reads or makes it. */
  call: RestCall;
  /** Absent for what is not a Kubernetes resource. */
  manifest?: (() => Manifest) | undefined;
}): JSX.Element {
  const { manifest } = props;
  return (
    <>
      <CopyButton label="Copy as curl" text={() => curlOf(props.call, location.origin)} />
      {manifest && <CopyButton label="Copy as manifest" text={() => yamlOf([manifest()])} />}
    </>
  );
}
