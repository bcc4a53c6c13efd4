import CGStreamer

/// The format of the buffers pushed into a pipeline.
public enum StreamCaps: Hashable, Sendable {
    /// Caps in the notation of `gst-launch-1.0`.
    case text(String)
    /// Raw pictures.
    case pictures(VideoFormat)

    /// Returns new caps that the caller owns.
    /// - Parameter name: Name for errors.
    func make(for name: String) throws(GStreamerError) -> UnsafeMutablePointer<GstCaps> {
        switch self {
        case .text(let text):
            guard let caps = gst_caps_from_string(text) else {
                throw GStreamerError(.syntax, "\(name): '\(text)' is not a valid caps string")
            }
            return caps
        case .pictures(let format):
            var info = try format.info()
            guard let caps = gst_video_info_to_caps(&info) else {
                throw GStreamerError(.syntax, "\(name): \(format) has no caps")
            }
            return caps
        }
    }
}
