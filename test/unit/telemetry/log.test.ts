import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../../src/domain/decision.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { Log, type LogFields, type LogLevel } from '../../../src/telemetry/log.js';
import { record } from './records.js';

function logTo(level: LogLevel = 'debug') {
  const chunks: string[] = [];
  const clock = new VirtualClock(Date.UTC(2025, 0, 2, 3, 4, 5));
  const log = new Log({ level, clock, destination: { write: (line) => chunks.push(line) } });
  const lines = (): Record<string, unknown>[] => chunks.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, clock, lines, text: () => chunks.join('') };
}

describe('the line of a request (point 8)', () => {
  it('tells ids, figures, decision and durations', () => {
    const { log, lines } = logTo();
    log.request(record({ traceParent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01` }));
    expect(lines()).toEqual([
      {
        level: 'info',
        time: '2025-01-02T03:04:05.000Z',
        msg: 'request',
        requestId: 'req-1',
        envoyRequestId: null,
        leaseId: 'req-1',
        traceId: 'ab'.repeat(16),
        tenant: 'acme',
        keyId: '0123456789abcdef',
        api: 'openai-chat',
        model: 'gpt-4.1',
        stream: true,
        session: null,
        mergeKey: null,
        retry: null,
        work: 'interactive',
        decision: 'admitted',
        reason: 'none',
        status: 200,
        outcome: 'completed',
        estimatedInputTokens: 790,
        estimateErrorShare: 0.25,
        reservedOutputTokens: 256,
        inputTokens: 800,
        cachedInputTokens: 300,
        outputTokens: 200,
        reasoningTokens: 50,
        estimated: false,
        decisionMs: 0.412,
        firstTokenMs: 120,
        totalMs: 900,
      },
    ]);
  });

  it('tells which limit refused, and how long the wait is', () => {
    const { log, lines } = logTo();
    log.request(
      record({
        decision: 'refused',
        reason: 'tokens_per_minute',
        usage: null,
        refusal: {
          kind: 'limited',
          requestId: 'req-1',
          message: 'too much',
          limit: 'tokens_per_minute',
          scope: { kind: 'parent', id: 'corp' },
          limitValue: 6_000,
          used: 5_900,
          needed: 800,
          retryAfterMs: 7_000,
          exact: true,
        },
      }),
    );
    expect(lines()[0]).toMatchObject({ limit: 'tokens_per_minute', scope: 'parent:corp', retryAfterMs: 7_000, inputTokens: null });
  });

  it('tells how long a request was held or why its pool refused it, with the factors that decided; else only where it ran (issue 6, point 7)', () => {
    const { log, lines } = logTo();
    const factors = {
      entitlementId: 'corp', serviceClass: 'elastic', tier: 1, weight: 15.5, sloFactor: 2, burstFactor: 0.5, debtFactor: 1.55, debtTokens: 2_200.12345,
      servedTokensPerSecond: 33, virtualTime: 1_234, waiting: 17,
    } as const;
    const explained = {
      pool: 'chat', entitlement: 'corp', serviceClass: 'elastic', tier: 1, poolWaiting: 17, weight: 15.5, sloFactor: 2, burstFactor: 0.5, debtFactor: 1.55, debtTokens: 2_200.123,
      servedTokensPerSecond: 33, virtualTime: 1_234,
    };
    log.request(record({ pool: { poolId: 'chat', waitedMs: 1_500, factors } }));
    log.request(record({ pool: { poolId: 'chat', waitedMs: 0, factors }, decision: 'refused', reason: 'pool_busy', usage: null }));
    log.request(record({ pool: { poolId: 'chat', waitedMs: 0, factors } }));
    expect(lines()[0]).toMatchObject({ ...explained, poolWaitedMs: 1_500 });
    expect(lines()[1]).toMatchObject({ ...explained, poolWaitedMs: 0, reason: 'pool_busy' });
    expect(lines()[2]).toMatchObject({ pool: 'chat', poolWaitedMs: 0, entitlement: 'corp', tier: 1 });
    expect(lines()[2]).not.toHaveProperty('weight');
  });

  it('stays one short line whatever a client names its model or request', () => {
    const { log, text } = logTo();
    log.request(record({ model: `m\n{"level":"error"}${'x'.repeat(1_000_000)}`, requestId: `r\r\n${'y'.repeat(1_000_000)}` }));
    expect(text().trimEnd().split('\n')).toHaveLength(1);
    expect(text().length).toBeLessThan(1_500);
  });

  it('is not written above level info, and the level can change at run time', () => {
    const { log, lines } = logTo('warn');
    log.request(record());
    expect(lines()).toHaveLength(0);
    log.setLevel('info');
    log.request(record());
    expect(lines()).toHaveLength(1);
  });
});

const secret = fc.stringMatching(/^[A-Za-z0-9_-]{24,64}$/);

describe('no secret and no content in the log', () => {
  it('a key under any usual name never appears', () => {
    const names = ['authorization', 'x-api-key', 'api-key', 'apiKey', 'adminToken', 'cookie', 'key', 'password'];
    fc.assert(
      fc.property(secret, fc.constantFrom(...names), (key, name) => {
        const { log, text } = logTo();
        log.info('config', { [name]: key });
        log.info(`calling with ${name}: ${key} failed`);
        log.error('failed', new Error(`upstream said {"${name}": "${key}"} is wrong`));
        log.fault('reload', new Error(`header Authorization: Bearer ${key}`));
        log.warn(`redis://user:${key}@host:6379/0 is away`);
        log.warn(`sk-${key}1 is no tenant`);
        expect(text()).not.toContain(key);
        expect(text().split('\n')).toHaveLength(7);
      }),
    );
  });

  it('extra fields of a record or objects that slip in are not written', () => {
    fc.assert(
      fc.property(secret, (key) => {
        const { log, text } = logTo();
        const headers = { authorization: `Bearer ${key}`, deep: [{ 'x-api-key': key }] };
        log.request({ ...record(), headers, body: key } as RequestRecord);
        log.info('with headers', { headers } as unknown as LogFields);
        log.fault('settle', Object.assign(new Error('refused'), { headers, cause: new Error(key) }));
        log.fault('session', { key });
        log.fault('response_unreadable', key);
        expect(text()).not.toContain(key);
      }),
    );
  });

  it('the message of an error that arose from traffic is left out, its place in the code is not', () => {
    fc.assert(
      fc.property(secret, (content) => {
        const { log, text, lines } = logTo();
        const forged = `${content}\n    at ${content} (file:///x.js:1:1)`;
        log.fault('session', new TypeError(forged));
        log.error('failed', jsonError(content));
        expect(text()).not.toContain(content);
        expect(lines()[0]).toMatchObject({ level: 'warn', kind: 'session', error: 'TypeError', message: null });
        expect(String(lines()[0]?.['at'])).toContain('log.test');
      }),
    );
  });

  it('an operator’s fault is told with its message and code', () => {
    const { log, lines } = logTo();
    log.fault('settle', Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' }));
    expect(lines()[0]).toMatchObject({ kind: 'settle', message: 'connect refused', code: 'ECONNREFUSED', suppressed: 0 });
  });
});

function jsonError(content: string): unknown {
  try {
    return JSON.parse(`?${content}`);
  } catch (error) {
    return error;
  }
}
