/** The part of the file descriptors that is left for engine, stores, files and probes. */
const RESERVED_PART = 0.5;

/**
 * @param wanted the setting
 * @param descriptors that the process may open; by default its soft limit, which Node.js raises to the hard limit when it starts
 * @returns the connections that may be open at the same time, at least 1
 */
export function connectionsWithin(wanted: number, descriptors = descriptorLimit()): number {
  return Math.max(1, Math.min(wanted, Math.floor(descriptors * (1 - RESERVED_PART))));
}

/** `Infinity` where there is no limit, or where the system has none, such as Windows. */
function descriptorLimit(): number {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  // Otherwise the report looks up the names of all addresses of the machine.
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as unknown as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}
