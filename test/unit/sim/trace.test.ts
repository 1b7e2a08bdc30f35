import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { assignedRows } from '../../../src/sim/trace-assignment.js';
import { readTrace, type TraceRow } from '../../../src/sim/trace.js';
import { specOf } from './spec-of.js';

const SHARED = new URL('../../../../shared/traces/', import.meta.url);
const handed = (name: string): string | null => {
  const path = fileURLToPath(new URL(name, SHARED));
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
};

describe('a trace', () => {
  it('of Azure: times with fractions, from the first request on', () => {
    const text = 'TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109\r\n';
    const { format, rows } = readTrace(text, 0);
    expect(format).toBe('azure');
    expect(rows.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens])).toEqual([[374, 44], [396, 109]]);
    expect(rows[0]!.atMs).toBe(0);
    expect(rows[1]!.atMs).toBeCloseTo(4314.579, 2);
  });

  it('of Azure: columns by name, wherever they stand', () => {
    const { rows } = readTrace('TIMESTAMP,Kind,GeneratedTokens,ContextTokens\n2023-11-16 18:15:46,x,1,2\n', 0);
    expect(rows[0]).toMatchObject({ promptTokens: 2, outputTokens: 1 });
  });

  it('of Azure: lines without anything before the header are none', () => {
    expect(readTrace('\n\nTIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,2,1\n', 0).rows).toHaveLength(1);
    expect(() => readTrace('\nTIMESTAMP,ContextTokens\n2023-11-16 18:15:46,2\n', 0)).toThrow('line 2: the columns');
    expect(() => readTrace('\nTIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,2,x\n', 0)).toThrow('line 3: a number');
  });

  it('can be played: no request of more tokens than any has, no more than a year', () => {
    const azure = (...rows: readonly string[]): string => ['TIMESTAMP,ContextTokens,GeneratedTokens', ...rows].join('\n');
    expect(() => readTrace(azure('2023-11-16 18:15:46,1e300,1'), 0)).toThrow('line 2: more than 10000000 tokens');
    expect(() => readTrace(azure('0001-01-01 00:00:00,10,5', '2023-11-16 18:15:46,10,5'), 0)).toThrow('more than a year');
    expect(readTrace(azure('2023-01-01 00:00:00,10,5', '2023-12-31 18:15:46,10,5'), 0).rows).toHaveLength(2);
    expect(readTrace('{"timestamp":0,"input_length":0,"output_length":1,"hash_ids":[]}', 0).rows[0]).toMatchObject({ promptTokens: 0, cachedTokens: 0 });
  });

  const mooncake = (rows: readonly (readonly [number, number, number, readonly number[]])[]): string =>
    rows.map(([timestamp, input_length, output_length, hash_ids]) => JSON.stringify({ timestamp, input_length, output_length, hash_ids })).join('\n');

  it('of Mooncake: equal beginnings are cached, where there is a cache', () => {
    const text = mooncake([[0, 1100, 5, [0, 1, 2]], [10, 1200, 5, [0, 1, 3]], [20, 1024, 5, [0, 1]]]);
    expect(readTrace(text, 100_000).rows.map((row) => row.cachedTokens)).toEqual([0, 1024, 1023]);
    expect(readTrace(text, 0).rows.map((row) => row.cachedTokens)).toEqual([0, 0, 0]);
    // Room for three blocks: the third request finds what the second used last.
    expect(readTrace(text, 3 * 512).rows.map((row) => row.cachedTokens)).toEqual([0, 1024, 1023]);
    expect(readTrace(mooncake([[0, 1100, 5, [0, 1, 2]], [10, 1500, 5, [7, 8, 9]], [20, 1100, 5, [0, 1, 2]]]), 3 * 512).rows[2]!.cachedTokens).toBe(0);
  });

  it('of Mooncake: requests that share a beginning are one session; the first block alone is none', () => {
    const text = mooncake([[0, 1100, 5, [0, 1, 2]], [10, 900, 5, [0, 4]], [20, 1600, 5, [0, 1, 2, 5]], [30, 1800, 5, [0, 4, 6]]]);
    const sessions = readTrace(text, 0).rows.map(({ session }) => session);
    expect(sessions[0]).toBe(sessions[2]);
    expect(sessions[1]).toBe(sessions[3]);
    expect(sessions[0]).not.toBe(sessions[1]);
  });

  it('of our own ledger: tenants and sessions as booked, in order of start; corrections and what was never served are passed over', () => {
    const event = (fields: object): string => JSON.stringify({ leaseId: 'l', outcome: 'completed', corrects: false, cachedInputTokens: 0, session: null, ...fields });
    const text = [
      event({ tenantId: 'b', startedAtMs: 5000, inputTokens: 20, outputTokens: 7, session: 's' }),
      event({ tenantId: 'a', startedAtMs: 4000, inputTokens: 100, cachedInputTokens: 60, outputTokens: 0 }),
      event({ tenantId: 'a', startedAtMs: 6000, inputTokens: -5, outputTokens: 3, corrects: true }),
      event({ tenantId: 'a', startedAtMs: 6000, inputTokens: 0, outputTokens: 0, outcome: 'local_reply' }),
      '{"leaseId": "torn',
    ].join('\n');
    const { format, rows, passedOver } = readTrace(text, 0);
    expect([format, passedOver]).toEqual(['ledger', 3]);
    expect(rows).toEqual([
      { atMs: 0, promptTokens: 100, cachedTokens: 60, outputTokens: 1, session: null, tenant: 'a' },
      { atMs: 1000, promptTokens: 20, cachedTokens: 0, outputTokens: 7, session: 0, tenant: 'b' },
    ]);
  });

  it.each([
    ['', 'the trace is empty'],
    ['hello\n', 'line 1: neither'],
    ['TIMESTAMP,ContextTokens\n', 'line 1: the columns'],
    ['TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,12,x\n', 'line 2: a number'],
    ['TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,12,3\n', 'line 2: the time'],
    ['TIMESTAMP,ContextTokens,GeneratedTokens\n', 'no request'],
    ['{"input_length": 5}\n', 'line 1: a number'],
    ['{"timestamp":0,"input_length":5,"output_length":1}\n[1]\n', 'line 2: not a JSON object'],
  ])('that cannot be read says where: %j', (text, message) => {
    expect(() => readTrace(text, 0)).toThrow(message);
  });

  it.skipIf(handed('AzureLLMInferenceTrace_conv.csv') === null)('handed ones are read to the last row', () => {
    const azure = readTrace(handed('AzureLLMInferenceTrace_conv.csv')!, 0);
    expect([azure.format, azure.rows.length]).toEqual(['azure', 19_366]);
    const conversations = readTrace(handed('mooncake_conversation_trace.jsonl')!, 1e9);
    expect([conversations.format, conversations.rows.length]).toEqual(['mooncake', 12_031]);
    expect(conversations.rows.every(({ cachedTokens, promptTokens }) => cachedTokens < promptTokens)).toBe(true);
  });
});

describe('rows of a trace', () => {
  const row = (fields: Partial<TraceRow>): TraceRow => ({ atMs: 0, promptTokens: 10, cachedTokens: 0, outputTokens: 10, session: null, tenant: null, ...fields });
  const spec = (rows: readonly TraceRow[], rateFactor = 1) =>
    specOf({ trace: rows, rateFactor, tenants: [{ id: 'a', arrivals: { kind: 'trace', weight: 3 } }, { id: 'b', arrivals: { kind: 'trace', weight: 1 } }, { id: 'c' }] });

  it('go to the tenant that they name, else by weight; a session stays with one', () => {
    const rows = [row({ tenant: 'b' }), row({ tenant: 'a' }), ...Array.from({ length: 4000 }, (_, i) => row({ tenant: 'nobody', session: i % 2 === 0 ? i : i - 1 }))];
    const assigned = assignedRows(spec(rows));
    expect(assigned.slice(0, 2).map(({ tenant }) => tenant)).toEqual([1, 0]);
    const rest = assigned.slice(2).map(({ tenant }) => tenant);
    expect(rest.every((tenant, i) => tenant === rest[i - (i % 2)])).toBe(true);
    expect(Math.abs(rest.filter((tenant) => tenant === 0).length / 4000 - 0.75)).toBeLessThan(0.04);
  });

  it('come faster by the rate factor', () => {
    expect(assignedRows(spec([row({}), row({ atMs: 9000 })], 3)).map(({ atMs }) => atMs)).toEqual([0, 3000]);
  });
});
