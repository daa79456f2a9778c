/**
 * The known name closest to `name`, for "did you mean" messages.
 * @returns undefined when more than a third of the letters (but at least one) differ
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase();
  // The edit distance takes quadratic time, and a longer text is not a misspelt name.
  if (wanted.length > 128) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein's distance with a single row of memory; `limit` where it is not below that. */
function editDistance(a: string, b: string, limit: number): number {
  const row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0] ?? 0;
    row[0] = i;
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j] ?? 0;
      const substitution = diagonal + (a[i - 1] === b[j - 1] ? 0 : 1);
      const distance = Math.min(above + 1, (row[j - 1] ?? 0) + 1, substitution);
      row[j] = distance;
      least = Math.min(least, distance);
      diagonal = above;
    }
    // No distance is below the least of any row.
    if (least >= limit) return limit;
  }
  return row[b.length] ?? 0;
}
