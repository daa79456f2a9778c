import type { JSX } from 'preact';
import { Prose } from '../../../components/basics.tsx';

/** What the gateway says about a field. */
export function FieldError(props: { id?: string; message: string | undefined }): JSX.Element | null {
  if (props.message === undefined) return null;
  return (
    <p class="field-error" role="alert" id={props.id}>
      <Prose text={props.message} />
    </p>
  );
}
