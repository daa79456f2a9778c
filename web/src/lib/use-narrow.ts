import { useEffect, useState } from 'preact/hooks';

/** The breakpoint of the styles for phones. */
const narrow = matchMedia('(max-width: 720px)');

/** Whether the page is as narrow as a phone. Updates when the device is rotated. */
export function useNarrow(): boolean {
  const [is, setIs] = useState(narrow.matches);
  useEffect(() => {
    const listener = (): void => setIs(narrow.matches);
    narrow.addEventListener('change', listener);
    return () => narrow.removeEventListener('change', listener);
  }, []);
  return is;
}
