import { useEffect, useState } from 'preact/hooks';

/** The value once it has not changed for a while, so that a request is not sent for each key press. */
export function useSettled<T>(value: T, ms = 400): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
