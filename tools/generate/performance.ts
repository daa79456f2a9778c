import { performanceFiles } from '../../bench/document.ts';
import type { Generator } from './generator.ts';

/** `docs/performance.md` and its pictures from `bench/results.json`, which `make bench` writes. */
export const generatePerformance: Generator = (root) => performanceFiles(root);
