import { useEffect, useState } from 'preact/hooks';

/** The width up to which the styles lay things out for a phone. */
const narrow = matchMedia('(max-width: 720px)');

/** Whether the page is as narrow as a phone; follows when it is turned. */
export function useNarrow(): boolean {
  const [is, setIs] = useState(narrow.matches);
  useEffect(() => {
    const listener = (): void => setIs(narrow.matches);
    narrow.addEventListener('change', listener);
    return () => narrow.removeEventListener('change', listener);
  }, []);
  return is;
}
