import EncodedMedia

/// The WebRTC side of a WHIP output: makes the offer and sends packets.
///
/// The executable injects it, because relays do not depend on WebRTC. Usable from any thread.
package protocol WHIPMedia: AnyObject, Sendable {
    /// Makes an offer with all candidates, once; `.offered` or `.ended` follows.
    ///
    /// - Parameters:
    ///   - video: Configuration of the program's H.264; `nil` for a program without pictures.
    ///   - hasAudio: Whether the program has audio.
    ///   - addresses: Numeric addresses of this machine to use; empty for all except loopback.
    func offer(video: CodecConfiguration?, hasAudio: Bool, addresses: [String])

    /// Applies the answer; `.connected` or `.ended` follows.
    func accept(_ answer: String)

    /// Sends the next items of the program. May be called at any time: items that arrive before there is a connection
    /// are kept as far as they are needed to start with a picture.
    ///
    /// - Parameter onTaken: Called when the items have been sent, or need not be sent.
    func take(_ items: [MediaItem], onTaken: @escaping @Sendable () -> Void)

    /// Arrival of the server's last packet in ns of CLOCK_MONOTONIC; `nil` before the first one.
    var lastHeard: Int64? { get }

    /// Ends the connection and frees everything.
    func close() async
}

/// An event of a `WHIPMedia`, reported on any thread.
package enum WHIPMediaEvent: Hashable, Sendable {
    /// - Parameter offer: The session description.
    case offered(String)
    /// ICE and DTLS are up.
    case connected
    /// The server needs a keyframe.
    case keyframeRequested
    /// The connection has ended. The last event.
    ///
    /// - Parameter reason: Description for operators, without secrets.
    case ended(reason: String)
}
