import { request as httpRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';

export interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** One request on a connection of its own; rejects where none comes about. */
export function fetchOnce(options: RequestOptions, secure = false): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)({ agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() });
      });
    });
    request.on('error', reject);
    request.end();
  });
}
