import EncodedMedia

/// Chooses the thread that encodes the next picture: the tick thread, which makes the mix's frames, or the encoder's
/// own. Pure.
///
/// Encoding on the tick thread saves two wake-ups a picture, but delays audio and the next picture. If it takes a large
/// part of the time between two pictures (a large canvas, or a machine so busy that one thread does not get enough
/// CPU), the encoder's own thread encodes in parallel.
struct EncodingPlace: Sendable {
    /// Mean time per picture, including waits for a processor.
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
