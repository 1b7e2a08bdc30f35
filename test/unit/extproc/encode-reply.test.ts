import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeReply } from '../../../src/extproc/encode-reply.js';
import { externalProcessorService, type Reply } from '../../../src/extproc/protocol.js';
import { bodyReply, duplexChunk, headersReply, immediateReply, trailersReply, withMetadata, withWholeAnswer } from '../../../src/extproc/replies.js';
import { toMetadata } from '../../../src/extproc/struct.js';

const { responseSerialize, responseDeserialize } = externalProcessorService().Process;

const phase = fc.constantFrom('request' as const, 'response' as const);
const text = fc.string({ unit: 'grapheme', maxLength: 300 });
const edits = fc.record({ set: fc.array(fc.tuple(text, text), { maxLength: 12 }), remove: fc.array(text, { maxLength: 5 }) });
const body = fc.uint8Array({ maxLength: 20_000 }).map((bytes) => Buffer.from(bytes));
const facts = fc.dictionary(text, fc.oneof(text, fc.double({ noNaN: true }), fc.boolean()), { maxKeys: 12, noNullPrototype: true });
const reply = fc.oneof(
  fc.tuple(phase, edits).map(([of, some]) => headersReply(of, some)),
  edits.map((some) => withWholeAnswer(headersReply('response', some))),
  fc.tuple(phase, fc.option(body), fc.option(edits)).map(([of, bytes, some]) => bodyReply(of, bytes, some)),
  fc.tuple(phase, body, fc.boolean()).map(([of, bytes, end]) => duplexChunk(of, bytes, end)),
  phase.map(trailersReply),
);

describe('encoding of replies', () => {
  it('says what the general encoder says', () => {
    fc.assert(
      fc.property(reply, fc.option(facts), (plain, some) => {
        const whole: Reply = some === null ? plain : withMetadata(plain, toMetadata('tokenweir', some));
        const bytes = encodeReply(whole);
        expect(bytes).not.toBeNull();
        expect(responseDeserialize(bytes!)).toEqual(responseDeserialize(responseSerialize(whole)));
      }),
    );
  });

  it('leaves to the general encoder what it does not know, instead of dropping it', () => {
    const others: Reply[] = [
      immediateReply({ status: 429, headers: [], body: '{}' }),
      bodyReply('response', Buffer.alloc(100_000)),
      { request_headers: { response: { clear_route_cache: true } } },
      { request_headers: {}, mode_override: { response_body_mode: 'NONE' } },
      { request_trailers: { header_mutation: { remove_headers: ['x'] } } },
      { request_headers: { response: { header_mutation: { set_headers: [{ header: { key: 'a', value: 'b' } }] } } } },
    ];
    for (const other of others) expect(encodeReply(other)).toBeNull();
  });
});
