/// The reason why an offer cannot be accepted.
public enum WebRTCOfferError: Error, Hashable, Sendable {
    /// The offer is larger than 64 KiB.
    case tooLarge
    /// The text is not a WebRTC offer.
    ///
    /// - Parameter words: Description of the error, without text of the offer.
    case broken(_ words: String)
    /// No video is offered.
    case noVideo
    /// Video is offered, but no H.264 with `packetization-mode=1`.
    ///
    /// - Parameter offered: Names of the offered codecs.
    case noH264(offered: [String])
    /// Audio is offered, but no Opus.
    case noOpus(offered: [String])
    /// The client offers media that it does not send.
    case sendsNothing(WebRTCOffer.Kind)
    /// A viewer's offer has no media that the client would receive.
    case receivesNothing
    /// Media are not bundled on one transport, or RTCP has a separate port.
    case separateTransports

    /// Whether another client, or the same client with other settings, could make a suitable offer.
    public var isUnsuitable: Bool {
        switch self {
        case .tooLarge, .broken: false
        case .noVideo, .noH264, .noOpus, .sendsNothing, .receivesNothing, .separateTransports: true
        }
    }

    /// Description for the client's user, including the remedy: a single sentence without a full stop, because pages
    /// add one.
    public var reason: String {
        switch self {
        case .tooLarge: "The offer is larger than \(SDPText.longest >> 10) KiB"
        case .broken(let words): "The body is not an offer of WebRTC: \(words)"
        case .noVideo:
            "The offer has no video: publish H.264 video, with Opus audio or without any"
        case .noH264(let offered):
            "The offer has no H.264 video with packetization-mode=1, only \(Self.list(offered)): let the client offer H.264"
        case .noOpus(let offered):
            "The offer has no Opus audio, only \(Self.list(offered)): let the client offer Opus, or leave out the audio"
        case .sendsNothing(let kind):
            "The client does not send the \(kind.rawValue) that it offers: let it offer a=sendonly"
        case .receivesNothing:
            "The client receives neither video nor audio: let it offer a=recvonly"
        case .separateTransports:
            "The offer needs a transport for each stream: let the client bundle them (max-bundle) and use rtcp-mux"
        }
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "formats without a name" : names.joined(separator: ", ")
    }
}
