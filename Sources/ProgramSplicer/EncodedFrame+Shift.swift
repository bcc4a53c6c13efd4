import MixModel

extension EncodedFrame {
    /// The same frame at another time.
    func shifted(by amount: MediaTime) -> EncodedFrame {
        var frame = self
        frame.pts += amount
        frame.dts += amount
        return frame
    }
}
