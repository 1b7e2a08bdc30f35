import { setTimeout as delay } from 'node:timers/promises';
import type { Store } from '../../src/domain/store.js';
import { createMemoryStore } from '../../src/stores/memory.js';

/** A store whose reservations take a while. */
export function slowStore(reserveMs: number): Store {
  const store = createMemoryStore();
  const reserve = store.reserve.bind(store);
  store.reserve = async (request) => {
    await delay(reserveMs);
    return reserve(request);
  };
  return store;
}
