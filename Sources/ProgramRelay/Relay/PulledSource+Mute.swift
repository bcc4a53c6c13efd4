import EncodedMedia
import MediaFormats

/// Sources that an operator has muted.
extension PulledSource {
    /// Returns the frame for viewers and mixers: for a muted source, silence of the same length and at the same time
    /// instead of audio. `nil` for a muted frame in a format without known silence; it is dropped.
    ///
    /// Nothing changes on the program's timeline, so that neither muting nor its end is a switch. The source's own
    /// cached frames stay unchanged.
    func audible(_ frame: EncodedFrame) -> EncodedFrame? {
        guard planned.muted ?? false, frame.track == .audio else { return frame }
        guard let silence = timeline.audioFormat.flatMap(SilentAAC.frame) else { return nil }
        var silent = frame
        silent.payload = silence
        return silent
    }
}
