/** The processor that everything is compared with, as a process of its own: `node noop.js PORT`. Answers each message and does nothing. */
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { externalProcessorService, type EnvoyMessage, type Reply } from '../../src/extproc/protocol.js';

type Call = ServerDuplexStream<EnvoyMessage, Reply>;

const CONTINUE: Readonly<Record<string, Reply>> = Object.fromEntries(
  ['request_headers', 'response_headers', 'request_body', 'response_body', 'request_trailers', 'response_trailers'].map((kind) => [kind, { [kind]: {} }]),
);

function process_(call: Call): void {
  let duplex = false;
  call.on('data', (message: EnvoyMessage) => {
    if (message.protocol_config) duplex = message.protocol_config.response_body_mode === 'FULL_DUPLEX_STREAMED';
    const kind = message.request ?? 'request_headers';
    const body = message.request_body ?? message.response_body;
    if (!duplex || !body) call.write(CONTINUE[kind]!);
    else if (body.body.length > 0 || body.end_of_stream) {
      const streamed_response = { body: body.body, end_of_stream: body.end_of_stream };
      call.write({ [kind]: { response: { body_mutation: { streamed_response } } } });
    }
  });
  call.on('end', () => call.end());
  call.on('error', () => undefined);
}

const server = new Server({ 'grpc.max_receive_message_length': 64 * 1024 * 1024, 'grpc.max_send_message_length': -1 });
server.addService(externalProcessorService(), { Process: process_ });
new HealthImplementation({ '': 'SERVING' }).addToServer(server);
server.bindAsync(`127.0.0.1:${process.argv[2]}`, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error;
});
// An orderly end, so that profiles get written.
process.on('SIGTERM', () => process.exit());
