/// A fragment of a session description with which a client sends ICE candidates after its offer (RFC 8840 §9).
public struct ICEFragment: Hashable, Sendable {
    /// The client's name and password. A name other than the one in its offer restarts ICE.
    public var credentials: WebRTCOffer.Credentials?
    /// Number of candidates.
    public var candidates: Int
    /// Whether no further candidates will follow.
    public var isLast: Bool

    /// - Throws: `.tooLarge` or `.broken`.
    public init(_ text: String) throws(WebRTCOfferError) {
        let text = try SDPText(text, isFragment: true)
        let attributes = text.session + text.sections.flatMap(\.attributes)
        let user = attributes.first(named: "ice-ufrag")
        let password = attributes.first(named: "ice-pwd")
        switch (user, password) {
        case (let user?, let password?):
            guard let credentials = WebRTCOffer.Credentials(name: user, password: password) else {
                throw .broken("its ICE name or password is not as RFC 8839 says")
            }
            self.credentials = credentials
        case (nil, nil): credentials = nil
        default: throw .broken("it has only one of ICE name and password")
        }
        candidates = attributes.values(named: "candidate").count
        isLast = attributes.first(named: "end-of-candidates") != nil
        guard candidates <= WebRTCOffer.mostCandidates else { throw .broken("it has too many candidates") }
        guard credentials != nil || candidates > 0 || isLast else { throw .broken("it has nothing about ICE") }
    }
}
