import GStreamerKit
import MediaFormats
import RTMP
import TextFormats

/// The reason why a pull ended.
package struct PullEnd: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The server ended the stream.
        case ended
        /// The publisher has left.
        case publisherLeft
        /// The connection carried neither video nor audio.
        case noMedia
        /// The server refuses the connection, or does not have the stream.
        case refused
        /// The host has no address, there is no route to it, or nothing listens there.
        case unreachable
        case timedOut
        /// The connection failed after it was made.
        case lost
        /// The process that reads the source ended without a report.
        case crashed
        /// None of the host's addresses may be connected to.
        case notAllowed
        /// A TLS connection to the server is not possible or not permitted.
        case tlsFailed
        /// The bytes violate the protocol or the format.
        case protocolViolation
        /// The stream has a track of a codec that relays do not copy.
        case unsupportedCodec
        /// The URL is incomplete, or no kind of pull accepts it.
        case badURL
        /// The machine lacks a component that this kind of pull needs.
        case notInstalled
        /// More arrived than the relay could handle.
        case tooMuchPending
        /// More data was sent than any live stream contains.
        case excessive
    }

    package let kind: Kind
    /// Description for operators, without secrets.
    package let words: String

    package var description: String { words }

    /// - Parameter words: Description without secrets.
    package init(_ kind: Kind, _ words: String) {
        self.kind = kind
        self.words = words
    }

    /// The end of a connection that was established but brought no media.
    package static let noMedia = PullEnd(
        .noMedia, "connected, but no media arrived: is this stream being published?")

    /// The end by a server without a reason.
    package static let ended = PullEnd(.ended, ConnectionFault.endOfStream)

    package init(_ fault: ConnectionFault, _ redaction: URLRedaction) {
        kind =
            switch fault.kind {
            case .notAllowed: .notAllowed
            case .unresolvable, .refused, .unreachable: .unreachable
            case .timedOut: .timedOut
            case .lost: .lost
            case .ended: .ended
            case .unpublished: .publisherLeft
            case .tlsFailed: .tlsFailed
            case .protocolBroken: .protocolViolation
            case .applicationRefused, .streamRefused: .refused
            case .badURL: .badURL
            }
        words = redaction.clean(fault.words)
    }

    package init(_ failure: FLVReader.Failure) {
        kind =
            switch failure {
            case .notFLV, .brokenTag: .protocolViolation
            case .unsupportedCodec: .unsupportedCodec
            }
        words = failure.description
    }

    package init(_ error: GStreamerError, _ redaction: URLRedaction) {
        kind =
            switch error.code {
            case .missingElement: .notInstalled
            case .syntax, .notFound: .badURL
            case .initialization, .stateChange, .resource: .lost
            }
        words = redaction.clean(error.message)
    }

    /// Creates the end of a pull whose element posted an error.
    package init(_ failure: BusFailure, _ redaction: URLRedaction) {
        // The codes of GstResourceError; elements use them inconsistently, so most mean a lost connection.
        kind =
            switch (failure.domain, failure.code) {
            case ("gst-resource-error-quark", 3), ("gst-resource-error-quark", 15): .refused
            case ("gst-resource-error-quark", 5): .unreachable
            default: .lost
            }
        let isUnauthorized = failure.domain == "gst-resource-error-quark" && failure.code == 15
        words =
            redaction.clean(failure.message)
            + (isUnauthorized
                ? " (the server wants a user and a password, or others: rtsp://user:password@host/…)" : "")
    }
}
