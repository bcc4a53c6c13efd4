import EncodedMedia

extension EncodedFrame {
    /// Returns the frame with both of its times moved by `amount`.
    func shifted(by amount: MediaTime) -> EncodedFrame {
        var frame = self
        frame.pts += amount
        frame.dts += amount
        return frame
    }
}
