import EventSubscription
import MixModel

/// A client's request to publish over WebRTC, through any interface.
package struct WebRTCWish: Sendable {
    package var names: StreamNames
    /// The session description of the offer.
    package var offer: String
    package var client: WebRTCClient
    /// Whether only a token of the app may change the session; otherwise any client that knows its identifier may.
    package var needsToken: Bool
    /// Addresses at which clients reach the service, if they differ from the configuration.
    package var network: WebRTCNetwork?

    package init(
        names: StreamNames, offer: String, client: WebRTCClient, needsToken: Bool = false,
        network: WebRTCNetwork? = nil
    ) {
        self.names = names
        self.offer = offer
        self.client = client
        self.needsToken = needsToken
        self.network = network
    }
}

/// An event of a session after its answer.
package enum WebRTCNews: Hashable, Sendable {
    /// Media can flow.
    case connected
    /// - Parameters:
    ///   - reason: Description without secrets.
    ///   - cause: The kind of end; `nil` if it is not known.
    case ended(reason: String, cause: WebRTCEndCause? = nil)
}

/// A session that has started.
package struct WebRTCOpening: Hashable, Sendable {
    /// Identifier of the session, which cannot be guessed.
    package var id: String
    /// The session description of the answer.
    package var answer: String
    package var tag: WebRTCTag
}

/// The entity tag of a session's ICE, which changes with each restart (RFC 9725 §4.3.1).
package struct WebRTCTag: Hashable, Sendable {
    package var generation: Int

    /// Tag including its quotes, as in `ETag`.
    package var text: String { "\"ice-\(generation)\"" }
}

/// The condition of a change of a session's ICE (RFC 9725 §4.3).
package enum WebRTCCondition: Hashable, Sendable {
    case none
    /// `If-Match: *`, with which ICE may be restarted.
    case any
    /// `If-Match` with these tags, including their quotes.
    case tags([String])
}

/// The result of a fragment.
package enum WebRTCChange: Hashable, Sendable {
    case added
    /// ICE was restarted.
    ///
    /// - Parameter fragment: Name, password and candidates of this side.
    case restarted(fragment: String, tag: WebRTCTag)
}
