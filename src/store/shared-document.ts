/** A text with the version that a write must be based on. */
export interface SharedText {
  /** Empty for a document that was never written. */
  readonly text: string;
  readonly version: string;
}

/** One text that several processes share, such as a ConfigMap. Each call ends within a time-out or when `signal` aborts. */
export interface SharedDocument {
  /** @throws {StoreError} not-found, forbidden, unavailable */
  read(signal: AbortSignal): Promise<SharedText>;
  /**
   * Replaces the text.
   * @param version of the text that the new one is based on
   * @throws {StoreError} conflict if the document has another version now; invalid if it is too large; not-found, forbidden, unavailable
   */
  write(text: string, version: string, signal: AbortSignal): Promise<void>;
}
