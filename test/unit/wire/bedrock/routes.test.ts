import { describe, expect, it } from 'vitest';
import { normalPath } from '../../../../src/wire/routes.js';
import { bedrockRoute } from '../../../../src/wire/bedrock/routes.js';
import { cases, WHERE } from '../handed.js';

const BODY = Buffer.from(JSON.stringify({ messages: [], prompt: '' }));

/** What a path tells. */
function toldBy(path: string): { api: string; model: string; stream: boolean } | null {
  const api = bedrockRoute(normalPath(path));
  const parsed = api?.parseRequest(BODY);
  if (api === null || parsed?.ok !== true) return null;
  const { model, stream } = parsed.facts;
  return { api: api.api, model, stream };
}

describe('the paths of Bedrock', () => {
  it.each([
    ['converse', 'bedrock-converse', false],
    ['converse-stream', 'bedrock-converse', true],
    ['invoke', 'bedrock-invoke', false],
    ['invoke-with-response-stream', 'bedrock-invoke', true],
  ])('%s', (call, api, stream) => {
    expect(toldBy(`/model/amazon.nova-lite-v1:0/${call}`)).toEqual({ api, stream, model: 'amazon.nova-lite-v1:0' });
  });

  it.each(['/model/m/count-tokens', '/model/m/invoke-with-bidirectional-stream', '/model/converse', '/model//converse', '/model/', '/models/m/converse', '/model/m/Converse', '/x/model/m/invoke', '/async-invoke', ''])(
    'does not know %s',
    (path) => {
      expect(bedrockRoute(normalPath(path))).toBeNull();
    },
  );

  it('take a model that is called like a call', () => {
    expect(toldBy('/model/invoke/converse')).toEqual({ api: 'bedrock-converse', model: 'invoke', stream: false });
  });

  it('read an ARN however often it was escaped: all spellings are one bucket', () => {
    const arn = 'arn:aws:bedrock:us-east-1:000000000000:application-inference-profile/abc123';
    const once = encodeURIComponent(arn);
    const twice = encodeURIComponent(once);
    for (const name of [arn, once, once.toLowerCase(), twice, encodeURIComponent(twice), arn.replaceAll(':', '%3A'), arn.replace('/', '%2F')]) {
      expect(toldBy(`/model/${name}/converse`)?.model, name).toBe(arn);
    }
  });

  it('keep a percent sign that is no escape, and take no time for very many', () => {
    expect(toldBy('/model/a%zz/converse')?.model).toBe('a%zz');
    expect(bedrockRoute(normalPath(`/model/${'%25'.repeat(20_000)}/converse`))).not.toBeNull();
  });
});

describe.skipIf(cases === null)(`faults that users reported: Bedrock's paths${WHERE}`, () => {
  it('vercel/ai#14117: an ARN, encoded and not', () => {
    const { input, expected } = cases?.get('vercel/ai#14117') as unknown as { input: { paths: string[] }; expected: { models: string[]; streaming: boolean[] } };
    const told = input.paths.map(toldBy);
    expect(told.map((one) => one?.model)).toEqual(expected.models);
    expect(told.map((one) => one?.stream)).toEqual(expected.streaming);
  });
});
