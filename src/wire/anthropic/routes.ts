import type { WireApi } from '../../domain/wire.js';
import { anthropicMessages } from './messages.js';

/** The API at a path in its normal form, without a gateway's prefix; null for a path that is not Anthropic's. */
export function anthropicRoute(path: string): WireApi | null {
  return path === '/v1/messages' || path === '/messages' ? anthropicMessages : null;
}
