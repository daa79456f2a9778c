/** Of the header of a 64-bit ELF file: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html */
const HEADER = {
  programHeaders: 32,
  sectionHeaders: 40,
  entrySize: 54,
  entries: 56,
  sectionCount: 60,
  sectionNames: 62,
};
const SEGMENT = { type: 0, offset: 8, fileSize: 32 };
const LOADED = 1;
const MAGIC = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);

/**
 * A program without what only debuggers read: sections after the parts that are loaded to memory, and the list of sections. The programs `strip` of binutils
 * do the same, but each for one architecture only.
 * @param program a 64-bit little-endian ELF file; changed
 * @throws {Error} if it is another file
 */
export function stripped(program: Buffer): Buffer {
  if (!program.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error('the program is not a 64-bit ELF file');
  const first = Number(program.readBigUInt64LE(HEADER.programHeaders));
  const size = program.readUInt16LE(HEADER.entrySize);
  const count = program.readUInt16LE(HEADER.entries);
  let end = first + size * count;
  for (let at = first; at < first + size * count; at += size) {
    if (program.readUInt32LE(at + SEGMENT.type) !== LOADED) continue;
    const offset = Number(program.readBigUInt64LE(at + SEGMENT.offset));
    end = Math.max(end, offset + Number(program.readBigUInt64LE(at + SEGMENT.fileSize)));
  }
  program.writeBigUInt64LE(0n, HEADER.sectionHeaders);
  program.writeUInt16LE(0, HEADER.sectionCount);
  program.writeUInt16LE(0, HEADER.sectionNames);
  return program.subarray(0, end);
}
