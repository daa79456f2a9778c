import type { JSX } from 'preact';
import { curlOf, yamlOf, type Manifest, type RestCall } from '../lib/copy.ts';
import { visible } from '../lib/visible.ts';
import { CopyButton } from './basics.tsx';

/** Buttons that copy what is shown for use outside the dashboard. */
export function CopyAs(props: {
  /** The call that reads or makes it. */
  call: RestCall;
  /** Absent for what is not a Kubernetes resource. */
  manifest?: (() => Manifest) | undefined;
  /** What the row of a list is about, for screen readers. The buttons are short there. */
  row?: string;
}): JSX.Element {
  const { manifest, row } = props;
  const label = (text: string): { label: string; name?: string } =>
    row === undefined ? { label: `Copy as ${text}` } : { label: text, name: `Copy as ${text}: ${visible(row)}` };
  return (
    <>
      <CopyButton {...label('curl')} text={() => curlOf(props.call, location.origin)} />
      {manifest && (
        <>
          {' '}
          <CopyButton {...label('manifest')} text={() => yamlOf([manifest()])} />
        </>
      )}
    </>
  );
}
