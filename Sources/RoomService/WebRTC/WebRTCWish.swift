import EventSubscription
import MixModel

/// A client's wish to publish over WebRTC, by whatever way it came.
package struct WebRTCWish: Sendable {
    package var names: StreamNames
    /// The session description of the offer.
    package var offer: String
    /// The client's address, which may be a proxy's.
    package var address: String
    /// Whether only a token of the app may change the session; otherwise whoever knows its identifier.
    package var needsToken: Bool
    /// Where clients reach the service, if not as the configuration says.
    package var network: WebRTCNetwork?

    package init(
        names: StreamNames, offer: String, address: String, needsToken: Bool = false, network: WebRTCNetwork? = nil
    ) {
        self.names = names
        self.offer = offer
        self.address = address
        self.needsToken = needsToken
        self.network = network
    }
}

/// What happens to a session after its answer.
package enum WebRTCNews: Hashable, Sendable {
    /// Media can flow.
    case connected
    /// - Parameter reason: Words without secrets.
    case ended(reason: String)
}

/// A session that has begun.
package struct WebRTCOpening: Hashable, Sendable {
    /// Identifier of the session, which cannot be guessed.
    package var id: String
    /// The session description of the answer.
    package var answer: String
    package var tag: WebRTCTag
}

/// The entity tag of a session's ICE: another one after each restart (RFC 9725 §4.3.1).
package struct WebRTCTag: Hashable, Sendable {
    package var generation: Int

    /// With quotes, as in `ETag`.
    package var text: String { "\"ice-\(generation)\"" }
}

/// The condition of a change of a session's ICE (RFC 9725 §4.3).
package enum WebRTCCondition: Hashable, Sendable {
    case none
    /// `If-Match: *`, with which ICE may be restarted.
    case any
    /// `If-Match` with these tags, quotes included.
    case tags([String])
}

/// What came of a fragment.
package enum WebRTCChange: Hashable, Sendable {
    case added
    /// ICE was restarted.
    ///
    /// - Parameter fragment: Name, password and candidates of this side.
    case restarted(fragment: String, tag: WebRTCTag)
}
