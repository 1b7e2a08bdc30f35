import { describe, expect, it } from 'vitest';
import { GENERATED, generateAfresh, readTree, treeProblems } from './generated.js';
import { cycleProblems, deadFileProblems, ioImportProblems, layerProblems, unresolvedProblems } from './layers.js';
import { loadSources } from './sources.js';
import { fileLengthProblems, functionLengthProblems, impurityProblems, typeEscapeProblems } from './style.js';

/** Where a run begins; every other file must be reached from one of these. */
const ENTRIES = [
  'src/main.ts',
  // Run by `npm run docs`.
  'src/config/generate-docs.ts',
  // A program of its own: the model server that the demo and the tests start.
  'src/upstream/cli.ts',
  // Virtual time for the tests.
  'src/lib/virtual-clock.ts',
  // Hashes of prompts' beginnings: placement will begin with them.
  'src/estimate/prefix-blocks.ts',
];

describe('the sources keep the rules of CONTRIBUTING.md', () => {
  const sources = loadSources();

  it('import only lower layers', () => {
    expect(layerProblems(sources)).toEqual([]);
  });

  it('import files that exist', () => {
    expect(unresolvedProblems(sources)).toEqual([]);
  });

  it('import no I/O below the shells', () => {
    expect(ioImportProblems(sources)).toEqual([]);
  });

  it('read no clock, chance or global I/O below the shells', () => {
    expect(impurityProblems(sources)).toEqual([]);
  });

  it('have no import cycle', () => {
    expect(cycleProblems(sources)).toEqual([]);
  });

  it('have no dead file', () => {
    expect(deadFileProblems(sources, ENTRIES)).toEqual([]);
  });

  it('have no file that is too long', () => {
    expect(fileLengthProblems(sources)).toEqual([]);
  });

  it('have no function that is too long', () => {
    expect(functionLengthProblems(sources)).toEqual([]);
  });

  it('have no any and no switched-off compiler', () => {
    expect(typeEscapeProblems(sources)).toEqual([]);
  });

  it('have gRPC types equal to a fresh generation', () => {
    const fresh = generateAfresh();
    expect(fresh.size).toBeGreaterThan(10);
    expect(treeProblems(readTree(GENERATED), fresh)).toEqual([]);
  });
});
