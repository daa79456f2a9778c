/** The files that a generator makes: path from the repository's root → content. */
export type GeneratedFiles = ReadonlyMap<string, string>;

/** Makes files from the sources; `root` is the repository. Writes nothing itself, so that one run can compare and another write. */
export type Generator = (root: string) => Promise<GeneratedFiles> | GeneratedFiles;
