import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

/** The element of a modal dialog, opened while it is mounted. The first field has the focus; at the end, the focus returns to where it was. */
function useModal(): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    dialog?.showModal();
    // By itself the browser focuses the button that closes the dialog.
    dialog?.querySelector<HTMLElement>('input, select, textarea')?.focus();
    return () => {
      dialog?.close();
      // The browser returns the focus only where the dialog is closed while it is in the document.
      if (document.activeElement === document.body && opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return ref;
}

/**
 * A modal dialog, as the browser's dialog element, which keeps the focus inside and handles Escape.
 * @param props.onClose absent when the dialog cannot be closed
 */
export function Dialog(props: {
  title: string;
  onClose?: () => void;
  children: ComponentChildren;
  wide?: boolean;
}): JSX.Element {
  const ref = useModal();
  const titleId = useId();
  // A browser may close the dialog at the second Escape even if the first was prevented. Open it again while it is mounted.
  const reopen = (): void => {
    if (!ref.current?.isConnected) return;
    props.onClose?.();
    requestAnimationFrame(() => {
      const dialog = ref.current;
      if (dialog?.isConnected && !dialog.open) dialog.showModal();
    });
  };
  return (
    <dialog
      ref={ref}
      class={props.wide ? 'wide' : undefined}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose?.();
      }}
      onClose={reopen}
    >
      <header>
        <h2 id={titleId}>{props.title}</h2>
        {props.onClose && (
          <button type="button" class="icon" aria-label="Close" onClick={props.onClose}>
            ×
          </button>
        )}
      </header>
      {props.children}
    </dialog>
  );
}
