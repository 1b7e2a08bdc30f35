import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { tellUnhandled } from '../../src/serve.js';

describe('a promise that failed and that nobody waited for', () => {
  it('is told, and no longer once the processor stopped', () => {
    const process = new EventEmitter();
    const told: unknown[] = [];
    const stop = tellUnhandled(process, { unhandled: (error) => told.push(error) });
    const error = new Error('bug');
    process.emit('unhandledRejection', error, Promise.resolve());
    expect(told).toEqual([error]);
    stop();
    process.emit('unhandledRejection', error, Promise.resolve());
    expect(told).toHaveLength(1);
  });
});
