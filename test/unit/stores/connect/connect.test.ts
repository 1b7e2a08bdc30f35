import { describe, expect, test } from 'vitest';
import type { RedisAddress } from '../../../../src/domain/store-settings.js';
import { backoff } from '../../../../src/stores/connect/backoff.js';
import { clusterOptions, redisOptions } from '../../../../src/stores/connect/client-options.js';
import { faultText, StoreConnectError } from '../../../../src/stores/connect/connect-error.js';

const ADDRESS: RedisAddress = {
  kind: 'redis',
  topology: { kind: 'standalone' },
  nodes: [{ host: 'h1', port: 1 }],
  database: 3,
  login: { username: 'ann', password: 'pw' },
  tls: null,
};
const TLS = { caFile: null, certFile: null, keyFile: null, serverName: null, acceptAnyCertificate: false };
const half = (): number => 0.5;

test('attempts come ever later, never later than two seconds, and not all at one moment', () => {
  const early = backoff(() => 0);
  const late = backoff(() => 0.999_999);
  expect([1, 2, 3, 4, 5, 6, 7, 50].map((attempt) => [early(attempt), late(attempt)])).toEqual([
    [25, 50],
    [50, 100],
    [100, 200],
    [200, 400],
    [400, 800],
    [800, 1_600],
    [1_000, 2_000],
    [1_000, 2_000],
  ]);
});

describe('options of the client', () => {
  test('nothing waits in a queue and nothing is sent twice, in every topology', () => {
    const sentinel: RedisAddress = { ...ADDRESS, topology: { kind: 'sentinel', masterName: 'main', login: null } };
    const single = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: 2_000, socketTimeout: 2_500 };
    for (const address of [ADDRESS, sentinel]) expect(redisOptions(address, half)).toMatchObject({ ...single, enableOfflineQueue: false });
    expect(clusterOptions({ ...ADDRESS, topology: { kind: 'cluster' } }, half)).toMatchObject({ enableOfflineQueue: false, redisOptions: single });
  });

  test('a single server', () => {
    const options = redisOptions(ADDRESS, half);
    expect(options).toMatchObject({ host: 'h1', port: 1, db: 3, username: 'ann', password: 'pw' });
    expect(options.sentinels).toBeUndefined();
    expect(options.tls).toBeUndefined();
  });

  test('Sentinels have logins of their own, and TLS as the servers have', () => {
    const login = { username: null, password: 'other' };
    const address: RedisAddress = { ...ADDRESS, topology: { kind: 'sentinel', masterName: 'main', login }, tls: TLS };
    const options = redisOptions(address, half);
    expect(options).toMatchObject({ name: 'main', sentinels: [{ host: 'h1', port: 1 }], password: 'pw', sentinelPassword: 'other', enableTLSForSentinelMode: true });
    expect(options.sentinelTLS).toBe(options.tls);
    expect(options.host).toBeUndefined();
  });

  test('a certificate is always looked at, unless any is accepted', () => {
    expect(redisOptions({ ...ADDRESS, tls: TLS }, half).tls).toEqual({ minVersion: 'TLSv1.2', rejectUnauthorized: true });
    expect(redisOptions({ ...ADDRESS, tls: { ...TLS, acceptAnyCertificate: true, serverName: 'n' } }, half).tls).toMatchObject({ rejectUnauthorized: false, servername: 'n' });
    expect(() => redisOptions({ ...ADDRESS, tls: { ...TLS, caFile: '/no/such/ca.crt' } }, half)).toThrow(new StoreConnectError("The store's TLS file /no/such/ca.crt can't be read (ENOENT)."));
  });

  test('only what tells of a fail-over makes a new connection', () => {
    const { reconnectOnError } = redisOptions(ADDRESS, half);
    const answers = ['READONLY You can’t write against a read only replica.', 'WRONGTYPE Operation', 'OOM command not allowed'].map((text) => reconnectOnError?.(new Error(text)));
    expect(answers).toEqual([true, false, false]);
  });
});

describe('what is told of a fault', () => {
  test('has no password in it, wherever that stood', () => {
    const refused = Object.assign(new Error('ERR invalid password pw-1 for ann'), { command: { name: 'auth', args: ['ann', 'pw-1'] } });
    expect(faultText(refused, ['pw-1', ''])).toBe('ERR invalid password *** for ann');
    expect(faultText(new Error('x'.repeat(10_000)), [])).toHaveLength(200);
  });

  test('is the innermost where several addresses were tried', () => {
    expect(faultText(new AggregateError([new Error('first'), new Error('connect ECONNREFUSED ::1:6379')]), [])).toBe('connect ECONNREFUSED ::1:6379');
    expect(faultText(Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: new Error('NOAUTH') }), [])).toBe('Failed to refresh slots cache.: NOAUTH');
    expect(faultText('text', [])).toBe('unknown fault');
  });
});
