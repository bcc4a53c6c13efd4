import CGStreamer
import Synchronization

/// A report of a pipeline about itself.
public enum BusEvent: Hashable, Sendable {
    /// A failure after which the pipeline, or the part around `source`, does not continue.
    case error(BusFailure)
    /// A problem that does not stop the pipeline.
    case warning(BusFailure)
    /// The end of the stream, reached by every sink.
    case endOfStream
}

/// An error or a warning, as posted by an element.
public struct BusFailure: Hashable, Sendable, CustomStringConvertible {
    /// Name of the element.
    public let source: String
    /// GLib error domain, for example `gst-resource-error-quark`.
    public let domain: String
    /// Error code, whose meaning depends on `domain`.
    public let code: Int
    /// Text for operators.
    public let message: String
    /// Details for developers: source file and line, system error. May contain URLs with secrets.
    public let debug: String

    public var description: String { "\(source): \(message)" }
}

extension BusFailure {
    /// Copies the content of the message; the message stays the caller's.
    init(copying message: UnsafeMutablePointer<GstMessage>, isError: Bool) {
        var error: UnsafeMutablePointer<GError>?
        var debug: UnsafeMutablePointer<CChar>?
        if isError {
            gst_message_parse_error(message, &error, &debug)
        } else {
            gst_message_parse_warning(message, &error, &debug)
        }
        source = consumingText(of: cgst_object_name(cgst_message_source(message))) ?? "?"
        domain = error.map { String(cString: g_quark_to_string($0.pointee.domain)) } ?? "?"
        code = error.map { Int($0.pointee.code) } ?? 0
        self.debug = consumingText(of: debug) ?? ""
        self.message = consumingText(of: error)
    }
}

/// The receiver of a pipeline's bus messages. Ends the stream when the last reference is released.
///
/// The stream keeps the newest 64 events. It never drops an error or end of stream: after the first one, it no longer
/// forwards warnings, and at most 32 errors and ends of stream.
final class BusSink: Sendable {
    private struct State {
        var failures = 0
        var firstError: BusFailure?
    }

    private let continuation: AsyncStream<BusEvent>.Continuation?
    private let state = Mutex(State())

    /// - Parameter continuation: The stream of events; `nil` if only the first error is wanted.
    init(_ continuation: AsyncStream<BusEvent>.Continuation?) { self.continuation = continuation }

    deinit { continuation?.finish() }

    /// Ends the stream: no event is forwarded afterwards.
    func finish() { continuation?.finish() }

    var firstError: BusFailure? { state.withLock { $0.firstError } }

    func take(_ event: BusEvent) {
        let isWanted = state.withLock { state in
            switch event {
            case .warning:
                return state.failures == 0
            case .error(let failure):
                if state.firstError == nil { state.firstError = failure }
            case .endOfStream:
                break
            }
            state.failures += 1
            return state.failures <= 32
        }
        if isWanted { continuation?.yield(event) }
    }
}

/// Bus sync handler: copies the content of the message and drops the message. Runs on the thread that posted it.
func onBusMessage(
    _ bus: UnsafeMutablePointer<GstBus>?, _ message: UnsafeMutablePointer<GstMessage>?,
    _ data: UnsafeMutableRawPointer?
) -> GstBusSyncReply {
    guard let message else { return GST_BUS_PASS }
    if let sink = CallbackBox<BusSink>.peek(data) {
        switch cgst_message_type(message) {
        case GST_MESSAGE_ERROR: sink.take(.error(BusFailure(copying: message, isError: true)))
        case GST_MESSAGE_WARNING: sink.take(.warning(BusFailure(copying: message, isError: false)))
        case GST_MESSAGE_EOS: sink.take(.endOfStream)
        default: break
        }
    }
    cgst_message_unref(message)
    return GST_BUS_DROP
}
