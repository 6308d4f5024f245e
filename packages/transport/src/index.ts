export {
  type IngressResponse,
  InProcessTransport,
  isStream,
  type ListenerKind,
  type Peer,
  type RequestBytes,
  type RequestMessage,
  type ResponseBody,
} from './in-process-transport.ts'

export {
  abortable,
  type IncomingBody,
  type IncomingResponse,
  type InterimListener,
  joinUrl,
  type OutgoingRequest,
  type Transport,
  unixSocketPath,
  unixUrl,
} from './transport.ts'
