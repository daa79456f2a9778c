/** Generated files: content by path from the root of the repository. */
export type GeneratedFiles = ReadonlyMap<string, string>;

/** Generates files from the sources. `root` is the repository. The caller writes or compares them. */
export type Generator = (root: string) => Promise<GeneratedFiles> | GeneratedFiles;
