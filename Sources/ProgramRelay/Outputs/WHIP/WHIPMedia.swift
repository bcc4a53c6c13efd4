import EncodedMedia

/// The side of a WHIP output that knows WebRTC: makes the offer and sends packets.
///
/// Who assembles a process passes it in, because relays do not depend on WebRTC. Usable from any thread.
package protocol WHIPMedia: AnyObject, Sendable {
    /// Makes an offer with all candidates, once; `.offered` or `.ended` follows.
    ///
    /// - Parameters:
    ///   - video: Configuration of the program's H.264; `nil` for a program without pictures.
    ///   - hasAudio: Whether the program has sound.
    ///   - addresses: Addresses of this machine to use, in digits; empty for all but loopback.
    func offer(video: CodecConfiguration?, hasAudio: Bool, addresses: [String])

    /// Takes the answer; `.connected` or `.ended` follows.
    func accept(_ answer: String)

    /// Takes the next items of the program, at any time: what comes before there is a connection is kept as far as it is needed
    /// to begin with a picture.
    ///
    /// - Parameter onTaken: Called when they are on their way, or need not be.
    func take(_ items: [MediaItem], onTaken: @escaping @Sendable () -> Void)

    /// Arrival of the server's last packet in ns of CLOCK_MONOTONIC; `nil` before the first one.
    var lastHeard: Int64? { get }

    /// Ends the connection and frees everything.
    func close() async
}

/// What a `WHIPMedia` tells, on any thread.
package enum WHIPMediaEvent: Hashable, Sendable {
    /// - Parameter offer: The session description.
    case offered(String)
    /// ICE and DTLS are up.
    case connected
    /// The server needs a keyframe.
    case keyframeRequested
    /// There is no connection any more: the last event.
    ///
    /// - Parameter reason: Words for operators, without secrets.
    case ended(reason: String)
}
