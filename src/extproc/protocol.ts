import { fileURLToPath } from 'node:url';
import { loadPackageDefinition, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync, type Options } from '@grpc/proto-loader';
import type { ProtoGrpcType } from './generated/external_processor.js';
import type { ProcessingRequest__Output } from './generated/envoy/service/ext_proc/v3/ProcessingRequest.js';
import type { ProcessingResponse } from './generated/envoy/service/ext_proc/v3/ProcessingResponse.js';
import type { ExternalProcessorDefinition } from './generated/envoy/service/ext_proc/v3/ExternalProcessor.js';

export type { ProcessingRequest__Output as EnvoyMessage } from './generated/envoy/service/ext_proc/v3/ProcessingRequest.js';
export type { ProcessingResponse as Reply } from './generated/envoy/service/ext_proc/v3/ProcessingResponse.js';
export type { HeaderMap__Output as HeaderMap } from './generated/envoy/config/core/v3/HeaderMap.js';
export type { Struct, Struct__Output } from './generated/google/protobuf/Struct.js';
export type { Value, Value__Output } from './generated/google/protobuf/Value.js';
export type { ProcessingRequest__Output, ProcessingResponse };

const PROTO_ROOT = fileURLToPath(new URL('../../proto', import.meta.url));

/** How messages are turned into objects; the committed types are generated with the same (npm run proto). */
export const LOADER_OPTIONS: Options = {
  keepCase: true,
  longs: Number,
  enums: String,
  // Without defaults an empty body chunk has no `body` field at all.
  defaults: true,
  oneofs: true,
  includeDirs: [PROTO_ROOT],
};

/** The service as @grpc/grpc-js wants it. Reads the .proto files that ship with the package. */
export function externalProcessorService(): ServiceDefinition & ExternalProcessorDefinition {
  const definition = loadSync('envoy/service/ext_proc/v3/external_processor.proto', LOADER_OPTIONS);
  const types = loadPackageDefinition(definition) as unknown as ProtoGrpcType;
  return types.envoy.service.ext_proc.v3.ExternalProcessor.service as ServiceDefinition & ExternalProcessorDefinition;
}
