// Original file: proto/envoy/service/ext_proc/v3/external_processor.proto

import type { HeaderMap as _envoy_config_core_v3_HeaderMap, HeaderMap__Output as _envoy_config_core_v3_HeaderMap__Output } from '../../../../envoy/config/core/v3/HeaderMap';

export interface HttpHeaders {
  'headers'?: (_envoy_config_core_v3_HeaderMap | null);
  'end_of_stream'?: (boolean);
}

export interface HttpHeaders__Output {
  'headers': (_envoy_config_core_v3_HeaderMap__Output | null);
  'end_of_stream': (boolean);
}
