import EncodedMedia

/// Chooses the thread that encodes the next picture: the one that makes the mix's frames, or the encoder's own. Pure.
///
/// The tick thread saves two wake-ups a picture, but sound and the next picture wait meanwhile. Where that takes a large
/// part of the time between two pictures (a large canvas, or a machine so busy that one thread does not get enough of
/// its processors), the encoder's own thread works beside it.
struct EncodingPlace: Sendable {
    /// Mean time per picture, the waits for a processor included.
    private(set) var pace = MediaTime.zero
    private(set) var isBeside = false
    private let interval: MediaTime

    /// - Parameter interval: Frame interval of the canvas.
    init(interval: MediaTime) { self.interval = interval }

    mutating func noteEncoded(taking time: MediaTime) {
        pace += (time - pace) / 8
        if pace > interval / 3 { isBeside = true }
        if pace < interval / 5 { isBeside = false }
    }
}
